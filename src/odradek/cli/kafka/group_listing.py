"""`--list` of `kafka-consumer-groups.sh`: names of groups, with their states and types if these are asked for."""

from collections.abc import Iterable

from odradek.cli.failure import Refusal
from odradek.cli.kafka.columns import line, widest
from odradek.cli.kafka.java_order import in_java_order
from odradek.cli.kafka.options import Given, Misuse
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.groups import CLASSIC, CONSUMER, GroupListing

STATES = ("Dead", "CompletingRebalance", "Empty", "Reconciling", "PreparingRebalance", "Stable", "Assigning")
TYPES = ("Consumer", "Classic")
_PROTOCOL_TYPES = ("consumer", "")


def consumer_groups(admin: AdminClient, timeout: float) -> dict[str, GroupListing]:
    """Groups that consumers form, in the order of Kafka's tool. An old broker does not tell of types."""
    listed = admin.list_groups(timeout=timeout)
    return {
        name: listed[name]
        for name in in_java_order(listed)
        if listed[name].kind in (CLASSIC, CONSUMER, "") and listed[name].protocol_type in _PROTOCOL_TYPES
    }


def list_groups(given: Given, admin: AdminClient) -> None:
    found = consumer_groups(admin, seconds(given))
    if given.has("state"):
        states = words_among(given.value("state"), STATES, "state list", "states")
        found = {name: each for name, each in found.items() if not states or each.state.lower() in states}
    if given.has("type"):
        found = _of_types(found, words_among(given.value("type"), TYPES, "types list", "types"))
    if not given.has("state") and not given.has("type"):
        for name in found:
            print(name)
        return
    _print_table(given, found.values())


def _of_types(found: dict[str, GroupListing], types: frozenset[str]) -> dict[str, GroupListing]:
    if types == {CONSUMER} and any(not each.kind for each in found.values()):
        raise Refusal("the brokers are too old to tell the types of groups: leave out --type")
    return {name: each for name, each in found.items() if not types or (each.kind or CLASSIC) in types}


def _print_table(given: Given, found: Iterable[GroupListing]) -> None:
    rows = list(found)
    width = 10 + widest(15, (each.group_id for each in rows))
    heading: list[object] = ["GROUP"]
    heading += ["TYPE"] if given.has("type") else []
    heading += ["STATE"] if given.has("state") else []
    widths = [width, 20, 20][: len(heading)]
    print(line(widths, heading))
    for each in rows:
        values: list[object] = [each.group_id]
        values += [type_name(each.kind)] if given.has("type") else []
        values += [each.state] if given.has("state") else []
        print(line(widths, values))


def type_name(kind: str) -> str:
    return kind.capitalize() or "Unknown"


def words_among(text: str | None, known: Iterable[str], list_name: str, name: str) -> frozenset[str]:
    """Words with commas between, in small letters; Misuse for one that is not known. None are given: any will do."""
    wanted = [word.strip().lower() for word in (text or "").split(",") if word.strip()]
    names = list(known)
    if not {each.lower() for each in names}.issuperset(wanted):
        raise Misuse(f"Invalid {list_name} '{text}'. Valid {name} are: {', '.join(names)}")
    return frozenset(wanted)


def seconds(given: Given) -> float:
    """How long to wait, by --timeout."""
    try:
        return int(given.text("timeout")) / 1000
    except ValueError:
        raise Refusal(f"Cannot parse argument '{given.text('timeout')}' of option timeout") from None
