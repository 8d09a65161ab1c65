"""Configs of a single group, which release 4.3 added; each stands over the broker config of its kind."""

from odradek.config.definition import MEDIUM, Table, row
from odradek.config.types import BOOLEAN, INT, STRING
from odradek.config.validators import ANY, at_least, offset_reset, one_of

# fmt: off
ROWS = (
    row("consumer.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
        "How long a member of this consumer group may be silent before it is removed.", only="4.3"),
    row("consumer.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members of this consumer group are told to send a heartbeat.", only="4.3"),
    row("consumer.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two assignments of this consumer group.", only="4.3"),
    row("share.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
        "How long a member of this share group may be silent before it is removed.",
        only="4.3"),
    row("share.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members of this share group are told to send a heartbeat.",
        only="4.3"),
    row("share.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two assignments of this share group.", only="4.3"),
    row("share.auto.offset.reset", STRING, "latest", offset_reset("latest", "earliest"), MEDIUM,
        "Where this share group begins in a partition that is new to it.",
        only="4.3"),
    row("share.delivery.count.limit", INT, 5, at_least(2), MEDIUM,
        "How often a record is delivered to this share group before it is given up.",
        only="4.3"),
    row("share.isolation.level", STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted"),
        MEDIUM,
        "Whether this share group gets records of open and aborted transactions.",
        only="4.3"),
    row("share.partition.max.record.locks", INT, 2000, at_least(100), MEDIUM,
        "How many records of a partition may be reserved for this share group at a time.",
        only="4.3"),
    row("share.record.lock.duration.ms", INT, 30000, at_least(1000), MEDIUM,
        "How long a record delivered to this share group stays reserved for its member.",
        only="4.3"),
    row("share.renew.acknowledge.enable", BOOLEAN, True, ANY, MEDIUM,
        "Lets members of this share group extend the lock of a record.",
        only="4.3"),
    row("streams.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
        "How long a member of this streams group may be silent before it is removed.",
        only="4.3"),
    row("streams.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members of this streams group are told to send a heartbeat.",
        only="4.3"),
    row("streams.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two assignments of this streams group.",
        only="4.3"),
    row("streams.initial.rebalance.delay.ms", INT, 3000, at_least(0), MEDIUM,
        "How long this streams group waits for more members before its first assignment.",
        only="4.3"),
    row("streams.num.standby.replicas", INT, 0, at_least(0), MEDIUM,
        "How many standby copies of each task's state this streams group keeps.",
        only="4.3"),
)
# fmt: on

TABLE = Table("group", ROWS)
