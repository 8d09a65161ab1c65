"""`odradek acls`: who may do what, and who may not."""

import argparse
from typing import TYPE_CHECKING

from odradek.cli.client import plan
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of, tell_errors
from odradek.cli.client.near import nearest
from odradek.cli.client.table import show
from odradek.cli.failure import Failure

if TYPE_CHECKING:
    from odradek.client.admin.acls import AclBinding, AclBindingFilter
    from odradek.protocol.vocabulary import AclOperation, AclPermissionType, ResourceType

HELP = "who may do what: list, allow, deny, delete"

CLUSTER_NAME = "kafka-cluster"  # the one name that brokers know for it
COLUMNS = {
    "principal": "PRINCIPAL",
    "permission": "PERMISSION",
    "operation": "OPERATION",
    "resource": "RESOURCE",
    "name": "NAME",
    "pattern": "PATTERN",
    "host": "HOST",
}
_RESOURCES = {"topic": "TOPIC", "group": "GROUP", "transactional_id": "TRANSACTIONAL_ID", "user": "USER"}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "acls", HELP)
    listing = group.action(
        "list",
        "the access rules, all of them or those of somebody or something",
        _list,
        """
        acls list
        acls list --principal alice --topic orders
        """,
    )
    _add_what(listing)
    listing.add_argument("--principal", metavar="NAME", help="alice, or User:alice")
    for word, text in (("allow", "let somebody do something"), ("deny", "let nobody of that name do something")):
        rule = group.action(
            word,
            text,
            _create,
            f"""
            acls {word} alice read describe --topic orders
            acls {word} billing read --group billing --host 10.0.0.7
            acls {word} '*' write --topic logs- --prefix # of every topic whose name begins so
            """,
        )
        rule.set_defaults(permission=word)
        rule.add_argument("principal", metavar="NAME", help="alice, or User:alice; * is everybody")
        rule.add_argument("operations", nargs="+", metavar="OPERATION", help="read, write, create, describe, all ...")
        _add_what(rule)
        rule.add_argument("--host", default="*", metavar="ADDRESS", help="only from there (default: from anywhere)")
    delete = group.action(
        "delete",
        "take rules away, all that match",
        _delete,
        """
        acls delete --principal alice # shows which
        acls delete --principal alice --topic orders --execute
        """,
    )
    delete.add_argument("--principal", metavar="NAME", help="alice, or User:alice")
    _add_what(delete)
    plan.add_execute(delete)


def _add_what(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--topic", metavar="TOPIC", help="* is every topic")
    add("--group", metavar="GROUP")
    add("--transactional-id", metavar="ID")
    add("--user", metavar="NAME", help="whose delegation tokens")
    add("--cluster", action="store_true", help="the cluster itself")
    add("--prefix", action="store_true", help="everything whose name begins with the one that is given")


def _list(options: argparse.Namespace) -> int:
    wanted = _filter(options)
    with admin_of(options) as admin:
        found = admin.describe_acls(wanted)
    show(options, _rows(found), COLUMNS)
    return 0


def _create(options: argparse.Namespace) -> int:
    from odradek.client.admin.acls import AclBinding
    from odradek.protocol.vocabulary import AclPermissionType, PatternType

    resource, name = _resource(options)
    if resource is None or name is None:
        raise Failure("on what? --topic TOPIC, --group GROUP, --transactional-id ID, --user NAME or --cluster")
    pattern = PatternType.PREFIXED if options.prefix else PatternType.LITERAL
    permission = AclPermissionType[options.permission.upper()]
    rules = [
        AclBinding(resource, name, _principal(options.principal), _operation(each), permission, options.host, pattern)
        for each in options.operations
    ]
    with admin_of(options) as admin:
        made = admin.create_acls(rules)
    show(options, _rows(list(made.values_ok)), COLUMNS)
    return tell_errors({each.operation.name.lower(): error for each, error in made.errors.items()})


def _delete(options: argparse.Namespace) -> int:
    wanted = _filter(options)
    if wanted.principal is None and wanted.resource_name is None:
        raise Failure("which rules? name somebody with --principal, or something such as --topic TOPIC")
    with admin_of(options) as admin:
        found = admin.describe_acls(wanted)
        show(options, _rows(found), COLUMNS)
        if not plan.is_to_be_done(options, is_empty=not found):
            return 0
        deleted = admin.delete_acls([rule.filter for rule in found])
        return plan.outcome({each.operation.name.lower(): error for each, error in deleted.errors.items()})


def _filter(options: argparse.Namespace) -> "AclBindingFilter":
    from odradek.client.admin.acls import AclBindingFilter
    from odradek.protocol.vocabulary import PatternType

    resource, name = _resource(options)
    principal = None if options.principal is None else _principal(options.principal)
    pattern = PatternType.PREFIXED if options.prefix else PatternType.ANY
    found = AclBindingFilter(resource_name=name, principal=principal, pattern_type=pattern)
    return found if resource is None else found._replace(resource_type=resource)


def _resource(options: argparse.Namespace) -> "tuple[ResourceType | None, str | None]":
    from odradek.protocol.vocabulary import ResourceType

    named = [
        (ResourceType[kind], getattr(options, flag)) for flag, kind in _RESOURCES.items() if getattr(options, flag)
    ]
    if options.cluster:
        named.append((ResourceType.CLUSTER, CLUSTER_NAME))
    if len(named) > 1:
        raise Failure("a rule is about one thing: give one of --topic, --group, --transactional-id, --user, --cluster")
    return named[0] if named else (None, None)


def _principal(text: str) -> str:
    return text if ":" in text else f"User:{text}"


def _operation(text: str) -> "AclOperation":
    from odradek.protocol.vocabulary import AclOperation

    known = {each.name.lower(): each for each in AclOperation if each.name not in ("UNKNOWN", "ANY")}
    name = text.lower().replace("-", "_")
    if name not in known:
        near = nearest(name, known)
        raise Failure(
            f"there is no operation {text!r}; {f'did you mean {near[0]}?' if near else 'there are ' + ', '.join(known)}"
        )
    return known[name]


def _rows(rules: "list[AclBinding]") -> list[dict[str, object]]:
    return [
        {
            "principal": each.principal,
            "permission": _word(each.permission_type),
            "operation": each.operation.name.lower(),
            "resource": each.resource_type.name.lower(),
            "name": each.resource_name,
            "pattern": each.pattern_type.name.lower(),
            "host": each.host,
        }
        for each in sorted(rules, key=lambda rule: (rule.principal, rule.resource_name, rule.operation))
    ]


def _word(permission: "AclPermissionType") -> str:
    return permission.name.lower()
