"""What a message of Protobuf is in Spark's types, and its values as dicts. Needs no Spark.

A message type travels as the descriptors of its files, so that the machines that decode need no module that was made
for it.
"""

from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from typing import Any

from odradek.serde.extras import library
from odradek.spark.pipeline.avro_types import UnfitSchemaError

Change = Callable[[Any], Any]  # Any: messages and descriptors have types only where Protobuf is installed

_EXTRA = "protobuf"
_WRAPPERS = "google.protobuf."
_TIMESTAMP = "google.protobuf.Timestamp"


def descriptors_of(message: str, descriptor: str | None) -> tuple[bytes, str]:
    """The files of a message type as one FileDescriptorSet, and the type's full name."""
    if descriptor is not None:
        with open(descriptor, "rb") as file:
            return file.read(), message
    module, _, name = message.partition(":")
    found: Any = getattr(import_module(module), name).DESCRIPTOR
    files = library("google.protobuf.descriptor_pb2", _EXTRA).FileDescriptorSet()
    _add_file(found.file, files, set())
    return files.SerializeToString(), found.full_name


def _add_file(file: Any, files: Any, seen: set[str]) -> None:
    """Those that it imports come first."""
    if file.name in seen:
        return
    seen.add(file.name)
    for each in file.dependencies:
        _add_file(each, files, seen)
    file.CopyToProto(files.file.add())


def message_class(descriptors: bytes, name: str) -> Any:
    pool = library("google.protobuf.descriptor_pool", _EXTRA).DescriptorPool()
    files = library("google.protobuf.descriptor_pb2", _EXTRA).FileDescriptorSet.FromString(descriptors)
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    try:
        found = pool.FindMessageTypeByName(name)
    except KeyError:
        there = [f"{file.package}.{each.name}".lstrip(".") for file in files.file for each in file.message_type]
        raise UnfitSchemaError(f"the descriptors have no message {name}: there are {', '.join(there)}") from None
    return library("google.protobuf.message_factory", _EXTRA).GetMessageClass(found)


def columns_of(message: Any) -> tuple[str, Change]:
    """The columns in Spark's DDL, and what makes a dict of a message."""
    return _fields(message.DESCRIPTOR, ())


def _fields(descriptor: Any, within: tuple[str, ...]) -> tuple[str, Change]:
    if descriptor.full_name in within:
        raise UnfitSchemaError(f"the message {descriptor.full_name} contains itself: Spark has no such types")
    inside = (*within, descriptor.full_name)
    types = [(field, *_type(field, inside)) for field in descriptor.fields]

    def change(message: Any) -> dict[str, Any]:
        return {field.name: _value(message, field, each) for field, _, each in types}

    return ", ".join(f"`{field.name}` {kind}" for field, kind, _ in types), change


def _value(message: Any, field: Any, change: Change) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    return change(getattr(message, field.name))


def _type(field: Any, within: tuple[str, ...]) -> tuple[str, Change]:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        key, _ = _one(inner.fields_by_name["key"], within)
        value, change = _one(inner.fields_by_name["value"], within)
        return f"MAP<{key}, {value}>", lambda values: [(each, change(values[each])) for each in values]
    kind, change = _one(field, within)
    if not field.is_repeated:
        return kind, change
    return f"ARRAY<{kind}>", lambda values: [change(value) for value in values]


def _one(field: Any, within: tuple[str, ...]) -> tuple[str, Change]:
    if field.message_type is not None:
        return _message(field.message_type, within)
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return "STRING", lambda number: names.get(number, str(number))
    return _plain(field)


def _plain(field: Any) -> tuple[str, Change]:
    match field.cpp_type:
        case field.CPPTYPE_INT32:
            return "INT", _same
        case field.CPPTYPE_INT64 | field.CPPTYPE_UINT32:
            return "BIGINT", _same
        case field.CPPTYPE_UINT64:
            return "DECIMAL(20,0)", Decimal
        case field.CPPTYPE_BOOL:
            return "BOOLEAN", _same
        case field.CPPTYPE_FLOAT:
            return "FLOAT", _same
        case field.CPPTYPE_DOUBLE:
            return "DOUBLE", _same
    return ("BINARY", bytes) if field.type == field.TYPE_BYTES else ("STRING", _same)


def _message(descriptor: Any, within: tuple[str, ...]) -> tuple[str, Change]:
    if descriptor.full_name == _TIMESTAMP:
        return "TIMESTAMP", _moment
    if (
        descriptor.full_name.startswith(_WRAPPERS)
        and descriptor.full_name.endswith("Value")
        and _is_wrapper(descriptor)
    ):
        kind, change = _plain(descriptor.fields_by_name["value"])
        return kind, lambda message: change(message.value)
    fields, change = _fields(descriptor, within)
    return f"STRUCT<{fields.replace('` ', '`: ')}>", change


def _is_wrapper(descriptor: Any) -> bool:
    return [field.name for field in descriptor.fields] == ["value"]


def _moment(message: Any) -> Any:
    from datetime import UTC

    return message.ToDatetime(tzinfo=UTC)


def _same(value: Any) -> Any:
    return value
