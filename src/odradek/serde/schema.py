"""A schema as a registry keeps it."""

from typing import NamedTuple

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"


class Reference(NamedTuple):
    """Another schema that this one uses, under the name that it has there."""

    name: str
    subject: str
    version: int


class Schema(NamedTuple):
    """Its text, and what kind it is: AVRO, JSON or PROTOBUF."""

    text: str
    kind: str = AVRO
    references: tuple[Reference, ...] = ()

    def body(self) -> dict[str, object]:
        """As a registry is told of it; AVRO is what it takes a schema without a kind for."""
        found: dict[str, object] = {"schema": self.text}
        if self.kind != AVRO:
            found["schemaType"] = self.kind
        if self.references:
            found["references"] = [reference._asdict() for reference in self.references]
        return found


class RegisteredSchema(NamedTuple):
    """A version of a subject."""

    subject: str
    version: int
    id: int
    schema: Schema
