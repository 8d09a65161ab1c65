"""A fetch session with one broker, as the consumer keeps it (KIP-227).

A session spares the naming of every partition in every fetch: the broker remembers them, and is told what has changed.

    session id  epoch    the request names                           the answer has
    0           0        all partitions                              all partitions, and the id of a new session
    0           -1       all partitions, and no session is wanted    all partitions
    n           1, 2..   what is new, has changed or is replaced,    those that have news
                         and what is to be forgotten
    n           0        all partitions: n ends, another begins      all partitions, and a new id
    n           -1       nothing: n ends                             nothing

Both sides must have the same idea of the session. Whatever leaves that in doubt (a lost answer, an answer about a
partition that was not asked for, an error of the session) makes the next request begin a new one. Brokers before Fetch
7 have no sessions, and answer with the id 0; one whose cache of sessions is full does, too.

From version 13 on topics are named by their ids, which tells a topic from its successor of the same name. A topic that
was created anew is *replaced*: its old id is forgotten and the new one added. As long as the id of some topic is not
known, names are used for all (up to version 12), and a session that has begun with ids ends.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.protocol import errors
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from odradek.protocol.topic_partition import TopicPartition

FIRST_EPOCH, FINAL_EPOCH = 0, -1
EPOCH_MAX = 2**31 - 1
TOPIC_IDS_VERSION = 13
NAMES_VERSION_MAX = TOPIC_IDS_VERSION - 1


class FetchAsk(NamedTuple):
    """What is asked of one partition: a session remembers it until it changes."""

    topic_id: bytes
    fetch_offset: int
    leader_epoch: int
    max_bytes: int


class SessionStep(NamedTuple):
    """What one request says of the session. `forgotten` has the ids that they were known by."""

    session_id: int
    epoch: int
    named: dict[TopicPartition, FetchAsk]
    forgotten: list[tuple[TopicPartition, bytes]]
    has_ids: bool

    @property
    def is_full(self) -> bool:
        return self.epoch in (FIRST_EPOCH, FINAL_EPOCH)

    @property
    def version_max(self) -> int | None:
        return None if self.has_ids else NAMES_VERSION_MAX

    def put_into(self, request: FetchRequest) -> None:
        request.session_id = self.session_id
        request.session_epoch = self.epoch
        request.topics = _topics(self.named)
        request.forgotten_topics_data = _forgotten(self.forgotten)


class FetchSession:
    __slots__ = ("_asks", "_epoch", "_has_ids", "_names", "session_id")

    def __init__(self) -> None:
        self.session_id = 0
        self._epoch = FIRST_EPOCH
        self._asks: dict[TopicPartition, FetchAsk] = {}  # what the broker remembers
        self._names: dict[bytes, str] = {}  # of the topics in it, by id
        self._has_ids = True

    def __repr__(self) -> str:
        return f"FetchSession({self.session_id}, epoch={self._epoch}, {len(self._asks)} partitions)"

    @property
    def partitions(self) -> set[TopicPartition]:
        return set(self._asks)

    def step(self, wanted: Mapping[TopicPartition, FetchAsk], unheard: Iterable[TopicPartition] = ()) -> SessionStep:
        """The next request of this session, which is about exactly these partitions.

        Of those that are `unheard` nothing is known: they were taken away and have come back. If the session has them
        still, the broker would not tell of them before there is news, so another session begins.
        """
        has_ids = all(ask.topic_id != ZERO_UUID for ask in wanted.values())
        if self._epoch != FIRST_EPOCH and (has_ids != self._has_ids or any(place in self._asks for place in unheard)):
            self._begin_anew()
        self._has_ids = has_ids
        before, self._asks = self._asks, dict(wanted)
        self._names = {ask.topic_id: place.topic for place, ask in wanted.items()}
        if self._epoch == FIRST_EPOCH:
            return SessionStep(self.session_id, FIRST_EPOCH, dict(wanted), [], has_ids)
        named = {place: ask for place, ask in wanted.items() if before.get(place) != ask}
        gone = [(place, ask.topic_id) for place, ask in before.items() if self._is_gone(place, ask)]
        return SessionStep(self.session_id, self._epoch, named, gone, has_ids)

    def ending(self) -> SessionStep | None:
        """The request that ends it; None if the broker has none. Afterwards this is a new one."""
        ended = SessionStep(self.session_id, FINAL_EPOCH, {}, [], self._has_ids) if self.session_id else None
        self.__init__()  # type: ignore[misc]  # as it was made
        return ended

    def answered(self, step: SessionStep, response: FetchResponse, places: Iterable[TopicPartition]) -> bool:
        """Whether the answer can be used; `places` are the partitions in it."""
        if response.error_code:
            if response.error_code == errors.FetchSessionIdNotFound.code:
                self.session_id = 0
            self._begin_anew()
            return False
        if not self._fits(step, places):
            self._begin_anew()
            return False
        if step.is_full:
            self.session_id = response.session_id
            self._epoch = FIRST_EPOCH + 1 if response.session_id else FIRST_EPOCH
        else:
            self._epoch = 1 if self._epoch == EPOCH_MAX else self._epoch + 1
        return True

    def failed(self) -> None:
        """Nobody knows whether the broker has seen the request: all is told anew."""
        self._begin_anew()

    def place_of(self, topic: str, topic_id: bytes, partition: int) -> TopicPartition | None:
        """Who is meant in an answer; None for an id that this session does not know."""
        name = topic or self._names.get(bytes(topic_id))
        return None if name is None else TopicPartition(name, partition)

    def _begin_anew(self) -> None:
        """The broker closes the session of this id, if it has one, and makes another."""
        self._epoch = FIRST_EPOCH

    def _fits(self, step: SessionStep, places: Iterable[TopicPartition]) -> bool:
        found = set(places)
        return found == self._asks.keys() if step.is_full else found <= self._asks.keys()

    def _is_gone(self, place: TopicPartition, before: FetchAsk) -> bool:
        """It is not wanted any more, or only its successor of the same name is."""
        now = self._asks.get(place)
        return now is None or (self._has_ids and now.topic_id != before.topic_id)


def answered_partitions(
    session: FetchSession, response: FetchResponse
) -> tuple[dict[TopicPartition, PartitionData], bool]:
    """What the answer has of each partition, and whether all in it could be told by name or id."""
    found, all_known = {}, True
    for topic in response.responses:
        for data in topic.partitions:
            place = session.place_of(topic.topic, topic.topic_id, data.partition_index)
            if place is None:
                all_known = False
            else:
                found[place] = data
    return found, all_known


def _topics(asks: Mapping[TopicPartition, FetchAsk]) -> list[FetchTopic]:
    """In the order in which the partitions were given, as far as those of a topic lie side by side."""
    found: list[FetchTopic] = []
    for (topic, partition), ask in asks.items():
        if not found or found[-1].topic != topic:
            found.append(FetchTopic(topic=topic, topic_id=ask.topic_id, partitions=[]))
        found[-1].partitions.append(
            FetchPartition(
                partition=partition,
                current_leader_epoch=ask.leader_epoch,
                fetch_offset=ask.fetch_offset,
                partition_max_bytes=ask.max_bytes,
            )
        )
    return found


def _forgotten(places: Iterable[tuple[TopicPartition, bytes]]) -> list[ForgottenTopic]:
    found: dict[tuple[str, bytes], ForgottenTopic] = {}
    for (topic, partition), topic_id in places:
        forgotten = found.setdefault((topic, topic_id), ForgottenTopic(topic=topic, topic_id=topic_id, partitions=[]))
        forgotten.partitions.append(partition)
    return list(found.values())
