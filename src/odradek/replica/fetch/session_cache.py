"""The fetch sessions that the broker remembers, and who must go when there are too many.

`max.incremental.fetch.session.cache.slots` bounds them. A newcomer that finds the cache full displaces, in this order:
a session that was not used for two minutes; else one with fewer partitions than it has, provided that it is older than
two minutes; a follower's session displaces any consumer's. If nobody has to go, the newcomer gets no session, and goes
on with full fetches.
"""

from bisect import bisect_left, insort
from collections import OrderedDict

from odradek.metrics.meter import Counter
from odradek.reactor.ports import Stream
from odradek.replica.fetch.session import FetchSession

EVICTION_MS = 120_000

_Key = tuple[bool, int, int]  # is privileged, size, id


class SessionCache:
    __slots__ = (
        "_evictable_by_all",
        "_evictable_by_privileged",
        "_evictions",
        "_rng",
        "_sessions",
        "partition_count",
        "slots",
    )

    def __init__(self, slots: int, rng: Stream, evictions: Counter) -> None:
        self.slots = slots
        self._rng = rng
        self._evictions = evictions
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()  # least recently used first
        self._evictable_by_all: list[_Key] = []  # sorted
        self._evictable_by_privileged: list[_Key] = []
        self.partition_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """It is used now, and may have grown or shrunk."""
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session.id)
        key = session.eviction_key
        is_old = now_ms - session.created_ms > EVICTION_MS
        if key is None or key[1] != session.size or is_old != session.is_old:
            self._rank(session, is_old)

    def _rank(self, session: FetchSession, is_old: bool) -> None:
        """Puts it where those look that need its place."""
        self._drop_keys(session)
        session.eviction_key = key = (session.is_privileged, session.size, session.id)
        session.is_old = is_old
        self.partition_count += session.size
        if is_old or not session.is_privileged:
            insort(self._evictable_by_privileged, key)
        if is_old:
            insort(self._evictable_by_all, key)

    def maybe_add(self, session: FetchSession, now_ms: int) -> bool:
        """Gives it an id, if there is room or somebody has to go."""
        if self.slots <= 0 or not session.size:
            return False
        if len(self._sessions) >= self.slots and not self._evict_for(session, now_ms):
            return False
        session.id = self._new_id()
        session.created_ms = now_ms
        self._sessions[session.id] = session
        self.touch(session, now_ms)
        return True

    def remove(self, session: FetchSession) -> None:
        if self._sessions.pop(session.id, None) is not None:
            self._drop_keys(session)
            session.close()

    def _evict_for(self, session: FetchSession, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()))
        if now_ms - oldest.last_used_ms > EVICTION_MS:
            self._evict(oldest)
            return True
        candidates = self._evictable_by_privileged if session.is_privileged else self._evictable_by_all
        if candidates and candidates[0] < (session.is_privileged, session.size, 0):
            self._evict(self._sessions[candidates[0][2]])
            return True
        return False

    def _evict(self, session: FetchSession) -> None:
        self.remove(session)
        self._evictions.count += 1

    def _new_id(self) -> int:
        while True:
            session_id = 1 + self._rng.below(0x7FFF_FFFE)
            if session_id not in self._sessions:
                return session_id

    def _drop_keys(self, session: FetchSession) -> None:
        key, session.eviction_key = session.eviction_key, None
        if key is None:
            return
        self.partition_count -= key[1]
        for keys in (self._evictable_by_all, self._evictable_by_privileged):
            if _contains(keys, key):
                del keys[bisect_left(keys, key)]


def _contains(keys: list[_Key], key: _Key) -> bool:
    at = bisect_left(keys, key)
    return at < len(keys) and keys[at] == key
