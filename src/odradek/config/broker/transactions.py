"""Transactions and the transaction coordinator."""

from odradek.config.definition import CLUSTER_WIDE, HIGH, LOW, READ_ONLY
from odradek.config.definition import broker_row as row
from odradek.config.types import BOOLEAN, INT, SHORT
from odradek.config.validators import ANY, at_least

# fmt: off
ROWS = (
    row("transaction.max.timeout.ms", INT, 900000, at_least(1), HIGH, READ_ONLY,
        "The longest transaction timeout that a producer may ask for."),
    row("transactional.id.expiration.ms", INT, 604800000, at_least(1), HIGH, READ_ONLY,
        "How long an unused transactional id is remembered."),
    row("transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3600000, at_least(1), LOW,
        READ_ONLY,
        "How often unused transactional ids are looked for."),
    row("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10000, at_least(1), LOW,
        READ_ONLY,
        "How often transactions past their timeout are looked for and aborted."),
    row("transaction.state.log.num.partitions", INT, 50, at_least(1), HIGH, READ_ONLY,
        "The number of partitions of the transaction topic; never change it afterwards."),
    row("transaction.state.log.replication.factor", SHORT, 3, at_least(1), HIGH, READ_ONLY,
        "The number of replicas of the transaction topic, which is created only when there are enough "
        "brokers."),
    row("transaction.state.log.min.isr", INT, 2, at_least(1), HIGH, READ_ONLY,
        "The min.insync.replicas of the transaction topic."),
    row("transaction.state.log.segment.bytes", INT, 104857600, at_least(1), HIGH, READ_ONLY,
        "The segment size of the transaction topic, small so that compaction and loading are quick."),
    row("transaction.state.log.load.buffer.size", INT, 5242880, at_least(1), HIGH, READ_ONLY,
        "How many bytes are read at a time when a coordinator loads its transactions."),
    row("transaction.partition.verification.enable", BOOLEAN, True, ANY, LOW, CLUSTER_WIDE,
        "Checks with the coordinator that a partition is in the transaction before the first append.",
        only="4.3"),
    row("transaction.two.phase.commit.enable", BOOLEAN, False, ANY, LOW, READ_ONLY,
        "Lets producers hold a prepared transaction for an outside coordinator.", only="4.3"),
    row("add.partitions.to.txn.retry.backoff.ms", INT, 20, at_least(1), HIGH, READ_ONLY,
        "The pause before a partition is added again while the last transaction still ends.", only="4.3"),
    row("add.partitions.to.txn.retry.backoff.max.ms", INT, 100, at_least(0), HIGH, READ_ONLY,
        "The longest pause to which retries of adding a partition may grow.", only="4.3"),
)
# fmt: on
