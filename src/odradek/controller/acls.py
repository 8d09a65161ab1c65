"""The access control entries by id and by value. Nobody enforces them here."""

from odradek.broken_rule import require
from odradek.metadata.acls import Acl, AclsReplay
from odradek.metadata.entries import EntriesInPlace


class Acls(EntriesInPlace[bytes, Acl], AclsReplay):
    __slots__ = ("_counts",)

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[Acl, int] = {}  # under how many ids an entry is there: one, unless the log says otherwise

    def has(self, acl: Acl) -> bool:
        return acl in self._counts

    def put(self, key: bytes, value: Acl | None) -> None:
        before = self.by_key.get(key)
        super().put(key, value)
        if before is not None:
            self._count(before, -1)
        if value is not None:
            self._count(value, 1)

    def _count(self, acl: Acl, change: int) -> None:
        count = self._counts.get(acl, 0) + change
        if count:
            self._counts[acl] = count
        else:
            del self._counts[acl]

    def validate(self) -> None:
        counts: dict[Acl, int] = {}
        for acl in self.by_key.values():
            counts[acl] = counts.get(acl, 0) + 1
        require(self._counts == counts, "the entries by value are those by id")
