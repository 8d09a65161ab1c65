"""What the executors do with bytes that Spark has no function for: Avro and Protobuf, with and without a registry.

A decoder is described by a small value that travels to the executors; each process makes the decoder of it once. It
gives a dict of the columns, or raises `BadRecord` with the reason. A registry that does not answer is no reason: that
ends the task, and the batch is tried again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

from odradek.serde.avro import AvroSerde
from odradek.serde.errors import SerializationError
from odradek.serde.extras import library
from odradek.serde.framing import HEAD_BYTES, after_message_indexes, schema_id
from odradek.serde.registry import RegistryError, SchemaRegistry
from odradek.spark.pipeline import avro_types, protobuf_types

Decode = Callable[[bytes], dict[str, Any]]  # Any: a value is what its schema says

_NOT_FOUND = 404


class BadRecord(Exception):  # noqa: N818 - the record's fault
    """Bytes that are not what the decoder says; the reason is for people."""


@dataclass(frozen=True)
class AvroBytes:
    schema: str
    registry: str | None = None

    def columns(self) -> str:
        return avro_types.columns_of(self.schema)[0]

    def decoder(self) -> Decode:
        _, change = avro_types.columns_of(self.schema)
        read = self._reading_plain() if self.registry is None else self._reading_registered(self.registry)
        return lambda data: change(read(data))

    def _reading_registered(self, url: str) -> Decode:
        serde = AvroSerde(SchemaRegistry(url), self.schema)

        def read(data: bytes) -> Any:
            try:
                return serde.deserialize("", (), data)
            except RegistryError as error:
                if error.status != _NOT_FOUND:
                    raise
                raise BadRecord(f"the registry has no schema {schema_id(data)}") from error
            except SerializationError as error:
                raise BadRecord(str(error)) from error

        return read

    def _reading_plain(self) -> Decode:
        avro: Any = library("fastavro", "avro")
        import json

        parsed = avro.parse_schema(json.loads(self.schema))

        def read(data: bytes) -> Any:
            buffer = BytesIO(data)
            try:
                value = avro.schemaless_reader(buffer, parsed, None)
            except Exception as error:
                raise BadRecord(f"{len(data)} bytes are not what the Avro schema says: {error!r}") from error
            if buffer.tell() != len(data):
                raise BadRecord(f"{len(data) - buffer.tell()} bytes are left behind the Avro value")
            return value

        return read


@dataclass(frozen=True)
class ProtobufBytes:
    descriptors: bytes
    message: str
    is_framed: bool = False

    def columns(self) -> str:
        return protobuf_types.columns_of(self._class())[0]

    def decoder(self) -> Decode:
        message = self._class()
        _, change = protobuf_types.columns_of(message)
        error_class = library("google.protobuf.message", "protobuf").Error

        def read(data: bytes) -> dict[str, Any]:
            try:
                found: dict[str, Any] = change(message.FromString(self._payload(data)))
            except error_class as error:
                raise BadRecord(f"{len(data)} bytes are no {self.message}: {error}") from error
            except SerializationError as error:
                raise BadRecord(str(error)) from error
            return found

        return read

    def _payload(self, data: bytes) -> bytes:
        if not self.is_framed:
            return data
        schema_id(data)
        return data[after_message_indexes(data, HEAD_BYTES)[1] :]

    def _class(self) -> Any:
        return protobuf_types.message_class(self.descriptors, self.message)


@lru_cache(maxsize=64)
def decoder_of(description: AvroBytes | ProtobufBytes) -> Decode:
    return description.decoder()


def outcome(decode: Decode, data: bytes | None) -> dict[str, Any]:
    """The row of a record: its value, or the reason why there is none. A record without a value has neither."""
    if data is None:
        return {"value": None, "reason": None}
    try:
        return {"value": decode(data), "reason": None}
    except BadRecord as bad:
        return {"value": None, "reason": str(bad)}
