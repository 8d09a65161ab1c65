"""Configs of the share consumer: those of the consumer, but for what a share group decides."""

from odradek.config import client_rules, consumer, reasons, served
from odradek.config.client import COMMON
from odradek.config.definition import Definition, Table

# What the client honours beside what all of them do. It warns of the others when they are set.
SERVED = served.BY_ALL | {
    "allow.auto.create.topics",
    "check.crcs",
    "client.rack",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "key.deserializer",
    "max.poll.interval.ms",
    "max.poll.records",
    "share.acknowledgement.mode",
    "share.acquire.mode",
    "value.deserializer",
}


def _marked(row: Definition) -> Definition:
    return served.marked(row, SERVED, reasons.SHARE_CONSUMER)


TABLE = Table(
    "share consumer",
    tuple(
        map(
            _marked,
            (
                *(row for name, row in COMMON.items() if name not in consumer.ABSENT),
                *consumer.DIFFERENT,
                *consumer.ROWS,
            ),
        )
    ),
    rules=client_rules.SHARE_CONSUMER,
)
