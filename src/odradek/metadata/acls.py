"""Access control entries, each with an id of its own (KIP-801)."""

from collections.abc import Iterator
from typing import NamedTuple

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


class AclsImage(NamedTuple):
    by_id: Map[bytes, Acl]

    def records(self) -> Iterator[Message]:
        for acl_id, acl in self.by_id.items():
            yield AccessControlEntryRecord(id=Uuid(acl_id), **acl._asdict())


EMPTY = AclsImage(Map())


class AclsDelta:
    """`changed` has each entry that a record has named, None for one that is gone."""

    __slots__ = ("_image", "changed")

    def __init__(self, image: AclsImage) -> None:
        self._image = image
        self.changed: dict[bytes, Acl | None] = {}

    def replay_entry(self, record: AccessControlEntryRecord) -> None:
        self.changed[record.id] = Acl(
            record.resource_type,
            record.resource_name,
            record.pattern_type,
            record.principal,
            record.host,
            record.operation,
            record.permission_type,
        )

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        known = self.changed[record.id] if record.id in self.changed else self._image.by_id.get(record.id)
        if known is None:
            raise ReplayError(f"there is no access control entry with the id {format_uuid(record.id)}")
        self.changed[record.id] = None

    def apply(self) -> AclsImage:
        return AclsImage(self._image.by_id.changed(self.changed)) if self.changed else self._image
