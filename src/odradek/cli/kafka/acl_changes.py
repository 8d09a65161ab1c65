"""What `kafka-acls.sh` adds and removes.

A plan is what each resource shall have: who may do what from where. `--producer` and `--consumer` stand for all that
such a client needs.
"""

import sys
from collections.abc import Iterable
from typing import NamedTuple

from odradek.cli.failure import Refusal
from odradek.cli.kafka.acls import names
from odradek.cli.kafka.options import Given, Misuse
from odradek.client.admin.acls import AclBinding, AclBindingFilter
from odradek.client.admin.admin_client import AdminClient
from odradek.protocol.vocabulary import AclOperation, AclPermissionType, PatternType, ResourceType

CLUSTER_NAME = "kafka-cluster"
O = AclOperation  # noqa: E741 - there are many below
_COMMON = (O.DESCRIBE, O.READ, O.DELETE, O.ALL, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS)
SUPPORTED = {
    ResourceType.TOPIC: (*_COMMON, O.WRITE, O.CREATE, O.ALTER),
    ResourceType.GROUP: _COMMON,
    ResourceType.CLUSTER: (
        O.CREATE,
        O.CLUSTER_ACTION,
        O.DESCRIBE_CONFIGS,
        O.ALTER_CONFIGS,
        O.IDEMPOTENT_WRITE,
        O.ALTER,
        O.DESCRIBE,
        O.ALL,
    ),
    ResourceType.TRANSACTIONAL_ID: (O.DESCRIBE, O.WRITE, O.ALL, O.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (O.DESCRIBE, O.ALL),
    ResourceType.USER: (O.CREATE_TOKENS, O.DESCRIBE_TOKENS, O.ALL),
}
_NAMED = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "delegation-token": ResourceType.DELEGATION_TOKEN,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "user-principal": ResourceType.USER,
}


class Pattern(NamedTuple):
    """Which resources. `pattern_type` ANY and MATCH find entries."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={self.resource_type.name}, name={self.name}, "
            f"patternType={self.pattern_type.name})"
        )


class Entry(NamedTuple):
    principal: str
    host: str
    operation: AclOperation
    permission: AclPermissionType

    def __str__(self) -> str:
        return (
            f"(principal={self.principal}, host={self.host}, operation={self.operation.name}, "
            f"permissionType={self.permission.name})"
        )


Plan = dict[Pattern, list[Entry]]


def plan(given: Given) -> Plan:
    patterns = _patterns(given)
    if given.has("list"):
        return {pattern: [] for pattern in patterns}
    if not patterns:
        raise Misuse(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    if given.has("add"):
        _check_add(given, patterns)
    found = _for_clients(given, patterns)
    if not given.has("producer") and not given.has("consumer"):
        found = {pattern: _entries(given, _operations(given)) for pattern in patterns}
    for pattern, entries in found.items():
        _check_operations(pattern, entries)
    return found


def _patterns(given: Given) -> list[Pattern]:
    text = given.text("resource-pattern-type")
    try:
        kind = PatternType[text.upper()]
    except KeyError:
        raise Refusal(f"Cannot parse argument '{text}' of option resource-pattern-type") from None
    found = [
        Pattern(resource_type, name, kind)
        for option, resource_type in _NAMED.items()
        for name in names(given.values(option))
    ]
    if given.has("cluster") or given.has("idempotent"):
        found.append(Pattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL))
    return found


def _check_add(given: Given, patterns: list[Pattern]) -> None:
    kind = patterns[0].pattern_type
    if kind in (PatternType.ANY, PatternType.MATCH):
        raise Misuse(f"A '--resource-pattern-type' value of '{kind.name}' is not valid when adding acls.")
    if not given.has("allow-principal") and not given.has("deny-principal"):
        raise Misuse("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")


def _operations(given: Given) -> list[AclOperation]:
    found = []
    for text in names(given.values("operation")) or ["All"]:
        squeezed = text.replace("_", "").upper()
        found += [each for each in AclOperation if each.name.replace("_", "") == squeezed] or [AclOperation.UNKNOWN]
    return found


def _check_operations(pattern: Pattern, entries: Iterable[Entry]) -> None:
    allowed = SUPPORTED[pattern.resource_type]
    for entry in entries:
        if entry.operation not in allowed:
            listed = ", ".join(each.name for each in allowed)
            raise Misuse(f"ResourceType {pattern.resource_type.name} only supports operations [{listed}]")


def _for_clients(given: Given, patterns: list[Pattern]) -> Plan:
    found: Plan = {}

    def add(resource_type: ResourceType, *operations: AclOperation) -> None:
        for pattern in patterns:
            if pattern.resource_type is resource_type:
                entries = found.setdefault(pattern, [])
                entries += [entry for entry in _entries(given, operations) if entry not in entries]

    if given.has("producer"):
        add(ResourceType.TOPIC, O.WRITE, O.DESCRIBE, O.CREATE)
        add(ResourceType.TRANSACTIONAL_ID, O.WRITE, O.DESCRIBE)
        if given.has("idempotent"):
            add(ResourceType.CLUSTER, O.IDEMPOTENT_WRITE)
    if given.has("consumer"):
        add(ResourceType.TOPIC, O.READ, O.DESCRIBE)
        add(ResourceType.GROUP, O.READ)
    return found


def _entries(given: Given, operations: Iterable[AclOperation]) -> list[Entry]:
    listed = list(operations)
    found = []
    for word, permission in (("allow", AclPermissionType.ALLOW), ("deny", AclPermissionType.DENY)):
        hosts = names(given.values(f"{word}-host"))
        for principal in names(given.values(f"{word}-principal")):
            if ":" not in principal:
                raise Refusal(f"expected a string in format principalType:principalName but got {principal}")
            for host in hosts or ["*"]:
                found += [Entry(principal, host, operation, permission) for operation in listed]
    return found


def add(admin: AdminClient, wanted: Plan) -> None:
    from odradek.cli.kafka.acl_reports import by_pattern, shown

    there = by_pattern(admin.describe_acls())
    for pattern, entries in wanted.items():
        old = [entry for entry in entries if entry in there.get(pattern, ())]
        new = [entry for entry in entries if entry not in old]
        for entry in old:
            print(f"Acl (pattern={pattern}, entry={entry}) already exists.")
        if new:
            print(f"Adding ACLs for resource `{pattern}`: \n {shown(new)}\n")
            admin.create_acls([_binding(pattern, entry) for entry in new]).raise_any()


def remove(given: Given, admin: AdminClient, wanted: Plan) -> None:
    """All entries of a resource if none is named."""
    from odradek.cli.kafka.acl_reports import filter_of, shown

    for pattern, entries in wanted.items():
        if not entries:
            question = f"Are you sure you want to delete all ACLs for resource filter `{pattern}`? (y/n)"
            filters = [filter_of(pattern)]
        else:
            question = (
                f"Are you sure you want to remove ACLs: \n {shown(entries)}\n from resource filter `{pattern}`? (y/n)"
            )
            filters = [_exact(pattern, entry) for entry in entries]
        if given.has("force") or _says_yes(question):
            admin.delete_acls(filters).raise_any()


def _says_yes(question: str) -> bool:
    print(question, flush=True)
    return sys.stdin.readline().strip().lower() == "y"


def _binding(pattern: Pattern, entry: Entry) -> AclBinding:
    return AclBinding(
        pattern.resource_type,
        pattern.name,
        entry.principal,
        entry.operation,
        entry.permission,
        entry.host,
        pattern.pattern_type,
    )


def _exact(pattern: Pattern, entry: Entry) -> AclBindingFilter:
    return _binding(pattern, entry).filter
