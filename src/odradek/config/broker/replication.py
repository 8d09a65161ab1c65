"""Replicas: how followers fetch, when they count as in sync, who may lead."""

from odradek.config.definition import CLUSTER_WIDE, HIGH, MEDIUM, READ_ONLY
from odradek.config.definition import broker_row as row
from odradek.config.types import BOOLEAN, INT, LONG, STRING
from odradek.config.validators import ANY, at_least

# fmt: off
ROWS = (
    row("min.insync.replicas", INT, 1, at_least(1), HIGH, CLUSTER_WIDE,
        "How many replicas must be in sync for a write with acks=all to be accepted."),
    row("unclean.leader.election.enable", BOOLEAN, False, ANY, HIGH, CLUSTER_WIDE,
        "Allows a replica outside the in-sync set to lead, at the price of lost records."),
    row("replica.lag.time.max.ms", LONG, 30000, ANY, HIGH, READ_ONLY,
        "How long a follower may lag before it leaves the in-sync set."),
    row("replica.socket.timeout.ms", INT, 30000, ANY, HIGH, READ_ONLY,
        "How long a follower waits for the answer to a fetch, at the least replica.fetch.wait.max.ms."),
    row("replica.socket.receive.buffer.bytes", INT, 65536, ANY, HIGH, READ_ONLY,
        "The size asked for the kernel's receive buffer of a follower's connection."),
    row("replica.fetch.max.bytes", INT, 1048576, at_least(0), MEDIUM, READ_ONLY,
        "The bytes a follower asks for per partition; a larger first batch is still returned."),
    row("replica.fetch.wait.max.ms", INT, 500, ANY, HIGH, READ_ONLY,
        "How long a leader may hold a follower's fetch when there is nothing to return."),
    row("replica.fetch.min.bytes", INT, 1, ANY, HIGH, READ_ONLY,
        "How many bytes a follower's fetch waits for."),
    row("replica.fetch.response.max.bytes", INT, 10485760, at_least(0), MEDIUM, READ_ONLY,
        "The bytes a follower asks for per fetch; a larger first batch is still returned."),
    row("replica.fetch.backoff.ms", INT, 1000, at_least(0), MEDIUM, READ_ONLY,
        "The pause of a follower after a failed fetch."),
    row("num.replica.fetchers", INT, 1, at_least(1), HIGH, CLUSTER_WIDE,
        "The number of fetchers per leader that a follower runs.", in_3_3={"validator": ANY}),
    row("num.replica.alter.log.dirs.threads", INT, None, ANY, HIGH, READ_ONLY,
        "The number of movers between the directories of one broker; without it, one per directory."),
    row("replica.high.watermark.checkpoint.interval.ms", LONG, 5000, ANY, HIGH, READ_ONLY,
        "How often the high watermarks are written to their checkpoint."),
    row("replica.selector.class", STRING, None, ANY, MEDIUM, READ_ONLY,
        "The plugin that picks which replica a consumer reads from; without it, the leader."),
    row("follower.fetch.last.tiered.offset.enable", BOOLEAN, False, ANY, MEDIUM, CLUSTER_WIDE,
        "Starts a new follower at the last offset in tiered storage.", only="4.3"),
)
# fmt: on
