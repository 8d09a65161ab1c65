"""Which partitions are fetched from which broker, and when; and what becomes of the answers. A core
(`channel/core.py`), driven by `channel/driver.py`.

One request is in flight per broker. It is about all partitions that are to be read there, those with something buffered
as well: they are asked for what follows, so the session stays whole and the next records are on their way while the
program works on those before. A partition is left out while

    it has no position yet, or one that is not compared with a new leader's log (`PositionResolver`)
    it may be about to be revoked
    an error of it waits for the program
    it was asked for too shortly after an error
    its share is full: more than max.partition.fetch.bytes is buffered, so that with what is asked for it has at most
    twice that. A paused partition is fetched like any other until then

Of the last kind, a moment is waited for a program that is about to take what is buffered: a request without them may be
held by the broker for fetch.max.wait.ms, and they would have to wait for it. If the moment was not enough, the request
goes out without them, and is to be answered soon.

**Memory.** What is asked for and what is buffered are within `fetch.buffer.bytes`, together. A request reserves what
all of its partitions could bring, fetch.max.bytes at most, and no more than its broker's share of what is free. A
broker answers with the first batch even if that is larger than what was asked for; so one batch per request may pass
the bound.

**Where from.** The leader; or a follower in the consumer's rack, if the leader has named one (KIP-392): for
metadata.max.age.ms, then the leader is asked again. A follower that does not have the offset sends us back to the
leader, which alone knows whether the offset is out of range.
"""

import logging
from typing import NamedTuple

from odradek.broken_rule import instance
from odradek.channel.core import ByVersion, Send, fetches_of
from odradek.channel.metadata import Metadata
from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.chunk import Chunk
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_config import FetchConfig
from odradek.client.consumer.fetch_errors import FetchOffsetOutOfRange, RecordTooLargeToFetch
from odradek.client.consumer.fetch_node import FetchNode, NodeFetch
from odradek.client.consumer.fetch_placement import FetchPlacement, Placed
from odradek.client.consumer.fetch_session_client import FetchAsk, answered_partitions
from odradek.client.consumer.fetch_trouble import tell, truncated
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.protocol import errors
from odradek.protocol.declare import Response
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k01_fetch import FetchRequest, FetchResponse, PartitionData
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.rows import Buffer

logger = logging.getLogger("odradek.client")

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
DRAIN_MS = 50  # how long a program is waited for that has too much buffered, and a broker that has nothing else

# Errors of a partition that pass by themselves, or once the client knows better where it is.
PASSING = frozenset(
    (
        errors.NotLeaderOrFollower.code,
        errors.ReplicaNotAvailable.code,
        errors.KafkaStorageError.code,
        errors.FencedLeaderEpoch.code,
        errors.UnknownLeaderEpoch.code,
        errors.OffsetNotAvailable.code,
        errors.UnknownTopicOrPartition.code,
        errors.UnknownTopicId.code,
        errors.InconsistentTopicId.code,
        errors.LeaderNotAvailable.code,
        errors.UnknownServerError.code,
    )
)


SESSION_IS_GONE = frozenset((errors.FetchSessionIdNotFound.code, errors.InvalidFetchSessionEpoch.code))


class _Wanted(NamedTuple):
    """The partitions that are to be read from one broker."""

    ready: list[AssignedPartition]
    full: list[AssignedPartition]


