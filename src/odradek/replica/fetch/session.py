"""A fetch session: the partitions that one reader follows, and which of them may have news.

A full fetch names all its partitions; with a session (KIP-227) the broker remembers them, and from then on a request
names only what changes and a response holds only what is new. Every request counts the session's epoch up by one; one
that does not fit was lost or sent twice, and is refused.

A session keeps no list that it would have to walk. An entry is *fresh* while it may have something to tell: it was
added or changed by the reader, it has told records (the reader may ask for them again), it ended in an error, or its
partition has said that something happened. Every other entry is registered as a watcher of its partition. So a request
to an idle session with a thousand partitions looks at none of them.

Entries with little room are served in turn: one that has told records goes to the end of the order.

A fetch without a session uses the same object, which is dropped after the answer.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from odradek.replica.fetch_entry import FetchEntry, TopicKey

if TYPE_CHECKING:
    from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = 0x7FFF_FFFF


def next_epoch(epoch: int) -> int:
    """After the largest comes 1: 0 asks for a new session."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == EPOCH_MAX else epoch + 1


class WaitingFetch(Protocol):
    """A fetch that waits for the session to have something to tell (delayed.DelayedFetch)."""

    def marked(self, entry: FetchEntry) -> None: ...
    def give_way(self) -> None: ...


class FetchSession:
    __slots__ = (
        "_next_order",
        "created_ms",
        "epoch",
        "eviction_key",
        "fresh",
        "id",
        "is_closed",
        "is_old",
        "is_privileged",
        "last_used_ms",
        "size",
        "topics",
        "uses_topic_ids",
        "waiting",
    )

    def __init__(self, *, uses_topic_ids: bool, is_privileged: bool, now_ms: int = 0) -> None:
        self.id = NO_SESSION
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.uses_topic_ids = uses_topic_ids
        self.is_privileged = is_privileged  # of a follower: consumers do not displace it
        self.created_ms = self.last_used_ms = now_ms
        self.topics: dict[TopicKey, dict[int, FetchEntry]] = {}
        self.size = 0
        self.fresh: dict[FetchEntry, None] = {}
        self.waiting: WaitingFetch | None = None
        self.is_closed = False
        self.eviction_key: tuple[bool, int, int] | None = None  # under which the cache ranks it,
        self.is_old = False  # and whether as one that others may displace
        self._next_order = 0

    def __repr__(self) -> str:
        return f"FetchSession({self.id}, epoch={self.epoch}, {self.size} partitions, {len(self.fresh)} fresh)"

    def entries(self) -> Iterator[FetchEntry]:
        for partitions in self.topics.values():
            yield from partitions.values()

    # What the reader asks for.

    def update(self, request: "FetchRequest") -> None:
        """Adds, changes and forgets partitions, as a request says."""
        self.add(request.topics)
        for forgotten in request.forgotten_topics_data:
            key: TopicKey = forgotten.topic_id if self.uses_topic_ids else forgotten.topic
            for index in forgotten.partitions:
                self._forget(key, index)

    def add(self, topics: "list[FetchTopic]") -> None:
        uses_topic_ids = self.uses_topic_ids
        for topic in topics:
            key: TopicKey = topic.topic_id if uses_topic_ids else topic.topic
            partitions = self.topics.get(key)
            if partitions is None:
                partitions = self.topics[key] = {}
            for asked in topic.partitions:
                self._put(key, partitions, asked)

    def _put(self, key: TopicKey, partitions: dict[int, FetchEntry], asked: "FetchPartition") -> None:
        entry = partitions.get(asked.partition)
        if entry is None:
            entry = partitions[asked.partition] = FetchEntry(self, key, asked.partition, self._next_order)
            self._next_order += 1
            self.size += 1
        entry.fetch_offset = asked.fetch_offset
        entry.max_bytes = asked.partition_max_bytes
        entry.current_leader_epoch = asked.current_leader_epoch
        entry.last_fetched_epoch = asked.last_fetched_epoch
        entry.log_start_offset = asked.log_start_offset
        self.fresh[entry] = None

    def _forget(self, key: TopicKey, index: int) -> None:
        partitions = self.topics.get(key)
        entry = partitions.pop(index, None) if partitions else None
        if entry is None or partitions is None:
            return
        self.size -= 1
        self.fresh.pop(entry, None)
        _unwatch(entry)
        if not partitions:
            del self.topics[key]

    # What there may be to tell.

    def mark(self, entry: FetchEntry) -> None:
        self.fresh[entry] = None
        if self.waiting is not None:
            self.waiting.marked(entry)

    def fresh_in_order(self) -> list[FetchEntry]:
        fresh = list(self.fresh)
        if len(fresh) > 1:
            fresh.sort(key=_order)
        return fresh

    def told_records(self, entry: FetchEntry) -> None:
        """It goes to the end of the order. It stays fresh: there may be more, or the reader asks for the same again."""
        entry.order = self._next_order
        self._next_order += 1

    def told_all(self, entry: FetchEntry) -> None:
        """It has nothing more to tell until its partition says so."""
        if entry.partition is not None:
            self.fresh.pop(entry, None)
            entry.partition.watch(entry)

    def close(self) -> None:
        """It may still be waited for: then whoever waits closes it again at the end."""
        self.is_closed = True
        if self.waiting is None:
            for entry in self.entries():
                _unwatch(entry)


def _order(entry: FetchEntry) -> int:
    return entry.order


def _unwatch(entry: FetchEntry) -> None:
    if entry.partition is not None:
        entry.partition.unwatch(entry)
