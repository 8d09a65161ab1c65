"""Quotas of users, clients and addresses, and the rates that a running broker is throttled to.

They are configs of their own entities: set and removed at run time, never read from a file.
"""

from odradek.config import reasons
from odradek.config.definition import MEDIUM, Table, row, section
from odradek.config.types import DOUBLE, INT, INT_MAX, LONG, LONG_MAX, STRING
from odradek.config.validators import ANY, at_least

# fmt: off
CLIENT_ROWS = section(
    reasons.QUOTAS,
    row("producer_byte_rate", LONG, LONG_MAX, ANY, MEDIUM, "How many bytes per second may be produced to one broker."),
    row("consumer_byte_rate", LONG, LONG_MAX, ANY, MEDIUM, "How many bytes per second may be fetched from one broker."),
    row("request_percentage", DOUBLE, float(INT_MAX), ANY, MEDIUM,
        "How much of the request handlers' time may be used, in percent of one handler."),
    row("controller_mutation_rate", DOUBLE, float(INT_MAX), ANY, MEDIUM,
        "How many partitions per second may be created or deleted."),
)

SCRAM_ROWS = section(
    reasons.SCRAM,
    row("SCRAM-SHA-256", STRING, None, ANY, MEDIUM, "The user's SCRAM-SHA-256 credential."),
    row("SCRAM-SHA-512", STRING, None, ANY, MEDIUM, "The user's SCRAM-SHA-512 credential."),
)

IP_ROWS = section(
    reasons.QUOTAS,
    row("connection_creation_rate", INT, INT_MAX, at_least(0), MEDIUM,
        "How many connections per second may be opened from one address."),
)

BROKER_ROWS = section(
    reasons.QUOTAS,
    row("leader.replication.throttled.rate", LONG, LONG_MAX, at_least(0), MEDIUM,
        "How many bytes per second a leader sends to followers of throttled replicas."),
    row("follower.replication.throttled.rate", LONG, LONG_MAX, at_least(0), MEDIUM,
        "How many bytes per second a follower fetches for throttled replicas."),
    row("replica.alter.log.dirs.io.max.bytes.per.second", LONG, LONG_MAX, at_least(0), MEDIUM,
        "How many bytes per second are copied between the directories of one broker."),
)
# fmt: on

CLIENT = Table("client quota", CLIENT_ROWS)
USER = Table("user quota", (*CLIENT_ROWS, *SCRAM_ROWS))
IP = Table("ip quota", IP_ROWS)
BROKER = Table("broker quota", BROKER_ROWS)
