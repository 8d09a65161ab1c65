"""Quotas, as the configs of users, client ids and addresses."""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.cli.client.connection import admin_of
from odradek.cli.client.table import counted
from odradek.cli.failure import Failure

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.quotas import ClientQuotaEntity

KINDS = ("user", "client-id", "ip")

_DEFAULT_NAMES = ("default", "*")


def listed(admin: "AdminClient", kind: str | None) -> list[dict[str, object]]:
    """One row for each entity; one of a user and a client id stands under both names."""
    rows: list[dict[str, object]] = []
    for entity in admin.describe_client_quotas():
        kinds = [each for each in KINDS if each in entity]
        if kind is None or kind in kinds:
            names = ["default" if entity[each] is None else str(entity[each]) for each in kinds]
            rows.append({"kind": "+".join(kinds), "name": "+".join(names)})
    return sorted(rows, key=lambda row: (str(row["kind"]), str(row["name"])))


def shown(admin: "AdminClient", kind: str, name: str) -> list[dict[str, object]]:
    found = admin.describe_client_quotas()
    quotas = {
        key: value
        for entity, each in found.items()
        if dict(entity) == dict(_entity(kind, name))
        for key, value in each.items()
    }
    return [
        {"config": key, "value": _text(value), "source": "QUOTA", "read_only": False, "sensitive": False}
        for key, value in sorted(quotas.items())
    ]


def numbers(values: Mapping[str, str | None]) -> dict[str, float | None]:
    try:
        return {name: None if value is None else float(value) for name, value in values.items()}
    except ValueError:
        raise Failure("a quota is a number, as in consumer_byte_rate=1048576") from None


def change(options: argparse.Namespace, values: Mapping[str, float | None]) -> int:
    entity = _entity(options.kind, options.name)
    with admin_of(options) as admin:
        admin.alter_client_quotas({entity: values}).raise_any()
    print(f"{options.kind} {options.name}: {counted(len(values), 'quota')} changed", file=sys.stderr)
    return 0


def _entity(kind: str, name: str) -> "ClientQuotaEntity":
    from odradek.client.admin.quotas import ClientQuotaEntity

    return ClientQuotaEntity({kind: None if name in _DEFAULT_NAMES else name})


def _text(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
