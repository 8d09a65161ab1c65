"""Access control entries, each with an id of its own (KIP-801)."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.metadata.entries import Entries, EntriesDelta
from odradek.metadata.persistent_map import Map
from odradek.metadata.replay_error import ReplayError
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.messages.metadata_cluster import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from odradek.protocol.uuids import format_uuid


class Acl(NamedTuple):
    """The numbers are those of CreateAcls."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @classmethod
    def from_record(cls, record: AccessControlEntryRecord) -> "Acl":
        return cls(
            record.resource_type,
            record.resource_name,
            record.pattern_type,
            record.principal,
            record.host,
            record.operation,
            record.permission_type,
        )

    def record(self, acl_id: bytes) -> AccessControlEntryRecord:
        return AccessControlEntryRecord(id=Uuid(acl_id), **self._asdict())


class AclsReplay(Entries[bytes, Acl]):
    """What the records about access control entries do to them."""

    __slots__ = ()

    def replay_entry(self, record: AccessControlEntryRecord) -> None:
        self.put(record.id, Acl.from_record(record))

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        if self.get(record.id) is None:
            raise ReplayError(f"there is no access control entry with the id {format_uuid(record.id)}")
        self.put(record.id, None)


class AclsImage(NamedTuple):
    by_id: Map[bytes, Acl]

    def records(self) -> Iterator[Message]:
        for acl_id, acl in self.by_id.items():
            yield acl.record(acl_id)


EMPTY = AclsImage(Map())


class AclsDelta(EntriesDelta[bytes, Acl], AclsReplay):
    __slots__ = ("_image",)

    def __init__(self, image: AclsImage) -> None:
        super().__init__(image.by_id)
        self._image = image

    def apply(self) -> AclsImage:
        return AclsImage(self.applied()) if self.changed else self._image
