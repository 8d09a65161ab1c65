"""What an Avro schema is in Spark's types, and what of a decoded value has to change its form. Needs no Spark."""

import json
from collections.abc import Callable, Mapping
from typing import Any

Change = Callable[[Any], Any]  # Any: a value is what its schema says

_PLAIN = {
    "null": "VOID",
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "bytes": "BINARY",
    "string": "STRING",
}
_LOGICAL = {
    "date": "DATE",
    "timestamp-millis": "TIMESTAMP",
    "timestamp-micros": "TIMESTAMP",
    "local-timestamp-millis": "TIMESTAMP_NTZ",
    "local-timestamp-micros": "TIMESTAMP_NTZ",
}
_AS_TEXT = ("uuid", "time-millis", "time-micros")


class UnfitSchemaError(ValueError):
    """A schema that has no form in Spark."""


def columns_of(schema: str) -> tuple[str, Change]:
    """The columns in Spark's DDL, and what makes a dict of them: a schema that is no record is the column `value`."""
    try:
        root = json.loads(schema)
    except ValueError as error:
        raise UnfitSchemaError(f"the Avro schema is no JSON: {error}") from None
    if isinstance(root, dict) and root.get("type") == "record":
        names: dict[str, object] = {}
        _define(root, names)
        fields, change = _fields(root, names, ())
        return fields, change
    kind, change = _type(root, {}, ())
    return f"`value` {kind}", lambda value: {"value": change(value)}


def _same(value: Any) -> Any:
    return value


def _type(schema: object, names: dict[str, object], within: tuple[str, ...]) -> tuple[str, Change]:
    if isinstance(schema, list):
        return _union(schema, names, within)
    if isinstance(schema, str):
        return _named(schema, names, within)
    if not isinstance(schema, Mapping):
        raise UnfitSchemaError(f"{schema!r} is no Avro type")
    logical = _logical(schema)
    return logical or _complex(schema, names, within)


def _named(name: str, names: dict[str, object], within: tuple[str, ...]) -> tuple[str, Change]:
    if name in _PLAIN:
        return _PLAIN[name], _same
    if name in within:
        raise UnfitSchemaError(f"the Avro type {name} contains itself: Spark has no such types")
    known = names.get(name) or names.get(name.rsplit(".", 1)[-1])
    if known is None:
        raise UnfitSchemaError(f"the Avro schema knows no type {name!r}")
    return _type(known, names, within)


def _logical(schema: Mapping[str, Any]) -> tuple[str, Change] | None:
    kind = schema.get("logicalType")
    if kind == "decimal":
        return f"DECIMAL({schema['precision']},{schema.get('scale', 0)})", _same
    if kind in _LOGICAL:
        return _LOGICAL[kind], _same
    return ("STRING", _text_or_none) if kind in _AS_TEXT else None


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def _complex(schema: Mapping[str, Any], names: dict[str, object], within: tuple[str, ...]) -> tuple[str, Change]:
    kind = schema.get("type")
    _define(schema, names)
    if kind == "record":
        fields, change = _fields(schema, names, within)
        return f"STRUCT<{fields.replace('` ', '`: ')}>", change
    if kind == "enum":
        return "STRING", _same
    if kind == "fixed":
        return "BINARY", _same
    if kind == "array":
        inner, change = _type(schema["items"], names, within)
        return f"ARRAY<{inner}>", _each(change)
    if kind == "map":
        inner, change = _type(schema["values"], names, within)
        return f"MAP<STRING, {inner}>", _each_value(change)
    return _type(kind, names, within)


def _define(schema: Mapping[str, Any], names: dict[str, object]) -> None:
    if "name" in schema:
        names[schema["name"]] = schema
        names[f"{schema.get('namespace', '')}.{schema['name']}".lstrip(".")] = schema


def _fields(schema: Mapping[str, Any], names: dict[str, object], within: tuple[str, ...]) -> tuple[str, Change]:
    inside = (*within, schema["name"], f"{schema.get('namespace', '')}.{schema['name']}")
    types = {field["name"]: _type(field["type"], names, inside) for field in schema["fields"]}
    changes = {name: change for name, (_, change) in types.items() if change is not _same}

    def change(value: Any) -> Any:
        return None if value is None else {**value, **{name: each(value[name]) for name, each in changes.items()}}

    columns = ", ".join(f"`{name}` {kind}" for name, (kind, _) in types.items())
    return columns, change if changes else _same


def _union(branches: list[object], names: dict[str, object], within: tuple[str, ...]) -> tuple[str, Change]:
    real = [branch for branch in branches if branch != "null"]
    if len(real) == 1:
        return _type(real[0], names, within)
    if set(map(str, real)) == {"int", "long"}:
        return "BIGINT", _same
    raise UnfitSchemaError(f"an Avro union of {len(real)} types has no form in Spark: {json.dumps(branches)}")


def _each(change: Change) -> Change:
    if change is _same:
        return _same
    return lambda values: None if values is None else [change(value) for value in values]


def _each_value(change: Change) -> Change:
    """Arrow takes the pairs of a map."""
    return lambda values: None if values is None else [(key, change(value)) for key, value in values.items()]
