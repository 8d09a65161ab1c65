"""Share sessions: which share-partitions a member reads from this broker, so that a request names only what changes.

A session belongs to a member of a group and to its connection; it has an epoch that counts its requests. Epoch 0 opens
one (and ends the one before), -1 closes it. A session that ends gives back what its member has acquired.
"""

from collections.abc import Callable

from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicIdPartition

INITIAL_EPOCH, FINAL_EPOCH = 0, -1
EPOCH_MAX = 2**31 - 1

SessionKey = tuple[str, str]  # group id, member id


class ShareSession:
    __slots__ = ("epoch", "group_id", "member_id", "places", "when_removed")

    def __init__(self, group_id: str, member_id: str) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.epoch = 1  # of the next request
        self.places: dict[TopicIdPartition, None] = {}
        self.when_removed: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"ShareSession({self.group_id}, {self.member_id}, {self.epoch}, {len(self.places)} share-partitions)"

    def advance(self) -> None:
        self.epoch = 1 if self.epoch >= EPOCH_MAX else self.epoch + 1

    def rotated(self) -> list[TopicIdPartition]:
        """Another one comes first with every request, so that none is starved by those before it."""
        places = list(self.places)
        at = self.epoch % len(places) if places else 0
        return places[at:] + places[:at]


class ShareSessions:
    __slots__ = ("_sessions", "slots")

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._sessions: dict[SessionKey, ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, group_id: str, member_id: str) -> ShareSession:
        if len(self._sessions) >= self.slots:
            raise errors.ShareSessionLimitReached()
        session = self._sessions[group_id, member_id] = ShareSession(group_id, member_id)
        return session

    def get(self, group_id: str, member_id: str) -> ShareSession | None:
        return self._sessions.get((group_id, member_id))

    def next(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """The session that a request goes on with, or closes."""
        session = self._sessions.get((group_id, member_id))
        if session is None:
            raise errors.ShareSessionNotFound()
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            raise errors.InvalidShareSessionEpoch()
        session.advance()
        return session

    def remove(self, session: ShareSession) -> bool:
        """Whether it was there."""
        key = (session.group_id, session.member_id)
        if self._sessions.get(key) is not session:
            return False
        del self._sessions[key]
        if session.when_removed is not None:
            session.when_removed()
        return True

    def has_group(self, group_id: str) -> bool:
        return any(session.group_id == group_id for session in self._sessions.values())
