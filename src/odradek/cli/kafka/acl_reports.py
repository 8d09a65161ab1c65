"""What `kafka-acls.sh --list` prints: the entries of each resource."""

from collections.abc import Iterable

from odradek.cli.kafka.acl_changes import Entry, Pattern, Plan
from odradek.cli.kafka.acls import names
from odradek.cli.kafka.options import Given
from odradek.client.admin.acls import AclBinding, AclBindingFilter
from odradek.client.admin.admin_client import AdminClient


def list_acls(given: Given, admin: AdminClient, wanted: Plan) -> None:
    found: list[AclBinding] = []
    for each in [filter_of(pattern) for pattern in wanted] or [AclBindingFilter()]:
        found += [acl for acl in admin.describe_acls(each) if acl not in found]
    principals = names(given.values("principal"))
    if not principals:
        _print_all(found)
    for principal in principals:
        print(f"ACLs for principal `{principal}`")
        _print_all(acl for acl in found if acl.principal == principal)


def filter_of(pattern: Pattern) -> AclBindingFilter:
    return AclBindingFilter(
        resource_type=pattern.resource_type, resource_name=pattern.name, pattern_type=pattern.pattern_type
    )


def _print_all(acls: Iterable[AclBinding]) -> None:
    for pattern, entries in by_pattern(acls).items():
        print(f"Current ACLs for resource `{pattern}`:\n{shown(entries)}\n")


def by_pattern(acls: Iterable[AclBinding]) -> Plan:
    found: Plan = {}
    for acl in acls:
        pattern = Pattern(acl.resource_type, acl.resource_name, acl.pattern_type)
        entry = Entry(acl.principal, acl.host, acl.operation, acl.permission_type)
        found.setdefault(pattern, []).append(entry)
    return found


def shown(entries: Iterable[Entry]) -> str:
    return "\n".join(f"\t{entry}" for entry in entries)
