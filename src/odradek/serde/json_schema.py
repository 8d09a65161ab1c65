"""JSON whose form is checked by a JSON Schema, with a schema registry. Needs jsonschema.

The validator is made once for each schema. What is read is checked against the schema that it was written with.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from odradek.serde import framing
from odradek.serde.errors import SerializationError
from odradek.serde.extras import library
from odradek.serde.json_format import Json
from odradek.serde.plain import Headers
from odradek.serde.registry import SchemaRegistry
from odradek.serde.schema import JSON, Schema
from odradek.serde.subjects import SubjectRule, topic_name
from odradek.serde.with_schema import RegisteredHead

EXTRA = "jsonschema"


# Any: what a value is, only its schema says; and a validator has no type where jsonschema is not installed.
class JsonSchemaSerde:
    def __init__(
        self,
        registry: SchemaRegistry,
        schema: str | Mapping[str, object] | Schema | None = None,
        *,
        is_key: bool = False,
        subject: SubjectRule = topic_name,
        registers: bool = True,
        validates: bool = True,
        to_dict: Callable[[Any], Any] | None = None,
        from_dict: Callable[[Any], Any] | None = None,
    ) -> None:
        self._validators = library("jsonschema", EXTRA).validators
        self._registry = registry
        self._json = Json()
        self._validates = validates
        own = _schema(schema)
        self._own = None if own is None else self._validator(own)
        name = None if own is None else _title(own)
        self._head = RegisteredHead(registry, own, name, is_key=is_key, subject=subject, registers=registers)
        self._to_dict = to_dict
        self._from_dict = from_dict
        self._writers: dict[int, Any] = {}

    def prepare(self, topic: str) -> None:
        """Asks the registry now, and not with the first record: for programs of asyncio, in a thread."""
        self._head.of(topic)

    def serialize(self, topic: str, headers: Headers, value: Any) -> bytes | None:
        if value is None:
            return None
        head = self._head.of(topic)
        value = value if self._to_dict is None else self._to_dict(value)
        self._check(self._own, value)
        return head + (self._json.serialize(topic, headers, value) or b"")

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        if data is None:
            return None
        schema_id = framing.schema_id(data)
        value = self._json.deserialize(topic, headers, data[framing.HEAD_BYTES :])
        if self._validates:
            self._check(self._writer(schema_id), value)
        return value if self._from_dict is None else self._from_dict(value)

    def _check(self, validator: Any, value: Any) -> None:
        error = next(validator.iter_errors(value), None) if self._validates else None
        if error is not None:
            raise SerializationError(
                f"it does not fit the JSON schema: {error.message} (at {error.json_path})"
            ) from error

    def _writer(self, schema_id: int) -> Any:
        validator = self._writers.get(schema_id)
        if validator is None:
            validator = self._writers[schema_id] = self._validator(self._registry.schema(schema_id))
        return validator

    def _validator(self, schema: Schema) -> Any:
        if schema.kind != JSON:
            raise SerializationError(f"the schema is of the kind {schema.kind}, not JSON")
        if schema.references:
            raise SerializationError("JSON schemas that refer to others in the registry are not read")
        try:
            found = json.loads(schema.text)
            kind = self._validators.validator_for(found)
            kind.check_schema(found)
        except Exception as error:
            raise SerializationError(f"the JSON schema makes no sense: {error}") from error
        return kind(found)


def _schema(given: str | Mapping[str, object] | Schema | None) -> Schema | None:
    if given is None or isinstance(given, Schema):
        return given
    return Schema(given if isinstance(given, str) else json.dumps(given), JSON)


def _title(schema: Schema) -> str | None:
    found = json.loads(schema.text)
    title = found.get("title") if isinstance(found, dict) else None
    return title if isinstance(title, str) else None
