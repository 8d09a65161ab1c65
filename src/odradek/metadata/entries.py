"""Entries by key that records change: the one seam between the rules of replay and where their values are kept.

Each part of the metadata has a class with its rules, such as `AclsReplay`, which knows entries only by `get` and `put`.
It is used twice: the delta of an image keeps what has changed over a map that never changes, the controller keeps its
current state in a dict, uncommitted records included. So no rule can differ between the two.
"""

from typing import Generic, TypeVar

from odradek.metadata.persistent_map import Map

K = TypeVar("K")
V = TypeVar("V")


class Entries(Generic[K, V]):
    __slots__ = ()

    def get(self, key: K) -> V | None:
        """The entry after every record that was replayed so far."""
        raise NotImplementedError

    def put(self, key: K, value: V | None) -> None:
        """None removes the entry."""
        raise NotImplementedError


class EntriesDelta(Entries[K, V]):
    """`changed` has each entry that a record has named, None for one that is gone."""

    __slots__ = ("_before", "changed")

    def __init__(self, before: Map[K, V]) -> None:
        self._before = before
        self.changed: dict[K, V | None] = {}

    def get(self, key: K) -> V | None:
        if key in self.changed:
            return self.changed[key]
        return self._before.get(key)

    def put(self, key: K, value: V | None) -> None:
        self.changed[key] = value

    def applied(self) -> Map[K, V]:
        """The map with the changes in it."""
        return self._before.changed(self.changed)


class EntriesInPlace(Entries[K, V]):
    """`by_key` is what the records that were replayed so far amount to."""

    __slots__ = ("by_key",)

    def __init__(self) -> None:
        self.by_key: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        return self.by_key.get(key)

    def put(self, key: K, value: V | None) -> None:
        if value is None:
            self.by_key.pop(key, None)
        else:
            self.by_key[key] = value
