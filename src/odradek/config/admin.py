"""Configs of the admin client."""

from odradek.config import client_rules, reasons, served
from odradek.config.client import COMMON
from odradek.config.definition import HIGH, LOW, REQUIRED, Definition, Table, row, section
from odradek.config.types import LIST
from odradek.config.validators import ANY, distinct

# fmt: off
ROWS = section(
    reasons.CLIENT,
    row("bootstrap.controllers", LIST, (), distinct(), HIGH,
        "The controllers to ask first, as host:port, instead of brokers.", only="4.3"),
)
# fmt: on

# Rows of the common table that differ here.
# fmt: off
DIFFERENT = (
    COMMON["bootstrap.servers"].like(
        default=(),
        validator=distinct(),
        in_3_3={"default": REQUIRED, "validator": ANY},
    ),
    COMMON["connections.max.idle.ms"].like(default=300000),
    COMMON["enable.metrics.push"].like(default=False),
    COMMON["metric.reporters"].like(in_3_3={"default": (), "validator": ANY}),
    COMMON["receive.buffer.bytes"].like(default=65536),
    COMMON["retries"].like(importance=LOW),
)
# fmt: on

ABSENT = ("interceptor.classes",)

# What the client honours beside what all of them do. It warns of the others when they are set.
SERVED = served.BY_ALL | {"retries"}


def _marked(row: Definition) -> Definition:
    return served.marked(row, SERVED, reasons.ADMIN)


TABLE = Table(
    "admin",
    tuple(map(_marked, (*(row for name, row in COMMON.items() if name not in ABSENT), *DIFFERENT, *ROWS))),
    rules=client_rules.ADMIN,
)