class Fetcher:
    __slots__ = (
        "_buffer",
        "_config",
        "_deadline_ms",
        "_is_closing",
        "_metadata",
        "_nodes",
        "_placement",
        "_subscriptions",
        "_turns",
    )

    def __init__(
        self, subscriptions: SubscriptionState, metadata: Metadata, buffer: FetchBuffer, config: FetchConfig
    ) -> None:
        self._subscriptions = subscriptions
        self._metadata = metadata
        self._buffer = buffer
        self._config = config
        self._nodes: dict[int, FetchNode] = {}
        self._placement = FetchPlacement(subscriptions, metadata)
        self._deadline_ms: int | None = None
        self._turns = 0
        self._is_closing = False
        subscriptions.when_resumed(buffer.queue)

    # What its user may ask

    @property
    def reserved_bytes(self) -> int:
        """Asked for, and not answered."""
        return sum(node.in_flight.reserved_bytes for node in self._nodes.values() if node.in_flight is not None)

    @property
    def buffered_bytes(self) -> int:
        """Received, and not handed out."""
        return sum(state.buffered_bytes for state in self._subscriptions)

    def close(self) -> None:
        """From now on nothing is fetched, and every broker is told that its session has ended: `poll` gives the
        requests. `is_closed` once they were answered, or have failed.
        """
        self._is_closing = True

    @property
    def is_closed(self) -> bool:
        return self._is_closing and not any(
            node.session.session_id or (node.in_flight and node.in_flight.is_end) for node in self._nodes.values()
        )

    # The shape of a core

    def poll(self, now_ms: int) -> list[Send]:
        self._deadline_ms = None
        if self._is_closing:
            return [send for node in self._nodes.values() if (send := self._end(node)) is not None]
        self._fetch_refused_again(now_ms)
        placed = self._placement.by_node(now_ms)
        self._look_for_leaders(now_ms)
        sends = [send for node in list(self._nodes.values()) if (send := self._end_unused(node, placed)) is not None]
        return sends + self._fetches(placed, now_ms)

    def deadline(self) -> int | None:
        return self._deadline_ms

    def answered(self, token: object, response: Response, now_ms: int) -> None:
        fetch = instance(token, NodeFetch, "a fetcher's token is its fetch")
        node = fetch.node
        node.ended(fetch)
        if fetch.is_end:
            return
        answer = instance(response, FetchResponse, "a fetch is answered by one")
        found, all_known = answered_partitions(node.session, answer)
        if not node.session.answered(fetch.step, answer, found) or not all_known:
            self._session_failed(node, answer.error_code, now_ms)
        else:
            node.attempts = 0
        for place, data in found.items() if not answer.error_code else ():
            state = self._asked_by(fetch, place)
            if state is not None:
                self._take_over(fetch, state, data, now_ms)
        self._release(fetch)

    def failed(self, token: object, now_ms: int) -> None:
        fetch = instance(token, NodeFetch, "a fetcher's token is its fetch")
        fetch.node.ended(fetch)
        if fetch.is_end:
            return
        fetch.node.session.failed()
        self._release(fetch)
        self._back_off(fetch.node, now_ms)
        for place in fetch.generations:
            if (state := self._subscriptions.get(place)) is not None:
                state.forget_preferred()
        self._metadata.request_update(resets_backoff=False)

    # Requests

    def _fetch_refused_again(self, now_ms: int) -> None:
        """Somebody was told of an error: from the position on it is tried again, but not at once."""
        for state, generation in self._buffer.take_refused():
            if state.generation == generation:
                state.fetch_again()
                state.retry_at_ms = now_ms + self._config.backoff.after(0)

    def _look_for_leaders(self, now_ms: int) -> None:
        if any(state.is_fetchable for state in self._placement.homeless):
            self._metadata.request_update(resets_backoff=False)
            self._wake_at(now_ms + self._config.backoff.after(0))

    def _fetches(self, placed: Placed, now_ms: int) -> list[Send]:
        """To every broker that has something for us and is not asked yet, as far as there is room for its answer."""
        idle = [node for node in map(self._node, placed) if node.in_flight is None]
        self._buffer.wants_room = bool(idle)  # before it is looked at: who makes room meanwhile has to tell
        wanted = {node.id: self._wanted(placed[node.id], now_ms) for node in idle}
        due = [node for node in idle if self._is_due(node, wanted[node.id], now_ms)]
        lacks_room = any(some.full for some in wanted.values())
        used_bytes = self.reserved_bytes + self.buffered_bytes if due else 0
        sends: list[Send] = []
        for left, node in zip(range(len(due), 0, -1), due, strict=True):
            ready, full = wanted[node.id]
            reserved_bytes = self._reservation(len(ready), left, used_bytes)
            if reserved_bytes:
                used_bytes += reserved_bytes
                sends.append(self._fetch(node, ready, reserved_bytes, is_soon=bool(full)))
            else:
                lacks_room = True
        self._buffer.wants_room = lacks_room
        return sends

    def _wanted(self, states: list[AssignedPartition], now_ms: int) -> _Wanted:
        wanted = _Wanted([], [])
        for state in states:
            if not state.is_fetchable:
                continue
            if now_ms < state.retry_at_ms:
                self._wake_at(state.retry_at_ms)
            elif state.buffered_bytes <= self._config.partition_max_bytes:
                wanted.ready.append(state)
            elif not state.is_paused:
                wanted.full.append(state)
        return wanted

    def _is_due(self, node: FetchNode, wanted: _Wanted, now_ms: int) -> bool:
        if not wanted.full:
            node.drain_until_ms = None
        if not wanted.ready:
            return False
        if now_ms < node.retry_at_ms:
            self._wake_at(node.retry_at_ms)
            return False
        if wanted.full:
            if node.drain_until_ms is None:
                node.drain_until_ms = now_ms + DRAIN_MS
            if now_ms < node.drain_until_ms:
                self._wake_at(node.drain_until_ms)
                return False
        return True

    def _reservation(self, partitions: int, nodes: int, used_bytes: int) -> int:
        """How much a request about so many partitions may bring, of so many nodes that share what is not used; 0: it
        has to wait until there is room.
        """
        config = self._config
        wanted_bytes = min(config.max_bytes, partitions * config.partition_max_bytes)
        if used_bytes == 0:
            return max(1, min(wanted_bytes, config.buffer_bytes // nodes))
        share_bytes = max(0, config.buffer_bytes - used_bytes) // nodes
        least_bytes = min(wanted_bytes, config.partition_max_bytes, config.buffer_bytes // (2 * len(self._nodes)))
        return min(wanted_bytes, share_bytes) if share_bytes >= max(1, least_bytes) else 0

    def _fetch(self, node: FetchNode, ready: list[AssignedPartition], reserved_bytes: int, *, is_soon: bool) -> Send:
        if not node.session.session_id:  # a broker that remembers nothing serves those that it reads first
            self._turns += 1
            at = self._turns % len(ready)
            ready = ready[at:] + ready[:at]
        unheard = [state.place for state in ready if not state.is_heard_of]
        step = node.session.step({state.place: self._ask(state) for state in ready}, unheard)
        max_wait_ms = min(DRAIN_MS, self._config.max_wait_ms) if is_soon else self._config.max_wait_ms
        fetch = node.in_flight = NodeFetch(node, step, reserved_bytes, max_wait_ms)
        for state in ready:
            state.asked = fetch
            fetch.generations[state.place] = (state.generation, state.fetch_offset)
        return self._send(fetch)

    def _ask(self, state: AssignedPartition) -> FetchAsk:
        topic_id = self._metadata.cluster.topic_ids.get(state.place.topic, ZERO_UUID)
        return FetchAsk(topic_id, state.fetch_offset, state.leader_epoch, self._config.partition_max_bytes)

    def _send(self, fetch: NodeFetch) -> Send:
        asked = ByVersion(FetchRequest.api_key, lambda _: self._request(fetch), fetch.step.version_max)
        return Send(asked, None, fetches_of(fetch.node.id), fetch)

    def _request(self, fetch: NodeFetch) -> FetchRequest:
        request = FetchRequest(
            max_wait_ms=fetch.max_wait_ms,
            min_bytes=self._config.min_bytes,
            max_bytes=fetch.reserved_bytes,
            isolation_level=READ_COMMITTED if self._config.is_read_committed else READ_UNCOMMITTED,
            rack_id=self._config.rack,
        )
        fetch.step.put_into(request)
        return request

    # The end of a session

    def _end_unused(self, node: FetchNode, placed: Placed) -> Send | None:
        """Nothing is read from this broker any more: it need not remember what was."""
        if node.id in placed or node.in_flight is not None or self._placement.homeless:
            return None
        send = self._end(node)
        if send is None:
            del self._nodes[node.id]
        return send

    def _end(self, node: FetchNode) -> Send | None:
        step = node.session.ending()
        if step is None:
            return None
        fetch = node.in_flight = NodeFetch(node, step, 0, 0)
        fetch.is_end = True
        return self._send(fetch)

    # Answers

    def _asked_by(self, fetch: NodeFetch, place: TopicPartition) -> AssignedPartition | None:
        """The partition, if what this request has asked is still the question."""
        state = self._subscriptions.get(place)
        if state is None or state.asked is not fetch:
            return None
        return state if fetch.generations[place] == (state.generation, state.fetch_offset) else None

    def _release(self, fetch: NodeFetch) -> None:
        for place in fetch.generations:
            state = self._subscriptions.get(place)
            if state is not None and state.asked is fetch:
                state.asked = None

    def _take_over(self, fetch: NodeFetch, state: AssignedPartition, data: PartitionData, now_ms: int) -> None:
        state.is_heard_of = True
        if data.error_code:
            self._refused(fetch, state, data.error_code, now_ms)
            return
        if data.diverging_epoch.end_offset >= 0:
            parted = data.diverging_epoch
            truncated(self._subscriptions, self._buffer, state, parted.end_offset, parted.epoch)
            return
        if data.preferred_read_replica >= 0:
            until_ms = now_ms + self._config.preferred_replica_ms
            self._placement.prefer(state, data.preferred_read_replica, until_ms)
        state.high_watermark = data.high_watermark
        state.last_stable_offset = data.last_stable_offset
        if data.log_start_offset >= 0:
            state.log_start_offset = data.log_start_offset
        if isinstance(data.records, (bytes, bytearray, memoryview)) and len(data.records):
            self._add(state, data, data.records)

    def _add(self, state: AssignedPartition, data: PartitionData, records: Buffer) -> None:
        aborted = None
        if self._config.is_read_committed and data.aborted_transactions:
            aborted = [(each.producer_id, each.first_offset) for each in data.aborted_transactions]
        chunk = Chunk(state.place, state.generation, state.fetch_offset, records, aborted)
        if chunk.next_offset < 0:
            size_bytes = self._config.partition_max_bytes
            tell(self._buffer, state, RecordTooLargeToFetch(state.place, state.fetch_offset, size_bytes))
            return
        state.fetch_offset = max(state.fetch_offset, chunk.next_offset)
        self._buffer.add(state, chunk)

    def _refused(self, fetch: NodeFetch, state: AssignedPartition, code: int, now_ms: int) -> None:
        error = errors.by_code(code)
        if code in PASSING:
            logger.debug("a fetch of %s is tried again: %s", state.place, error.name)
            state.forget_preferred()
            state.retry_at_ms = now_ms + self._config.backoff.after(0)
            self._metadata.request_update(resets_backoff=False)
        elif code == errors.OffsetOutOfRange.code:
            self._out_of_range(fetch, state, now_ms)
        else:
            tell(self._buffer, state, error(f"{state.place}: {error.message}"))

    def _out_of_range(self, fetch: NodeFetch, state: AssignedPartition, now_ms: int) -> None:
        leader = self._metadata.cluster.leader(*state.place)
        if leader is None or leader.id != fetch.node.id:
            state.forget_preferred()  # the leader alone can tell
        elif state.position != state.fetch_offset:
            state.retry_at_ms = now_ms + self._config.backoff.after(0)  # what is buffered is handed out before it
        elif self._subscriptions.default_reset.is_none:
            tell(self._buffer, state, FetchOffsetOutOfRange({state.place: state.fetch_offset}))
        else:
            logger.info("offset %d of %s is out of range: it is reset", state.fetch_offset, state.place)
            state.request_reset(self._subscriptions.default_reset)

    def _session_failed(self, node: FetchNode, code: int, now_ms: int) -> None:
        """A session that has only ended is begun anew at once; the second time in a row not."""
        if errors.by_code(code).refreshes_metadata or code == errors.FetchSessionTopicIdError.code:
            self._metadata.request_update(resets_backoff=False)
        if node.attempts or code not in SESSION_IS_GONE:
            self._back_off(node, now_ms)
        else:
            node.attempts = 1

    def _back_off(self, node: FetchNode, now_ms: int) -> None:
        node.retry_at_ms = now_ms + self._config.backoff.after(node.attempts)
        node.attempts += 1

    def _node(self, node_id: int) -> FetchNode:
        node = self._nodes.get(node_id)
        if node is None:
            node = self._nodes[node_id] = FetchNode(node_id)
        return node

    def _wake_at(self, at_ms: int) -> None:
        self._deadline_ms = at_ms if self._deadline_ms is None else min(self._deadline_ms, at_ms)
