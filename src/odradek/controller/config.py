"""What the controller asks of the broker's configs."""

from odradek.config.broker import TABLE
from odradek.config.snapshot import Snapshot, field, optional

_UNCLEAN_ELECTION_INTERVAL_MS = 300_000  # a 3.3 has no config for it


class ControllerConfig(Snapshot, of=TABLE):
    session_timeout_ms = field("broker.session.timeout.ms", int)
    idle_interval_ms = field("metadata.max.idle.interval.ms", int)
    is_rebalanced = field("auto.leader.rebalance.enable", bool)
    imbalance_check_interval_s = field("leader.imbalance.check.interval.seconds", int)
    configured_unclean_election_interval_ms = optional("unclean.leader.election.interval.ms", int)

    @property
    def unclean_election_interval_ms(self) -> int:
        return self.configured_unclean_election_interval_ms or _UNCLEAN_ELECTION_INTERVAL_MS


class SnapshotConfig(Snapshot, of=TABLE):
    snapshot_bytes = field("metadata.log.max.record.bytes.between.snapshots", int)
    configured_interval_ms = optional("metadata.log.max.snapshot.interval.ms", int)

    @property
    def interval_ms(self) -> int:
        """0 takes no snapshot for its age alone."""
        return self.configured_interval_ms or 0
