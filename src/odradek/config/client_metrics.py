"""Configs of a client metrics subscription, which release 4.3 added."""

from odradek.config import reasons
from odradek.config.definition import MEDIUM, Table, row, section
from odradek.config.types import INT, LIST
from odradek.config.validators import ANY, distinct

# fmt: off
ROWS = section(
    reasons.SUBSCRIPTIONS,
    row("interval.ms", INT, 300000, ANY, MEDIUM,
        "How often the matching clients push their metrics.", only="4.3"),
    row("match", LIST, (), distinct(), MEDIUM,
        "Which clients are meant, as selector=pattern pairs that must all match; empty means every client.",
        only="4.3"),
    row("metrics", LIST, (), distinct(), MEDIUM,
        "The prefixes of the metric names to push; an empty list asks for none, `*` for all.", only="4.3"),
)
# fmt: on

TABLE = Table("client_metrics", ROWS)
