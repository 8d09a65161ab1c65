"""What formats with schemas have in common: the schema of a subject is registered or looked up once, and remembered."""

from odradek.serde import framing
from odradek.serde.errors import SerializationError
from odradek.serde.registry import SchemaRegistry
from odradek.serde.schema import Schema
from odradek.serde.subjects import SubjectRule, topic_name


class RegisteredHead:
    """The first bytes of the records of each topic."""

    __slots__ = ("_heads", "_is_key", "_record", "_registers", "_registry", "_schema", "_subject")

    def __init__(
        self,
        registry: SchemaRegistry,
        schema: Schema | None,
        record: str | None,
        *,
        is_key: bool,
        subject: SubjectRule = topic_name,
        registers: bool = True,
    ) -> None:
        self._registry = registry
        self._schema = schema
        self._record = record
        self._is_key = is_key
        self._subject = subject
        self._registers = registers
        self._heads: dict[str, bytes] = {}

    def of(self, topic: str) -> bytes:
        """Asks the registry the first time."""
        known = self._heads.get(topic)
        if known is None:
            known = self._heads[topic] = framing.head(self._id(topic))
        return known

    def _id(self, topic: str) -> int:
        if self._schema is None:
            raise SerializationError("a schema is needed to write with: none was given")
        subject = self._subject(topic, self._is_key, self._record)
        ask = self._registry.register if self._registers else self._registry.id_of
        return ask(subject, self._schema)
