"""Configs of the consumer, the share consumer's among them."""

from odradek.config import client_rules, reasons, served
from odradek.config.client import COMMON
from odradek.config.definition import HIGH, LOW, MEDIUM, REQUIRED, Definition, Table, row, section
from odradek.config.types import BOOLEAN, CLASS, INT, LIST, STRING
from odradek.config.validators import (
    ANY,
    NON_EMPTY,
    NON_NULL,
    at_least,
    distinct,
    mode_of,
    offset_reset,
    one_of,
    one_of_ignoring_case,
)

# fmt: off
ROWS = section(
    reasons.CLIENT,
    row("group.id", STRING, None, ANY, HIGH,
        "The group this consumer belongs to."),
    row("group.instance.id", STRING, None, NON_EMPTY, MEDIUM,
        "The name of a static member, which may restart without a rebalance."),
    row("group.protocol", STRING, "classic", one_of_ignoring_case("CONSUMER", "CLASSIC"), HIGH,
        "Whether the group assigns its partitions itself, or the broker does.", only="4.3"),
    row("group.remote.assignor", STRING, None, ANY, MEDIUM,
        "The server-side assignor to ask for; without it, the broker chooses.", only="4.3"),
    row("session.timeout.ms", INT, 45000, ANY, HIGH,
        "How long a member of a classic group may be silent before it is removed."),
    row("heartbeat.interval.ms", INT, 3000, ANY, HIGH,
        "How often a member of a classic group sends a heartbeat."),
    row("max.poll.interval.ms", INT, 300000, at_least(1), MEDIUM,
        "How long may pass between two polls before the member leaves its group."),
    row("max.poll.records", INT, 500, at_least(1), MEDIUM,
        "The most records that one poll returns."),
    row("partition.assignment.strategy", LIST,
        ("org.apache.kafka.clients.consumer.RangeAssignor",
         "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"), distinct(), MEDIUM,
        "The assignors that a member of a classic group supports, in order of preference.",
        in_3_3={"validator": NON_NULL}),
    row("auto.offset.reset", STRING, "latest", offset_reset("latest", "earliest", "none"), MEDIUM,
        "Where to begin when there is no committed offset, or it is gone.",
        in_3_3={"validator": one_of("latest", "earliest", "none")}),
    row("enable.auto.commit", BOOLEAN, True, ANY, MEDIUM,
        "Commits offsets by itself in the background."),
    row("auto.commit.interval.ms", INT, 5000, at_least(0), LOW,
        "How often offsets are committed by themselves."),
    row("isolation.level", STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted"), MEDIUM,
        "Whether records of open and aborted transactions are returned."),
    row("fetch.min.bytes", INT, 1, at_least(0), HIGH,
        "How many bytes a broker gathers before it answers a fetch."),
    row("fetch.max.bytes", INT, 52428800, at_least(0), MEDIUM,
        "The bytes asked for per fetch; a larger first batch is still returned."),
    row("fetch.max.wait.ms", INT, 500, at_least(0), LOW,
        "How long a broker may hold a fetch for which there is too little."),
    row("max.partition.fetch.bytes", INT, 1048576, at_least(0), HIGH,
        "The bytes asked for per partition and fetch; a larger first batch is still returned."),
    row("fetch.buffer.bytes", INT, 67108864, at_least(1), MEDIUM,
        "The bytes that are asked for or received and not handed out yet, over all partitions. Odradek's own.",
        only="4.3"),
    row("check.crcs", BOOLEAN, True, ANY, LOW,
        "Checks the CRC of each batch that is read."),
    row("client.rack", STRING, "", ANY, LOW,
        "The rack this consumer stands in, for reading from the nearest replica."),
    row("key.deserializer", CLASS, REQUIRED, ANY, HIGH,
        "What turns bytes into a key."),
    row("value.deserializer", CLASS, REQUIRED, ANY, HIGH,
        "What turns bytes into a value."),
    row("allow.auto.create.topics", BOOLEAN, True, ANY, MEDIUM,
        "Lets the broker create a topic that is subscribed to, if it creates topics at all."),
    row("exclude.internal.topics", BOOLEAN, True, ANY, MEDIUM,
        "Leaves internal topics out of a subscription by pattern."),
    row("internal.leave.group.on.close", BOOLEAN, True, ANY, LOW,
        "Whether a closing consumer leaves its group, for Kafka Streams.", only="3.3", internal=True),
    row("internal.throw.on.fetch.stable.offset.unsupported", BOOLEAN, False, ANY, LOW,
        "Fails when a broker cannot wait for stable offsets, for Kafka Streams.", internal=True),
    row("share.acknowledgement.mode", STRING, "implicit", one_of("implicit", "explicit"), MEDIUM,
        "Whether records of a share group are acknowledged by the next poll or one by one.",
        only="4.3", not_served=reasons.CLIENT),
    row("share.acquire.mode", STRING, "BATCH_OPTIMIZED", mode_of("batch_optimized", "record_limit"), MEDIUM,
        "Whether a share fetch acquires whole batches or keeps to the number of records asked for.",
        only="4.3", not_served=reasons.CLIENT),
)
# fmt: on

# Rows of the common table that differ here.
# fmt: off
DIFFERENT = (
    COMMON["client.id"].like(importance=LOW),
    COMMON["receive.buffer.bytes"].like(default=65536),
)
# fmt: on

ABSENT = ("retries",)

# What the client honours beside what all of them do. It warns of the others when they are set.
SERVED = served.BY_ALL | {
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "check.crcs",
    "client.rack",
    "enable.auto.commit",
    "exclude.internal.topics",
    "fetch.buffer.bytes",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "interceptor.classes",
    "internal.leave.group.on.close",
    "isolation.level",
    "key.deserializer",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "max.poll.records",
    "partition.assignment.strategy",
    "session.timeout.ms",
    "value.deserializer",
}


def _marked(row: Definition) -> Definition:
    return served.marked(row, SERVED, reasons.SHARE_ONLY if row.name.startswith("share.") else reasons.CONSUMER)


TABLE = Table(
    "consumer",
    tuple(map(_marked, (*(row for name, row in COMMON.items() if name not in ABSENT), *DIFFERENT, *ROWS))),
    rules=client_rules.CONSUMER,
)
