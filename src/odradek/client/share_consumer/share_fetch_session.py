"""A share session with one broker, as the client keeps it.

The broker remembers which partitions a member reads there, and counts the requests of the session, ShareFetch and
ShareAcknowledge alike. One request is in flight at a time.

    epoch    request            it names
    0        ShareFetch         all partitions: a session begins. It cannot acknowledge anything
    1, 2..   ShareFetch         what is new, what is to be forgotten, what is acknowledged
    1, 2..   ShareAcknowledge   what is acknowledged
    -1       ShareAcknowledge   what is acknowledged: the session ends, and all else that was acquired is given back

Whatever leaves in doubt what the broker knows (a lost answer, an error of the session) makes the next fetch begin a new
one. Of a partition that was refused nobody knows whether it is still in the session: it is named again.
"""

from collections.abc import Iterable, Set
from typing import NamedTuple

from odradek.protocol.topic_partition import TopicIdPartition

FIRST_EPOCH, FINAL_EPOCH = 0, -1
EPOCH_MAX = 2**31 - 1


class ShareStep(NamedTuple):
    """What one request says of the session."""

    epoch: int
    named: list[TopicIdPartition]
    forgotten: list[TopicIdPartition]


class ShareFetchSession:
    __slots__ = ("_epoch", "_known")

    def __init__(self) -> None:
        self._epoch = FIRST_EPOCH
        self._known: dict[TopicIdPartition, None] = {}  # what the broker remembers, in order

    def __repr__(self) -> str:
        return f"ShareFetchSession(epoch={self._epoch}, {len(self._known)} partitions)"

    @property
    def is_open(self) -> bool:
        return self._epoch != FIRST_EPOCH

    @property
    def known(self) -> Set[TopicIdPartition]:
        return self._known.keys()

    def fetch(self, wanted: Iterable[TopicIdPartition], acknowledged: Set[TopicIdPartition] = frozenset()) -> ShareStep:
        """The next fetch, which is about exactly these. What is acknowledged only is named and forgotten at once."""
        now = dict.fromkeys(wanted)
        passing = [place for place in acknowledged if place not in self._known and place not in now]
        forgotten = [place for place in self._known if place not in now]
        named = [place for place in now if place not in self._known]
        self._known = now
        return ShareStep(self._epoch, named, forgotten + passing)

    def acknowledge(self) -> ShareStep:
        return ShareStep(self._epoch, [], [])

    def end(self) -> ShareStep:
        """Afterwards this is a new one."""
        self.reset()
        return ShareStep(FINAL_EPOCH, [], [])

    def went_well(self) -> None:
        self._epoch = 1 if self._epoch == EPOCH_MAX else self._epoch + 1

    def reset(self) -> None:
        self._epoch = FIRST_EPOCH
        self._known = {}

    def forget(self, place: TopicIdPartition) -> None:
        """It was refused: the next fetch names it again, if it is still wanted."""
        self._known.pop(place, None)
