"""`kafka-acls.sh`: access control entries added, listed, removed."""

from collections.abc import Iterable, Sequence

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Misuse, Options, flag, value
from odradek.cli.kafka.tool import opened_admin, tool

ACTIONS = ("list", "add", "remove")

OPTIONS = Options(
    "kafka-acls.sh",
    "list, add or remove access control entries",
    [
        options.BOOTSTRAP,
        value("bootstrap-controller", "HOST:PORT,...", "left out: brokers pass it on"),
        options.COMMAND_CONFIG,
        flag("list", "the entries of the resources, of all without any"),
        flag("add", "entries"),
        flag("remove", "entries"),
        value("topic", "TOPIC", "a resource; * for all topics; may be repeated"),
        value("group", "GROUP", "a resource; * for all groups; may be repeated"),
        value("delegation-token", "ID", "a resource"),
        value("transactional-id", "ID", "a resource"),
        value("user-principal", "PRINCIPAL", "a resource"),
        flag("cluster", "the cluster as a resource"),
        flag("idempotent", "with --producer: it may be idempotent without transactions"),
        value("resource-pattern-type", "TYPE", "literal, prefixed; any, match to find entries", "literal"),
        value("operation", "OPERATION", "Read, Write and the like, or All; may be repeated"),
        value("allow-principal", "User:NAME", "who may; may be repeated"),
        value("deny-principal", "User:NAME", "who may not; may be repeated"),
        value("allow-host", "HOST", "from where they may; may be repeated"),
        value("deny-host", "HOST", "from where they may not; may be repeated"),
        value("principal", "User:NAME", "with --list: only the entries of these"),
        flag("producer", "what a producer needs"),
        flag("consumer", "what a consumer needs"),
        flag("force", "do not ask"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    _check(given)
    from odradek.cli.kafka import acl_changes, acl_reports
    from odradek.cli.kafka.java_errors import as_java
    from odradek.protocol.errors import KafkaError

    try:
        plan = acl_changes.plan(given)
        with opened_admin(given) as admin:
            if given.has("list"):
                acl_reports.list_acls(given, admin, plan)
            elif given.has("add"):
                acl_changes.add(admin, plan)
            else:
                acl_changes.remove(given, admin, plan)
    except Misuse:
        raise
    except Refusal as refusal:
        return _failed(str(refusal))
    except KafkaError as error:
        return _failed(as_java(error))
    return 0


def _failed(reason: str) -> int:
    print(f"Error while executing ACL command: {reason}")
    return 1


def _check(given: Given) -> None:
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        raise Misuse("One of --bootstrap-server or --bootstrap-controller must be specified")
    if sum(map(given.has, ACTIONS)) != 1:
        raise Misuse("Command must include exactly one action: --list, --add, --remove. ")
    given.refuse("list", ["producer", "consumer", "allow-host", "allow-principal", "deny-host", "deny-principal"])
    given.refuse("producer", ["operation", "deny-principal", "deny-host"])
    given.refuse("consumer", ["operation", "deny-principal", "deny-host"])
    if given.has("producer") and not given.has("topic"):
        raise Misuse("With --producer you must specify a --topic")
    if given.has("idempotent") and not given.has("producer"):
        raise Misuse("The --idempotent option is only available if --producer is set")
    if given.has("consumer") and _lacks_for_consumer(given):
        raise Misuse(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option "
            "should be specified."
        )


def _lacks_for_consumer(given: Given) -> bool:
    has_others = given.has("cluster") or given.has("transactional-id")
    return not given.has("topic") or not given.has("group") or (has_others and not given.has("producer"))


def names(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word.strip() for word in words))
