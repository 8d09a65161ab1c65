"""Configs of the admin client."""

from odradek.config import client_rules, reasons
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

# What the client honours. It warns of the others when they are set.
SERVED = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "connections.max.idle.ms",
        "default.api.timeout.ms",
        "metadata.max.age.ms",
        "metadata.recovery.strategy",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "sasl.jaas.config",
        "sasl.login.read.timeout.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
    }
)
PARTLY = {
    "sasl.mechanism": "no GSSAPI",
    "ssl.keystore.type": "PEM only",
    "ssl.truststore.type": "PEM only",
}


def _marked(row: Definition) -> Definition:
    return row.like(not_served=None if row.name in SERVED else reasons.ADMIN, partly=PARTLY.get(row.name))


TABLE = Table(
    "admin",
    tuple(map(_marked, (*(row for name, row in COMMON.items() if name not in ABSENT), *DIFFERENT, *ROWS))),
    rules=client_rules.ADMIN,
)
