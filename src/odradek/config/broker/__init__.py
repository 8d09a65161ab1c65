"""Configs of the broker and the controller: the table of everything that `server.properties` may hold."""

from odradek.config.broker import (
    general,
    groups,
    log,
    network,
    quorum,
    quotas,
    replication,
    security,
    share,
    tiered,
    transactions,
    zookeeper,
)
from odradek.config.broker.rules import RULES, fill_ids
from odradek.config.broker.served import NOT_SERVED, PARTLY, SERVED
from odradek.config.definition import LOW, READ_ONLY, Definition, Table, broker_row
from odradek.config.types import BOOLEAN, INT, STRING
from odradek.config.validators import ANY

LISTENER_PREFIX = "listener.name."

# Kafka's authorizers read these from the same file; they are in no ConfigDef, so no tool lists them.
# fmt: off
AUTHORIZER_ROWS = (
    broker_row("super.users", STRING, "", ANY, LOW, READ_ONLY,
               "Principals that may do everything, separated by semicolons."),
    broker_row("allow.everyone.if.no.acl.found", BOOLEAN, False, ANY, LOW, READ_ONLY,
               "Allows everyone to use a resource for which there is no ACL."),
    broker_row("authorizer.zookeeper.url", STRING, None, ANY, LOW, READ_ONLY,
               "The ensemble that holds the ACLs, when it is not the broker's own.",
               only="3.3"),
    broker_row("authorizer.zookeeper.connection.timeout.ms", INT, None, ANY, LOW, READ_ONLY,
               "How long to wait for a connection to that ensemble.",
               only="3.3"),
    broker_row("authorizer.zookeeper.session.timeout.ms", INT, None, ANY, LOW, READ_ONLY,
               "How long that ensemble keeps a session alive without hearing from the broker.",
               only="3.3"),
    broker_row("authorizer.zookeeper.max.in.flight.requests", INT, None, ANY, LOW, READ_ONLY,
               "How many requests may be under way to that ensemble at a time.",
               only="3.3"),
)
# fmt: on

# 3.3 resolves providers as well, but its broker does not list the config.
_PROVIDERS_3_3 = next(row for row in general.ROWS if row.name == "config.providers").like(only="3.3")

# With these endings a listener's config may also be set for one SASL mechanism.
_PER_MECHANISM = ("sasl.", "connections.max.reauth.ms")


def base_of_listener_config(name: str) -> str | None:
    """`listener.name.NAME.ssl.key.password` is `ssl.key.password` for one listener.

    `listener.name.NAME.MECHANISM.sasl.jaas.config` is `sasl.jaas.config` for one mechanism of it.
    """
    if not name.startswith(LISTENER_PREFIX):
        return None
    listener, _, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
    if not listener or not rest:
        return None
    mechanism, _, scoped = rest.partition(".")
    return scoped if mechanism != "sasl" and scoped.startswith(_PER_MECHANISM) else rest


def _told_apart(rows: tuple[Definition, ...]) -> tuple[Definition, ...]:
    """Each with the reason why it is not served, or what of it is not."""
    for row in rows:
        row.not_served = None if row.name in SERVED else NOT_SERVED[row.name]
        row.partly = PARTLY.get(row.name)
    return rows


TABLE = Table(
    "broker",
    _told_apart(
        (
            *general.ROWS,
            *network.ROWS,
            *security.ROWS,
            *quorum.ROWS,
            *log.ROWS,
            *replication.ROWS,
            *groups.ROWS,
            *share.ROWS,
            *transactions.ROWS,
            *quotas.ROWS,
            *tiered.ROWS,
            *zookeeper.ROWS,
        )
    ),
    companions=_told_apart((*AUTHORIZER_ROWS, _PROVIDERS_3_3)),
    scoped=base_of_listener_config,
    open_prefixes=("rsm.config.", "rlmm.config.", "config.providers."),
    prepare=fill_ids,
    rules=RULES,
)
