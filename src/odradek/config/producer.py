"""Configs of the producer."""

from odradek.config import client_rules, reasons, served
from odradek.config.client import COMMON
from odradek.config.definition import HIGH, LOW, MEDIUM, REQUIRED, Definition, Table, row, section
from odradek.config.types import BOOLEAN, CLASS, INT, LONG, STRING
from odradek.config.validators import ANY, GZIP_LEVEL, NON_EMPTY, at_least, between, one_of

# fmt: off
ROWS = section(
    reasons.CLIENT,
    row("acks", STRING, "all", one_of("all", "-1", "0", "1"), LOW,
        "How many replicas must have a batch before it counts as written: none, the leader, or all in sync."),
    row("batch.size", INT, 16384, at_least(0), MEDIUM,
        "The bytes to gather per partition before a batch is sent."),
    row("linger.ms", LONG, 5, at_least(0), MEDIUM,
        "How long a batch waits for more records.", in_3_3={"default": 0}),
    row("buffer.memory", LONG, 33554432, at_least(0), HIGH,
        "The bytes of records that may wait to be sent."),
    row("max.block.ms", LONG, 60000, at_least(0), MEDIUM,
        "How long a call may wait for metadata or for room in the buffer."),
    row("max.request.size", INT, 1048576, at_least(0), MEDIUM,
        "The largest request, and so the largest batch before compression."),
    row("max.in.flight.requests.per.connection", INT, 5, at_least(1), LOW,
        "How many requests may be under way on one connection."),
    row("delivery.timeout.ms", INT, 120000, at_least(0), MEDIUM,
        "How long after its sending a record is reported as written or failed at the latest."),
    row("enable.idempotence", BOOLEAN, True, ANY, LOW,
        "Writes each record exactly once in its partition, in order, in spite of retries."),
    row("transactional.id", STRING, None, NON_EMPTY, LOW,
        "The identity of a transactional producer, which survives its restarts."),
    row("transaction.timeout.ms", INT, 60000, ANY, LOW,
        "How long a transaction may stay open before the coordinator aborts it."),
    row("transaction.two.phase.commit.enable", BOOLEAN, False, ANY, LOW,
        "Leaves the decision on a prepared transaction to an outside coordinator.", only="4.3"),
    row("compression.type", STRING, "none", one_of("none", "gzip", "snappy", "lz4", "zstd"), HIGH,
        "The compression of batches."),
    row("compression.gzip.level", INT, -1, GZIP_LEVEL, MEDIUM,
        "The level of gzip; -1 is the library's default.", only="4.3"),
    row("compression.lz4.level", INT, 9, between(1, 17), MEDIUM,
        "The level of lz4.", only="4.3"),
    row("compression.zstd.level", INT, 3, between(-131072, 22), MEDIUM,
        "The level of zstd.", only="4.3"),
    row("key.serializer", CLASS, REQUIRED, ANY, HIGH,
        "What turns a key into bytes."),
    row("value.serializer", CLASS, REQUIRED, ANY, HIGH,
        "What turns a value into bytes."),
    row("partitioner.class", CLASS, None, ANY, MEDIUM,
        "What picks the partition of a record; without it, by key, or sticky without a key."),
    row("partitioner.ignore.keys", BOOLEAN, False, ANY, MEDIUM,
        "Picks the partition as if records had no key."),
    row("partitioner.adaptive.partitioning.enable", BOOLEAN, True, ANY, LOW,
        "Sends more records to the brokers that answer faster."),
    row("partitioner.availability.timeout.ms", LONG, 0, at_least(0), LOW,
        "How long a broker may hold up batches before its partitions are avoided; 0 turns it off."),
    row("metadata.max.idle.ms", LONG, 300000, at_least(5000), LOW,
        "How long the metadata of a topic that is not written to is kept."),
)
# fmt: on

ABSENT = ("default.api.timeout.ms",)

# What the client honours beside what all of them do. It warns of the others when they are set.
SERVED = served.BY_ALL | {
    "acks",
    "batch.size",
    "buffer.memory",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delivery.timeout.ms",
    "enable.idempotence",
    "interceptor.classes",
    "key.serializer",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.request.size",
    "metadata.max.idle.ms",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "partitioner.class",
    "partitioner.ignore.keys",
    "retries",
    "transaction.timeout.ms",
    "transactional.id",
    "value.serializer",
}


def _marked(row: Definition) -> Definition:
    return served.marked(row, SERVED, reasons.PRODUCER)


TABLE = Table(
    "producer",
    tuple(map(_marked, (*(row for name, row in COMMON.items() if name not in ABSENT), *ROWS))),
    rules=client_rules.PRODUCER,
)
