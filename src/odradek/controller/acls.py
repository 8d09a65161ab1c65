"""Access control entries in the metadata log: each has an id of its own (KIP-801). Nobody enforces them here."""

from odradek.metadata.acls import Acl
from odradek.protocol.messages.metadata_cluster import AccessControlEntryRecord, RemoveAccessControlEntryRecord


class Acls:
    __slots__ = ("_ids", "by_id")

    def __init__(self) -> None:
        self.by_id: dict[bytes, Acl] = {}
        self._ids: dict[Acl, bytes] = {}

    def has(self, acl: Acl) -> bool:
        return acl in self._ids

    def replay(self, record: AccessControlEntryRecord) -> None:
        acl = Acl(
            record.resource_type,
            record.resource_name,
            record.pattern_type,
            record.principal,
            record.host,
            record.operation,
            record.permission_type,
        )
        self.by_id[record.id] = acl
        self._ids[acl] = record.id

    def replay_removal(self, record: RemoveAccessControlEntryRecord) -> None:
        acl = self.by_id.pop(record.id)
        self._ids.pop(acl, None)

    def validate(self) -> None:
        assert set(self._ids) == set(self.by_id.values())
        assert all(self.by_id[acl_id] == acl for acl, acl_id in self._ids.items())
