"""The declarations against the field tables of three releases, field by field, in every version.

A version is compared with the newest release that has it. Compared is what the executors follow: the order of the plan,
the name in Kafka's JSON, type, array, nullability, tag, default and the exact primitive on the wire.
"""

import gzip
import json
from pathlib import Path

import pytest

from odradek.protocol import exceptions, registry
from odradek.protocol import field as kinds
from odradek.protocol.plan import FIXED
from odradek.protocol.uuids import format_uuid

DATA = Path(__file__).parent / "data"
NEWEST_FIRST = ("4.3.0", "3.9.1", "3.3.2")
TABLES = ("schemas", "coordinator-schemas", "metadata-schemas")


def table(kind, release):
    with gzip.open(DATA / f"{kind}-{release}.json.gz") as file:
        return json.load(file)


def kafka_versions():
    """(message, version) -> what the newest release that has it says."""
    found = {}
    for release in NEWEST_FIRST:
        for kind in TABLES:
            for old_name, message in table(kind, release).items():
                name = exceptions.RENAMED_MESSAGES.get(old_name, old_name)
                for version, schema in message["versions"].items():
                    found.setdefault((name, our_version(kind, name, version)), (release, schema))
    return found


def our_version(kind, name, version):
    """3.x calls the record type of a coordinator's key its version; there is one layout of each key."""
    is_key = kind == "coordinator-schemas" and name.endswith("Key")
    return 0 if is_key else int(version)


KAFKA = kafka_versions()


def test_no_message_and_no_version_is_missing_or_extra():
    declared = {(name, version) for name, cls in registry.every_message().items() for version in cls.versions}
    assert declared == set(KAFKA)
    assert len(declared) == 850


@pytest.mark.parametrize("name", sorted({name for name, _ in KAFKA}))
def test_every_version_of(name):
    cls = registry.by_name(name)
    for version in cls.versions:
        release, schema = KAFKA[name, version]
        renames = exceptions.RENAMED_FIELDS.get(name, {})
        assert cls.is_flexible(version) is schema["flexible"], f"{name} v{version}"
        assert ours(cls.plan(version)) == kafkas(schema["fields"], renames), f"{name} v{version} of {release}"


def kafkas(fields, renames, path=""):
    """Plain fields in their order, then the tagged ones by rising tag, as they stand on the wire."""
    in_wire_order = [field for field in fields if "tag" not in field]
    in_wire_order += sorted((field for field in fields if "tag" in field), key=lambda field: field["tag"])
    return [kafka_row(field, renames, path) for field in in_wire_order]


def kafka_row(field, renames, path):
    row = {key: field.get(key) for key in ("type", "wire", "array", "nullable", "tag", "default")}
    row["wire"] = field["wire"].replace("NULLABLE_RECORDS", "RECORDS")  # 3.x has one name for both
    row["name"] = renames.get(path + field["name"], field["name"])
    row["fields"] = kafkas(field["fields"], renames, f"{path}{field['name']}.") if "fields" in field else None
    return row


def ours(plan):
    rows = []
    for step in (*plan.steps, *plan.tagged):
        rows += [our_row(plan, step, name) for name in (step.names if step.kind == FIXED else (step.name,))]
    return rows


def our_row(plan, step, name):
    field = next(field for field in plan.cls.fields if field.name == name)
    is_array = step.kind == kinds.ARRAY
    inner = step.item if is_array else step
    return {
        "name": field.json_name,
        "type": our_type(field.item if is_array else field),
        "wire": our_wire(field, step),
        "array": is_array,
        "nullable": step.nullable,
        "tag": step.tag,
        "default": our_default(field),
        "fields": None if inner.plan is None else ours(inner.plan),
    }


def our_type(field):
    return "boolean" if field.kind == kinds.BOOLEAN else kinds.KIND_NAMES[field.kind]


def our_wire(field, step):
    primitive = our_type(field).upper()
    if field.kind == kinds.ARRAY:
        element = "" if step.item.plan else f"({our_wire(field.item, step.item)})"
        return f"{'COMPACT_' * step.compact}ARRAY{element}"
    if field.kind <= kinds.UUID or field.kind == kinds.STRUCT:
        return primitive
    nullable = "NULLABLE_" * (step.nullable and field.kind != kinds.RECORDS)
    return f"{'COMPACT_' * step.compact}{nullable}{primitive}"


def our_default(field):
    default = field.default
    if isinstance(default, type):
        return "struct"
    if field.kind == kinds.UUID:
        return format_uuid(default)
    return "" if default == b"" else default
