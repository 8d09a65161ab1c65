"""Protobuf with a schema registry. Needs protobuf, and the classes that `protoc` has made.

    orders = ProtobufSerde(registry, shop_pb2.Order)
    KafkaProducer(value_serializer=orders)

The registry is given the file of the message and, before it, those that it imports, each under its own name as subject;
what comes with Protobuf itself (google/protobuf/...) every registry has. What is read is parsed as the given class:
Protobuf knows what to do with fields that one side does not know.
"""

from base64 import b64encode
from typing import Any, Generic, TypeVar, cast

from odradek.serde import framing
from odradek.serde.errors import SerializationError
from odradek.serde.extras import library
from odradek.serde.plain import Headers
from odradek.serde.registry import SchemaRegistry
from odradek.serde.schema import PROTOBUF, Reference, Schema
from odradek.serde.subjects import SubjectRule, topic_name
from odradek.serde.with_schema import RegisteredHead

EXTRA = "protobuf"

M = TypeVar("M")


# Any: messages and descriptors of Protobuf have types only where it is installed.
class ProtobufSerde(Generic[M]):
    def __init__(
        self,
        registry: SchemaRegistry,
        message: type[M],
        *,
        is_key: bool = False,
        subject: SubjectRule = topic_name,
        registers: bool = True,
    ) -> None:
        self._error = library("google.protobuf.message", EXTRA).Error
        self._message = cast(Any, message)  # Any: what it has, its class does not tell type checkers
        self._registry = registry
        self._descriptor = self._message.DESCRIPTOR
        self._indexes = framing.message_indexes(_indexes(self._descriptor))
        self._is_key = is_key
        self._subject = subject
        self._registers = registers
        self._head: RegisteredHead | None = None

    def prepare(self, topic: str) -> None:
        """Asks the registry now, and not with the first record: for programs of asyncio, in a thread."""
        self._head_of(topic)

    def serialize(self, topic: str, headers: Headers, value: M | None) -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, self._message):
            raise SerializationError(f"a message of type {self._descriptor.full_name} was expected")
        try:
            body: bytes = cast(Any, value).SerializeToString()
        except self._error as error:
            raise SerializationError(f"the message is not whole: {error}") from error
        return self._head_of(topic) + self._indexes + body

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> M | None:
        if data is None:
            return None
        framing.schema_id(data)
        _, at = framing.after_message_indexes(data, framing.HEAD_BYTES)
        try:
            found: M = self._message.FromString(data[at:])
        except self._error as error:
            raise SerializationError(f"{len(data)} bytes are no {self._descriptor.full_name}: {error}") from error
        return found

    def _head_of(self, topic: str) -> bytes:
        if self._head is None:
            self._head = RegisteredHead(
                self._registry,
                self._registered(self._descriptor.file),
                self._descriptor.full_name,
                is_key=self._is_key,
                subject=self._subject,
                registers=self._registers,
            )
        return self._head.of(topic)

    def _registered(self, file: Any) -> Schema:
        """The schema of a file, when those that it imports are registered."""
        used = [self._reference(each) for each in file.dependencies if not each.name.startswith("google/protobuf/")]
        return Schema(b64encode(file.serialized_pb).decode(), PROTOBUF, tuple(used))

    def _reference(self, file: Any) -> Reference:
        schema = self._registered(file)
        if self._registers:
            self._registry.register(file.name, schema)
        return Reference(file.name, file.name, self._registry.version(file.name).version)


def _indexes(descriptor: Any) -> tuple[int, ...]:
    """The steps from the file down to the message type. Any: as above."""
    holder = descriptor.containing_type
    if holder is None:
        return (list(descriptor.file.message_types_by_name).index(descriptor.name),)
    return (*_indexes(holder), [each.name for each in holder.nested_types].index(descriptor.name))
