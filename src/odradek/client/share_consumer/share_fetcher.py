"""What a share consumer asks of the brokers that lead its partitions: to acquire records, and to take note of what
became of those before. A core (`channel/core.py`), driven by `channel/driver.py`.

Nothing is fetched ahead: the lock of a record runs from when it was acquired. A fetch goes out while a poll waits
(`is_wanted`), to every broker that leads something, one request at a time each; with share.acquire.mode=record_limit to
one broker at a time, so that no more is acquired than a poll returns.

Acknowledgements go to the broker that the records came from: with the next fetch if one is due, else by themselves, and
by themselves if they renew locks. They wait while a request is in flight. A session that is lost takes with it what was
acquired in it: whatever waits to be acknowledged there has failed. Each is told to `on_outcome`, once.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from odradek.broken_rule import instance
from odradek.channel.core import ByVersion, Send, fetches_of
from odradek.channel.metadata import Metadata
from odradek.client.core import Backoff
from odradek.client.share_consumer.acknowledgement import Acknowledged, Source
from odradek.client.share_consumer.share_chunk import AcquiredRange, Reading, ShareChunk
from odradek.client.share_consumer.share_fetch_session import ShareFetchSession, ShareStep
from odradek.client.share_consumer.share_requests import Said, acknowledge_request, fetch_request
from odradek.protocol import errors
from odradek.protocol.declare import Response
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages import k78_share_fetch as fetched
from odradek.protocol.messages.k78_share_fetch import ShareFetchRequest, ShareFetchResponse
from odradek.protocol.messages.k79_share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from odradek.protocol.topic_partition import TopicIdPartition, TopicPartition

FETCH, ACKNOWLEDGE, END = "fetch", "acknowledge", "end"

SESSION_OVER = "The share session in which the records were acquired has ended: they are delivered again."


class ShareFetchConfig(NamedTuple):
    group_id: str
    records_max: int = 500
    is_record_limit: bool = False
    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 52_428_800


class NodeRequest:
    """One request, until it is answered."""

    __slots__ = ("acknowledged", "kind", "node", "said", "step")

    def __init__(self, node: "ShareNode", kind: str, step: ShareStep, acknowledged: list[Acknowledged]) -> None:
        self.node = node
        self.kind = kind
        self.step = step
        self.acknowledged = acknowledged
        self.said: Said = {}
        for each in acknowledged:
            self.said.setdefault(each.source.topic_id_partition, {}).update(each.types)

    @property
    def is_renewal(self) -> bool:
        return any(each.has_renewals for each in self.acknowledged)


class ShareNode:
    """What this client has to do with one broker."""

    __slots__ = ("attempts", "id", "in_flight", "places", "retry_at_ms", "session", "waiting")

    def __init__(self, node_id: int) -> None:
        self.id = node_id
        self.session = ShareFetchSession()
        self.in_flight: NodeRequest | None = None
        self.waiting: deque[Acknowledged] = deque()  # to be sent
        self.places: dict[TopicIdPartition, TopicPartition] = {}  # that were asked for, by the last fetch
        self.attempts = 0
        self.retry_at_ms = 0

    def take_waiting(self) -> list[Acknowledged]:
        """Those that fit one request: of each offset one thing is said."""
        taken: list[Acknowledged] = []
        left: deque[Acknowledged] = deque()
        seen: set[tuple[TopicIdPartition, int]] = set()
        for each in self.waiting:
            offsets = {(each.source.topic_id_partition, offset) for offset in each.types}
            (left if offsets & seen else taken).append(each)
            seen |= offsets
        self.waiting = left
        return taken


class ShareFetcher:
    def __init__(
        self,
        config: ShareFetchConfig,
        member_id: str,
        metadata: Metadata,
        backoff: Backoff,
        reading: Reading,
        *,
        on_chunk: Callable[[ShareChunk], object],
        on_outcome: Callable[[Acknowledged], object],
        on_error: Callable[[KafkaError], object],
    ) -> None:
        """`on_error` gets what the program is to be told."""
        self.assigned: Mapping[TopicIdPartition, TopicPartition] = {}
        self.is_wanted = False
        self.lock_timeout_ms: int | None = None
        self.fetches = self.acknowledgements_sent = self.acknowledgements_failed = 0
        self._config = config
        self._member_id = member_id
        self._metadata = metadata
        self._backoff = backoff
        self._reading = reading
        self._on_chunk = on_chunk
        self._on_outcome = on_outcome
        self._on_error = on_error
        self._nodes: dict[int, ShareNode] = {}
        self._why: KafkaError | None = None  # what the driver has told of the request that fails next
        self._deadline_ms: int | None = None
        self._turns = 0
        self._is_closing = False

    # What its user tells

    def acknowledge(self, acknowledged: Acknowledged) -> None:
        self._node(acknowledged.source.node_id).waiting.append(acknowledged)

    def close(self) -> None:
        """Sessions end with what is acknowledged; `is_closed` when the brokers have heard of it, or never will."""
        self._is_closing = True

    @property
    def is_closed(self) -> bool:
        return self._is_closing and not any(self._is_open(node) for node in self._nodes.values())

    def give_up(self, error: KafkaError) -> None:
        """Nobody waits any longer: what has no outcome yet has this one."""
        for node in self._nodes.values():
            in_flight = node.in_flight.acknowledged if node.in_flight is not None else []
            for each in [*in_flight, *node.waiting]:
                self._told(each, error)
            node.waiting.clear()

    def failing(self, error: KafkaError) -> None:
        """Why the request failed of which `failed` tells next."""
        self._why = error

    # The shape of a core

    def poll(self, now_ms: int) -> list[Send]:
        self._deadline_ms = None
        placed = self._placed(now_ms) if self.is_wanted and not self._is_closing else {}
        for node_id in placed:
            self._node(node_id)
        return [send for node in self._in_turn() if (send := self._next(node, placed, now_ms)) is not None]

    def deadline(self) -> int | None:
        return self._deadline_ms

    def answered(self, token: object, response: Response, now_ms: int) -> None:
        request = instance(token, NodeRequest, "a fetcher's token is its request")
        node = request.node
        node.in_flight = None
        if isinstance(response, ShareFetchResponse):
            self._fetched(request, response, now_ms)
        else:
            self._acknowledged(request, instance(response, ShareAcknowledgeResponse, "it is the other one"), now_ms)

    def failed(self, token: object, now_ms: int) -> None:
        """The broker ends a session with its connection: what was acquired is somebody else's soon."""
        request = instance(token, NodeRequest, "a fetcher's token is its request")
        error, self._why = self._why or errors.NetworkException(), None
        request.node.in_flight = None
        self._lose_session(request, error, now_ms)
        self._metadata.request_update(resets_backoff=False)

    # Requests

    def _placed(self, now_ms: int) -> dict[int, dict[TopicIdPartition, TopicPartition]]:
        """The partitions by the node that leads them. One without a leader is looked for."""
        found: dict[int, dict[TopicIdPartition, TopicPartition]] = {}
        for place, named in self.assigned.items():
            leader = self._metadata.cluster.leader(*named)
            if leader is not None:
                found.setdefault(leader.id, {})[place] = named
            else:
                self._metadata.request_update(resets_backoff=False)
                self._wake_at(now_ms + self._backoff.after(0))
        return found

    def _in_turn(self) -> list[ShareNode]:
        """Another one is first each time: with record_limit only one is asked."""
        nodes = list(self._nodes.values())
        at = self._turns % len(nodes) if nodes else 0
        return nodes[at:] + nodes[:at]

    def _next(
        self, node: ShareNode, placed: Mapping[int, dict[TopicIdPartition, TopicPartition]], now_ms: int
    ) -> Send | None:
        if node.in_flight is not None:
            return None
        if not node.session.is_open:
            self._fail_waiting(node, errors.ShareSessionNotFound(SESSION_OVER))
        if self._is_closing:
            return self._send(node, END, node.session.end(), node.take_waiting()) if node.session.is_open else None
        if now_ms < node.retry_at_ms:
            self._wake_at(node.retry_at_ms)
            return None
        acknowledged = node.take_waiting()
        if self._may_fetch(node, placed) and not any(each.has_renewals for each in acknowledged):
            self._turns += 1
            node.places = placed.get(node.id, {})
            places = {each.source.topic_id_partition for each in acknowledged}
            return self._send(node, FETCH, node.session.fetch(node.places, places), acknowledged)
        if acknowledged:
            return self._send(node, ACKNOWLEDGE, node.session.acknowledge(), acknowledged)
        return None

    def _may_fetch(self, node: ShareNode, placed: Mapping[int, object]) -> bool:
        if not self.is_wanted or (node.id not in placed and not node.session.known):
            return False
        is_fetching = any(each.in_flight and each.in_flight.kind == FETCH for each in self._nodes.values())
        return not (self._config.is_record_limit and is_fetching)

    def _send(self, node: ShareNode, kind: str, step: ShareStep, acknowledged: list[Acknowledged]) -> Send:
        request = node.in_flight = NodeRequest(node, kind, step, acknowledged)
        group_id, member_id = self._config.group_id, self._member_id
        self.acknowledgements_sent += sum(len(each.offsets) for each in acknowledged)
        if kind == FETCH:
            self.fetches += 1
            # What is only given up waits for nothing.
            wait_ms = self._config.max_wait_ms if node.places else 0
            built = fetch_request(self._config, member_id, step, request.said, wait_ms)
            api_key = ShareFetchRequest.api_key
            return Send(ByVersion(api_key, lambda _: built), None, fetches_of(node.id), request)
        asked = acknowledge_request(group_id, member_id, step.epoch, request.said, is_renewal=request.is_renewal)
        return Send(ByVersion(ShareAcknowledgeRequest.api_key, lambda _: asked), None, fetches_of(node.id), request)

    # Answers

    def _fetched(self, request: NodeRequest, response: ShareFetchResponse, now_ms: int) -> None:
        node = request.node
        if response.error_code:
            self._lose_session(request, _error(response.error_code, response.error_message), now_ms)
            return
        node.session.went_well()
        node.attempts = 0
        self.lock_timeout_ms = response.acquisition_lock_timeout_ms or self.lock_timeout_ms
        outcomes: dict[TopicIdPartition, KafkaError | None] = {}
        for topic in response.responses:
            for data in topic.partitions:
                place = (bytes(topic.topic_id), data.partition_index)
                outcomes[place] = _error_or_none(data.acknowledge_error_code, data.acknowledge_error_message)
                self._take_over(node, place, data, now_ms)
        self._tell(request, outcomes, now_ms)

    def _take_over(self, node: ShareNode, place: TopicIdPartition, data: "fetched.PartitionData", now_ms: int) -> None:
        if data.error_code:
            self._refused(node, place, _error(data.error_code, data.error_message), now_ms)
        named = node.places.get(place) or self.assigned.get(place)
        acquired = [
            AcquiredRange(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records
        ]
        if acquired and named is not None and isinstance(data.records, (bytes, bytearray, memoryview)):
            self.is_wanted = False  # the poll that waits has something; the next one asks again
            self._on_chunk(ShareChunk(Source(node.id, place[0], named), acquired, data.records, self._reading))

    def _refused(self, node: ShareNode, place: TopicIdPartition, error: KafkaError, now_ms: int) -> None:
        """A partition: it is asked for again, perhaps elsewhere."""
        node.session.forget(place)
        self._back_off(node, now_ms)
        if error.refreshes_metadata or isinstance(error, (errors.UnknownTopicId, errors.FencedLeaderEpoch)):
            self._metadata.request_update(resets_backoff=False)
        elif not error.retriable:
            named = node.places.get(place)
            self._on_error(type(error)(f"{named}: {error.message}") if named is not None else error)

    def _acknowledged(self, request: NodeRequest, response: ShareAcknowledgeResponse, now_ms: int) -> None:
        if response.error_code:
            self._lose_session(request, _error(response.error_code, response.error_message), now_ms)
            return
        if request.kind != END:
            request.node.session.went_well()
        self.lock_timeout_ms = response.acquisition_lock_timeout_ms or self.lock_timeout_ms
        outcomes = {
            (bytes(topic.topic_id), data.partition_index): _error_or_none(data.error_code, data.error_message)
            for topic in response.responses
            for data in topic.partitions
        }
        self._tell(request, outcomes, now_ms)

    def _tell(self, request: NodeRequest, outcomes: Mapping[TopicIdPartition, KafkaError | None], now_ms: int) -> None:
        """What a broker does not speak of was not done."""
        unheard = errors.InvalidRecordState("The broker did not tell what became of the acknowledgement.")
        for each in request.acknowledged:
            self._outcome(each, outcomes.get(each.source.topic_id_partition, unheard), now_ms)

    # What goes wrong

    def _lose_session(self, request: NodeRequest, error: KafkaError, now_ms: int) -> None:
        node = request.node
        node.session.reset()
        for each in request.acknowledged:
            self._told(each, error)
        self._fail_waiting(node, error)
        if request.kind != END:
            self._back_off(node, now_ms)
            if not error.retriable:
                self._on_error(error)

    def _fail_waiting(self, node: ShareNode, error: KafkaError) -> None:
        while node.waiting:
            self._told(node.waiting.popleft(), error)

    def _outcome(self, acknowledged: Acknowledged, error: KafkaError | None, now_ms: int) -> None:
        """Who waits for it has it tried again, if that can help."""
        passes = error is not None and error.retriable and not error.refreshes_metadata
        if passes and now_ms < acknowledged.retry_until_ms and not self._is_closing:
            node = self._node(acknowledged.source.node_id)
            node.waiting.append(acknowledged)
            self._back_off(node, now_ms)
        else:
            self._told(acknowledged, error)

    def _told(self, acknowledged: Acknowledged, error: KafkaError | None) -> None:
        if not acknowledged.is_done:
            self.acknowledgements_failed += len(acknowledged.offsets) if error is not None else 0
            acknowledged.done(error)
            self._on_outcome(acknowledged)

    def _back_off(self, node: ShareNode, now_ms: int) -> None:
        node.attempts += 1
        node.retry_at_ms = now_ms + self._backoff.after(node.attempts)

    # Small things

    def _node(self, node_id: int) -> ShareNode:
        found = self._nodes.get(node_id)
        if found is None:
            found = self._nodes[node_id] = ShareNode(node_id)
        return found

    @staticmethod
    def _is_open(node: ShareNode) -> bool:
        return node.session.is_open or node.in_flight is not None

    def _wake_at(self, time_ms: int) -> None:
        self._deadline_ms = time_ms if self._deadline_ms is None else min(self._deadline_ms, time_ms)


def _error(code: int, message: str | None) -> KafkaError:
    return errors.by_code(code)(message)


def _error_or_none(code: int, message: str | None) -> KafkaError | None:
    return _error(code, message) if code else None
