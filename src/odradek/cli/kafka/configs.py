"""`kafka-configs.sh`: the configs of topics, brokers, groups and metrics, the quotas of users and clients, credentials.

An entity is named by its type and name (`--entity-type topics --entity-name orders`) or by one flag (`--topic orders`);
users and clients may come together.
"""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.cli.failure import Failure
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Misuse, Options, flag, value
from odradek.cli.kafka.tool import in_one_line, opened_admin, tool

TOPICS, CLIENTS, USERS, BROKERS, IPS = "topics", "clients", "users", "brokers", "ips"
CLIENT_METRICS, GROUPS, BROKER_LOGGERS = "client-metrics", "groups", "broker-loggers"
TYPES = (TOPICS, CLIENTS, USERS, BROKERS, IPS, CLIENT_METRICS, GROUPS, BROKER_LOGGERS)

# The flags that name an entity with its type, and those that name the default of one.
NAMED = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "broker-logger": BROKER_LOGGERS,
    "ip": IPS,
    "client-metrics": CLIENT_METRICS,
    "group": GROUPS,
}
DEFAULTS = {"client-defaults": CLIENTS, "user-defaults": USERS, "broker-defaults": BROKERS, "ip-defaults": IPS}

OPTIONS = Options(
    "kafka-configs.sh",
    "describe or alter configs, quotas and credentials",
    [
        options.BOOTSTRAP,
        value("bootstrap-controller", "HOST:PORT,...", "left out: brokers pass on what is meant for controllers"),
        options.COMMAND_CONFIG,
        flag("describe", "the configs of entities"),
        flag("alter", "the configs of an entity"),
        flag("all", "describe the defaults, too"),
        value("entity-type", "TYPE", f"{', '.join(TYPES)}"),
        value("entity-name", "NAME", "a topic, a client id, a user, the number of a broker, an address, a group"),
        flag("entity-default", "what holds for all entities of the type that have nothing of their own"),
        value("add-config", "NAME=VALUE,...", "configs to set: `k=v,k=[v1,v2]`"),
        value("add-config-file", "FILE", "a file of properties to set"),
        value("delete-config", "NAME,...", "configs to take back to their defaults"),
        flag("force", "of no effect: nothing is asked"),
        *(value(name, "NAME", f"the same as --entity-type {kind} --entity-name NAME") for name, kind in NAMED.items()),
        *(flag(name, f"the same as --entity-type {kind} --entity-default") for name, kind in DEFAULTS.items()),
    ],
)


class Entity(NamedTuple):
    """`name` is None for all of the type, and nothing for the default."""

    kind: str
    name: str | None


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    entities = _checked(given)
    from odradek.config.errors import ConfigError
    from odradek.protocol.errors import KafkaError

    try:
        with opened_admin(given) as admin:
            if given.has("describe"):
                from odradek.cli.kafka import config_reports

                config_reports.describe(admin, entities, is_all=given.has("all"))
            else:
                from odradek.cli.kafka import config_changes

                config_changes.alter(admin, entities, given)
    except KafkaError as error:
        from odradek.cli.kafka.java_errors import as_java

        raise Failure(f"{_failed(arguments)}\n{as_java(error)}") from None
    except ConfigError as error:
        raise Failure(in_one_line(error)) from None
    return 0


def _failed(arguments: Sequence[str]) -> str:
    return f"Error while executing config command with args '{' '.join(arguments)}'"


def _checked(given: Given) -> list[Entity]:
    """Who is meant; Misuse for a command that makes no sense."""
    if given.has("describe") == given.has("alter"):
        raise Misuse("Command must include exactly one action: --describe, --alter")
    given.refuse("alter", ["describe"])
    given.refuse("describe", ["alter", "add-config", "delete-config"])
    entities = _entities(given)
    kinds = [entity.kind for entity in entities]
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        raise Misuse("Either --bootstrap-server or --bootstrap-controller must be specified.")
    if not kinds:
        raise Misuse("At least one entity type must be specified")
    if len(kinds) > 1 and set(kinds) != {USERS, CLIENTS}:
        raise Misuse("Only 'users' and 'clients' entity types may be specified together")
    for entity in entities:
        _check_name(entity)
    if given.has("alter"):
        _check_alter(given, entities)
    return entities


def _entities(given: Given) -> list[Entity]:
    kinds = given.values("entity-type")
    for kind in kinds:
        if kind not in TYPES:
            raise Misuse(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(TYPES)} with a "
                "--bootstrap-server or --bootstrap-controller argument"
            )
    names: list[str] = given.values("entity-name")
    names += [""] if given.has("entity-default") else []
    if len(names) > len(kinds):
        raise Misuse("More entity names specified than entity types")
    found = [Entity(kind, names[at] if at < len(names) else None) for at, kind in enumerate(kinds)]
    if given.has("entity-default") and len(kinds) > 1:  # it stands for each that has no name
        found = [entity if entity.name is not None else Entity(entity.kind, "") for entity in found]
    found += [Entity(kind, given.text(name)) for name, kind in NAMED.items() if given.has(name)]
    found += [Entity(kind, "") for name, kind in DEFAULTS.items() if given.has(name)]
    return found


def _check_name(entity: Entity) -> None:
    kind, name = entity
    if name is None:
        return
    if kind == BROKERS and name and not name.isdecimal():
        raise Misuse(f"The entity name for {kind} must be a valid integer broker id, but it is: {name}")
    if kind == IPS and name and not _is_address(name):
        raise Misuse(f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}")


def _is_address(name: str) -> bool:
    import socket

    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def _check_alter(given: Given, entities: Sequence[Entity]) -> None:
    kind = entities[0].kind
    is_named = all(entity.name for entity in entities)
    has_default = any(entity.name == "" for entity in entities)
    if kind in (TOPICS, CLIENT_METRICS, GROUPS, BROKER_LOGGERS) and not is_named:
        raise Misuse(f"An entity name must be specified with --alter of {kind}")
    if not is_named and not has_default:
        raise Misuse(
            f"An entity name or default entity must be specified with --alter of {', '.join(e.kind for e in entities)}"
        )
    if given.has("add-config") and given.has("add-config-file"):
        raise Misuse("Only one of --add-config or --add-config-file must be specified")
    if not any(map(given.has, ("add-config", "add-config-file", "delete-config"))):
        raise Misuse(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
