"""A map that never changes: a changed one is a new map that shares with the old whatever is the same.

The entries lie in buckets, plain dicts of about `BUCKET_ENTRIES`. A change copies the list of the buckets and the
buckets that it touches, nothing else: with 100,000 entries some 700 of them per change. The map grows by splitting one
bucket at a time (linear hashing), so that no single change ever pays for all entries.

Where a key lies depends on Python's hash, which differs from process to process. Nobody sees it: iteration is in the
order of the keys.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

BUCKET_ENTRIES = 256

Order = Callable[[K], "SupportsRichComparison"]  # a key's sort key, where the keys themselves cannot be compared


class Map(Mapping[K, V], Generic[K, V]):
    """`copied_entries` is what making this map out of its predecessor has copied."""

    __slots__ = ("_buckets", "_mask", "_order", "_size", "_sorted", "copied_entries")

    def __init__(self, entries: Mapping[K, V] | None = None, *, order: Order[K] | None = None) -> None:
        self._buckets: list[dict[K, V]] = [{}]
        self._mask = 0
        self._size = 0
        self._order = order
        self._sorted: list[K] | None = None
        self.copied_entries = 0
        if entries:
            made = self.changed(entries)
            self._buckets, self._mask, self._size = made._buckets, made._mask, made._size

    # Reading

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: object) -> bool:
        return key in self._buckets[self._index(key)]

    def __getitem__(self, key: K) -> V:
        return self._buckets[self._index(key)][key]

    @overload
    def get(self, key: K, default: None = None) -> V | None: ...
    @overload
    def get(self, key: K, default: T) -> V | T: ...
    def get(self, key: K, default: object = None) -> object:
        index = hash(key) & self._mask  # as _index: handlers ask here for every topic of a request
        if index >= len(self._buckets):
            index &= self._mask >> 1
        return self._buckets[index].get(key, default)

    def __iter__(self) -> Iterator[K]:
        """In the order of the keys, which is found once per map."""
        if self._sorted is None:
            # Any: without an order the keys compare, which K does not say
            keys: list[Any] = [key for bucket in self._buckets for key in bucket]
            self._sorted = sorted(keys, key=self._order)
        return iter(self._sorted)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Map) or len(other) != self._size:
            return NotImplemented if not isinstance(other, Map) else False
        return all(other.get(key, _MISSING) == value for bucket in self._buckets for key, value in bucket.items())

    def __repr__(self) -> str:
        return f"Map({{{', '.join(f'{key!r}: {self[key]!r}' for key in self)}}})"

    def _index(self, key: object) -> int:
        index = hash(key) & self._mask
        return index if index < len(self._buckets) else index & (self._mask >> 1)

    # Making the next one

    def changed(self, changes: Mapping[K, V | None]) -> "Map[K, V]":
        """The map with these values in it; None removes. The same map if there is nothing to change."""
        if not changes:
            return self
        if self._size + len(changes) <= BUCKET_ENTRIES and len(self._buckets) == 1:
            return self._changed_in_one_bucket(changes)
        draft = self.draft()
        for key, value in changes.items():
            draft.set(key, value)
        return draft.finish()

    def _changed_in_one_bucket(self, changes: Mapping[K, V | None]) -> "Map[K, V]":
        """Most maps are small: the partitions of a topic."""
        successor: Map[K, V] = Map(order=self._order)
        merged = {**self._buckets[0], **changes}
        bucket = {key: value for key, value in merged.items() if value is not None}
        successor._buckets = [bucket]
        successor._size = len(bucket)
        successor.copied_entries = 1 + self._size
        return successor

    def draft(self) -> "Draft[K, V]":
        """For changes that come in slices: nobody but the draft's owner sees them before it is finished."""
        successor: Map[K, V] = Map(order=self._order)
        successor._buckets = list(self._buckets)
        successor._mask = self._mask
        successor._size = self._size
        successor.copied_entries = len(self._buckets)
        return Draft(successor)


class Draft(Generic[K, V]):
    """A map in the making."""

    __slots__ = ("_map", "_owned")

    def __init__(self, successor: Map[K, V]) -> None:
        self._map = successor
        self._owned: set[int] = set()  # the buckets that no other map has

    def set(self, key: K, value: V | None) -> None:
        draft = self._map
        bucket = self._own(draft._index(key))
        if value is not None:
            draft._size += key not in bucket
            bucket[key] = value
        elif key in bucket:
            draft._size -= 1
            del bucket[key]
        if draft._size > BUCKET_ENTRIES * len(draft._buckets):
            self._split()

    def finish(self) -> Map[K, V]:
        """The map. The draft is used up: what it would change now is everybody's."""
        finished = self._map
        del self._map
        return finished

    def _own(self, index: int) -> dict[K, V]:
        draft = self._map
        bucket = draft._buckets[index]
        if index not in self._owned:
            self._owned.add(index)
            draft.copied_entries += len(bucket)
            bucket = draft._buckets[index] = dict(bucket)
        return bucket

    def _split(self) -> None:
        """One bucket more. It takes its entries from the one that has held them so far."""
        draft = self._map
        new = len(draft._buckets)
        if new > draft._mask:
            draft._mask = draft._mask * 2 + 1
        old = new & (draft._mask >> 1)
        kept: dict[K, V] = {}
        moved: dict[K, V] = {}
        for key, value in draft._buckets[old].items():
            (kept if hash(key) & draft._mask == old else moved)[key] = value
        draft.copied_entries += len(kept) + len(moved)
        draft._buckets[old] = kept
        draft._buckets.append(moved)
        self._owned.update((old, new))


_MISSING = object()
