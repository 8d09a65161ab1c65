"""Finds positions, and finds out whether they still hold. A core, driven like the fetcher.

A partition whose position is to be *reset* is looked up by ListOffsets at its leader: the start or the end of its log,
or the first record at or after some time. Where there is no such record, it is the end.

A position is *validated* when it has come with a leader epoch from outside (a commit, a seek), and when the leader has
changed since it was reached (KIP-320): a leader may be elected that lacks what was read from the one before. It is
asked by OffsetForLeaderEpoch where the epoch of the last record that was read ends in its log. Behind the position: all
is well. Before it: the log was truncated (`fetch_trouble.truncated`). A broker that does not know the question is taken
at its word.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from odradek.broken_rule import instance
from odradek.channel.core import ByVersion, Send, broker
from odradek.channel.metadata import Metadata
from odradek.client.consumer.assigned_partition import UNKNOWN, AssignedPartition
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_trouble import tell, truncated
from odradek.client.consumer.fetcher import READ_COMMITTED, READ_UNCOMMITTED
from odradek.client.consumer.offset_reset import LATEST, ResetStrategy
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.client.core import Backoff
from odradek.protocol import errors
from odradek.protocol.declare import Response
from odradek.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.protocol.topic_partition import TopicPartition

CONSUMER_ID = -1  # in the place of a replica's
NO_OFFSET = -1
ISOLATION_VERSION_MIN = 2  # from which on ListOffsets knows of transactions
VALIDATION_VERSION_MIN = 2  # from which on consumers may ask


class _Asked(NamedTuple):
    generation: int
    leader_epoch: int
    position_epoch: int
    strategy: ResetStrategy | None


class _Question:
    """One request, until it is answered."""

    __slots__ = ("asked", "is_unsupported", "is_validation", "node_id")

    def __init__(self, node_id: int, asked: dict[TopicPartition, _Asked], *, is_validation: bool) -> None:
        self.node_id = node_id
        self.asked = asked
        self.is_validation = is_validation
        self.is_unsupported = False


class PositionResolver:
    __slots__ = (
        "_backoff",
        "_buffer",
        "_cluster",
        "_deadline_ms",
        "_isolation",
        "_metadata",
        "_out",
        "_subscriptions",
        "_version",
        "_wall_ms",
    )

    def __init__(
        self,
        subscriptions: SubscriptionState,
        metadata: Metadata,
        buffer: FetchBuffer,
        *,
        wall_ms: Callable[[], int],
        backoff: Backoff | None = None,
    ) -> None:
        """`wall_ms` tells the time of day, for by_duration."""
        self._subscriptions = subscriptions
        self._metadata = metadata
        self._buffer = buffer
        self._wall_ms = wall_ms
        self._backoff = backoff or Backoff()
        self._isolation = READ_COMMITTED if subscriptions.is_read_committed else READ_UNCOMMITTED
        self._out: dict[TopicPartition, _Question] = {}  # what is asked about them
        self._deadline_ms: int | None = None
        self._cluster: object = None
        self._version = -1

    # The shape of a core

    def poll(self, now_ms: int) -> list[Send]:
        self._deadline_ms = None
        self._notice_leaders()
        resets: dict[int, list[AssignedPartition]] = {}
        validations: dict[int, list[AssignedPartition]] = {}
        for state in self._subscriptions:
            if state.reset is None and not state.needs_validation:
                continue
            node_id = self._askable_at(state, now_ms)
            if node_id is not None:
                (validations if state.reset is None else resets).setdefault(node_id, []).append(state)
        sends = [self._ask_offsets(node_id, states) for node_id, states in resets.items()]
        return sends + [self._ask_epochs(node_id, states) for node_id, states in validations.items()]

    def deadline(self) -> int | None:
        return self._deadline_ms

    def answered(self, token: object, response: Response, now_ms: int) -> None:
        question = instance(token, _Question, "a resolver's token is its question")
        self._forget(question)
        if question.is_validation:
            self._epochs_told(question, instance(response, OffsetForLeaderEpochResponse, "it answers that"), now_ms)
        else:
            self._offsets_told(question, instance(response, ListOffsetsResponse, "it answers that"), now_ms)

    def failed(self, token: object, now_ms: int) -> None:
        question = instance(token, _Question, "a resolver's token is its question")
        self._forget(question)
        for state in self._still_asking(question):
            if question.is_unsupported:
                state.needs_validation = False
            else:
                self._try_again(state, now_ms)
        if not question.is_unsupported:
            self._metadata.request_update(resets_backoff=False)

    # What to ask

    def _notice_leaders(self) -> None:
        """A new leader: what was read from the old one is to be compared with its log."""
        cluster = self._metadata.cluster
        if cluster is self._cluster and self._version == self._subscriptions.version:
            return
        self._cluster, self._version = cluster, self._subscriptions.version
        for state in self._subscriptions:
            info = cluster.partition(*state.place)
            if info is not None and info.leader_epoch != state.leader_epoch:
                self._new_leader(state, info.leader_epoch)

    def _new_leader(self, state: AssignedPartition, epoch: int) -> None:
        """Epochs only grow: after a smaller one it is another topic of the same name, with epochs of its own."""
        before, state.leader_epoch = state.leader_epoch, epoch
        if epoch < before:
            state.position_epoch = UNKNOWN
            state.needs_validation = False
        elif before >= 0 and state.has_position and state.position_epoch >= 0:
            state.needs_validation = True

    def _askable_at(self, state: AssignedPartition, now_ms: int) -> int | None:
        """The leader, unless it is asked already, or not known."""
        if state.place in self._out and self._out[state.place].asked[state.place].generation == state.generation:
            return None
        if now_ms < state.retry_at_ms:
            self._wake_at(state.retry_at_ms)
            return None
        leader = self._metadata.cluster.leader(*state.place)
        if leader is None:
            self._metadata.request_update(resets_backoff=False)
            self._wake_at(now_ms + self._backoff.after(0))
            return None
        return leader.id

    def _ask_offsets(self, node_id: int, states: list[AssignedPartition]) -> Send:
        wall_ms = self._wall_ms()
        topics: dict[str, ListOffsetsTopic] = {}
        for state in states:
            topic, partition = state.place
            strategy = state.reset or LATEST
            asked = ListOffsetsPartition(
                partition_index=partition,
                current_leader_epoch=state.leader_epoch,
                timestamp=strategy.timestamp_ms(wall_ms),
            )
            topics.setdefault(topic, ListOffsetsTopic(name=topic, partitions=[])).partitions.append(asked)
        question = self._question(node_id, states, is_validation=False)

        def build(version: int) -> ListOffsetsRequest:
            isolation = self._isolation if version >= ISOLATION_VERSION_MIN else READ_UNCOMMITTED
            return ListOffsetsRequest(replica_id=CONSUMER_ID, isolation_level=isolation, topics=list(topics.values()))

        return Send(ByVersion(ListOffsetsRequest.api_key, build), None, broker(node_id), question)

    def _ask_epochs(self, node_id: int, states: list[AssignedPartition]) -> Send:
        topics: dict[str, OffsetForLeaderTopic] = {}
        for state in states:
            topic, partition = state.place
            asked = OffsetForLeaderPartition(
                partition=partition, current_leader_epoch=state.leader_epoch, leader_epoch=state.position_epoch
            )
            topics.setdefault(topic, OffsetForLeaderTopic(topic=topic, partitions=[])).partitions.append(asked)
        request = OffsetForLeaderEpochRequest(replica_id=CONSUMER_ID, topics=list(topics.values()))
        question = self._question(node_id, states, is_validation=True)

        def build(version: int) -> OffsetForLeaderEpochRequest:
            if version < VALIDATION_VERSION_MIN:
                question.is_unsupported = True
                raise errors.UnsupportedVersion("consumers may ask for the end of an epoch from version 2 on")
            return request

        return Send(ByVersion(OffsetForLeaderEpochRequest.api_key, build), None, broker(node_id), question)

    def _question(self, node_id: int, states: Iterable[AssignedPartition], *, is_validation: bool) -> _Question:
        asked = {
            state.place: _Asked(state.generation, state.leader_epoch, state.position_epoch, state.reset)
            for state in states
        }
        question = _Question(node_id, asked, is_validation=is_validation)
        self._out.update(dict.fromkeys(asked, question))
        return question

    # What was told

    def _offsets_told(self, question: _Question, response: ListOffsetsResponse, now_ms: int) -> None:
        for topic in response.topics:
            for told in topic.partitions:
                state = self._still(question, TopicPartition(topic.name, told.partition_index))
                if state is None:
                    continue
                offset = told.old_style_offsets[0] if told.old_style_offsets else told.offset
                if told.error_code:
                    self._refused(state, told.error_code, now_ms)
                elif offset == NO_OFFSET:
                    state.request_reset(LATEST)  # nothing is that young
                else:
                    self._metadata.saw_leader_epoch(*state.place, told.leader_epoch)
                    state.seek(offset, told.leader_epoch)
                    state.needs_validation = False  # the leader itself has told it

    def _epochs_told(self, question: _Question, response: OffsetForLeaderEpochResponse, now_ms: int) -> None:
        """What was buffered may have been handed out meanwhile: a position in another epoch is asked for again."""
        for topic in response.topics:
            for told in topic.partitions:
                state = self._still(question, TopicPartition(topic.topic, told.partition))
                if state is None:
                    continue
                if told.error_code:
                    self._refused(state, told.error_code, now_ms)
                elif question.asked[state.place][1:3] == (state.leader_epoch, state.position_epoch):
                    state.needs_validation = False
                    truncated(self._subscriptions, self._buffer, state, told.end_offset, told.leader_epoch)

    def _refused(self, state: AssignedPartition, code: int, now_ms: int) -> None:
        error = errors.by_code(code)
        self._try_again(state, now_ms)
        if error.refreshes_metadata or code == errors.UnknownLeaderEpoch.code:
            self._metadata.request_update(resets_backoff=False)
        elif not error.retriable and not state.is_refused:
            tell(self._buffer, state, error(f"{state.place}: {error.message}"))

    def _try_again(self, state: AssignedPartition, now_ms: int) -> None:
        state.retry_at_ms = now_ms + self._backoff.after(0)

    def _still(self, question: _Question, place: TopicPartition) -> AssignedPartition | None:
        """The partition, if the answer is about what is still asked of it."""
        state, asked = self._subscriptions.get(place), question.asked.get(place)
        if state is None or asked is None or asked.generation != state.generation or asked.strategy != state.reset:
            return None
        return state if question.is_validation == (state.reset is None) else None

    def _still_asking(self, question: _Question) -> list[AssignedPartition]:
        found = (self._still(question, place) for place in question.asked)
        return [state for state in found if state is not None]

    def _forget(self, question: _Question) -> None:
        for place in question.asked:
            if self._out.get(place) is question:
                del self._out[place]

    def _wake_at(self, at_ms: int) -> None:
        self._deadline_ms = at_ms if self._deadline_ms is None else min(self._deadline_ms, at_ms)
