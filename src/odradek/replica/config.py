"""What the replica manager asks of the broker's configs."""

from odradek.config.broker import TABLE
from odradek.config.snapshot import Snapshot, field, optional


class ReplicaConfig(Snapshot, of=TABLE):
    fetch_max_bytes = field("fetch.max.bytes", int)
    session_slots = field("max.incremental.fetch.session.cache.slots", int)
    lag_time_max_ms = field("replica.lag.time.max.ms", int)
    is_verification_enabled = optional("transaction.partition.verification.enable", bool)
    add_retry_ms = optional("add.partitions.to.txn.retry.backoff.ms", int)
    add_retry_ms_max = optional("add.partitions.to.txn.retry.backoff.max.ms", int)
