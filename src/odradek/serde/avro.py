"""Avro with a schema registry: values are dicts, or whatever `to_dict` and `from_dict` make of objects. Needs fastavro.

    orders = AvroSerde(registry, schema)                   # for values; is_key=True for keys
    KafkaProducer(value_serializer=orders)

A schema is parsed once: the own one when the object is made, that of a writer when its id first turns up.
"""

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from odradek.serde import framing
from odradek.serde.errors import SerializationError
from odradek.serde.extras import library
from odradek.serde.plain import Headers
from odradek.serde.registry import SchemaRegistry
from odradek.serde.schema import AVRO, Schema
from odradek.serde.subjects import SubjectRule, topic_name
from odradek.serde.with_schema import RegisteredHead

EXTRA = "avro"


# Any: what a value is, only its schema says.
class AvroSerde:
    def __init__(
        self,
        registry: SchemaRegistry,
        schema: str | Mapping[str, object] | Schema | None = None,
        *,
        is_key: bool = False,
        subject: SubjectRule = topic_name,
        registers: bool = True,
        reads_as_written: bool = False,
        to_dict: Callable[[Any], Any] | None = None,
        from_dict: Callable[[Any], Any] | None = None,
    ) -> None:
        """`schema` is what is written, and what is read is brought into its form, unless it is to be read as it was
        written. Without one, there is only reading.
        """
        self._avro = library("fastavro", EXTRA)
        self._registry = registry
        own = _schema(schema)
        self._own = None if own is None else self._parsed(own)
        self._reader = None if reads_as_written else self._own
        name = self._own.get("name") if isinstance(self._own, dict) else None
        self._head = RegisteredHead(registry, own, name, is_key=is_key, subject=subject, registers=registers)
        self._to_dict = to_dict
        self._from_dict = from_dict
        self._writers: dict[int, object] = {}  # parsed, by id

    def prepare(self, topic: str) -> None:
        """Asks the registry now, and not with the first record: for programs of asyncio, in a thread."""
        self._head.of(topic)

    def serialize(self, topic: str, headers: Headers, value: Any) -> bytes | None:
        if value is None:
            return None
        buffer = BytesIO()
        buffer.write(self._head.of(topic))
        try:
            self._avro.schemaless_writer(buffer, self._own, value if self._to_dict is None else self._to_dict(value))
        except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
            raise SerializationError(f"it does not fit the Avro schema: {error}") from error
        return buffer.getvalue()

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        if data is None:
            return None
        writer = self._writer(framing.schema_id(data))
        buffer = BytesIO(data)
        buffer.seek(framing.HEAD_BYTES)
        try:
            value = self._avro.schemaless_reader(buffer, writer, self._reader)
        except Exception as error:
            raise SerializationError(f"{len(data)} bytes are not what the Avro schema says: {error}") from error
        return value if self._from_dict is None else self._from_dict(value)

    def _writer(self, schema_id: int) -> object:
        parsed = self._writers.get(schema_id)
        if parsed is None:
            parsed = self._writers[schema_id] = self._parsed(self._registry.schema(schema_id))
        return parsed

    def _parsed(self, schema: Schema) -> object:
        if schema.kind != AVRO:
            raise SerializationError(f"the schema is of the kind {schema.kind}, not AVRO")
        names: dict[str, object] = {}
        self._take_references(schema, names)
        try:
            parsed: object = self._avro.parse_schema(json.loads(schema.text), named_schemas=names)
        except Exception as error:
            raise SerializationError(f"the Avro schema makes no sense: {error}") from error
        return parsed

    def _take_references(self, schema: Schema, names: dict[str, object]) -> None:
        for reference in schema.references:
            used = self._registry.version(reference.subject, reference.version).schema
            self._take_references(used, names)
            self._avro.parse_schema(json.loads(used.text), named_schemas=names)


def _schema(given: str | Mapping[str, object] | Schema | None) -> Schema | None:
    if given is None or isinstance(given, Schema):
        return given
    return Schema(given if isinstance(given, str) else json.dumps(given))
