"""An error in the API's own response shape, wherever a client looks for it.

A rule about a topic or a partition gives the error to those alone: the rest of the request is carried out, and both
halves make one response. This works where the topics stand at the top of the request and have errors of their own in
the response; where they lie deeper or share one error, and where the rule is about no topic at all, the whole request
is refused as its handler would refuse it.

Three APIs need more than that.

- Fetch: from version 7 on a refusal is one error for the session, which clients answer by beginning another. An error
  of a partition belongs to the partition. The session ends with such an answer (session id 0, which every client
  understands), so that no epoch runs away from its other side; partitions without a fault have no news this time.
- Metadata: a response without brokers would cut a client off for good. The topics carry the error, the rest stands.
- OffsetFetch: partitions have errors of their own beside that of their group. Those that are concerned carry it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.handlers.faults import Handle
from odradek.protocol import errors
from odradek.protocol.declare import Struct
from odradek.testing.fault_rule import FaultRule
from odradek.testing.named_partitions import (
    arrays,
    is_of_broker,
    is_of_partitions,
    is_of_topics,
    partition_of,
    topic_of,
)

if TYPE_CHECKING:
    from odradek.handlers.call import AnyCall, BrokerCall
    from odradek.handlers.serves import Refuse
    from odradek.protocol.declare import Request, Response
    from odradek.protocol.messages.k01_fetch import FetchRequest, FetchResponse, PartitionData
    from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataResponse
    from odradek.protocol.messages.k09_offset_fetch import (
        OffsetFetchRequest,
        OffsetFetchResponse,
        OffsetFetchResponseGroup,
    )
    from odradek.replica.fetch_entry import TopicKey

S = TypeVar("S", bound=Struct)

_FETCH, _METADATA, _OFFSET_FETCH = 1, 3, 9
_SESSION_VERSION_MIN = 7
_TOPIC_ID_VERSION_MIN = 13
_OF_SESSIONS = (
    errors.FetchSessionIdNotFound,
    errors.InvalidFetchSessionEpoch,
    errors.FetchSessionTopicIdError,
)


class ErrorAnswer:
    """Stands in for a handler; see `handlers/faults.py`."""

    __slots__ = ("_error", "_rule")

    def __init__(self, rule: FaultRule, error: errors.KafkaError) -> None:
        self._rule = rule
        self._error = error

    async def __call__(self, call: "AnyCall", request: Any, handle: Handle, refuse: "Refuse") -> "Response":
        """Any: which class the request is of, the API key tells."""
        if call.key == _FETCH and is_of_broker(call) and not isinstance(self._error, _OF_SESSIONS):
            return self._fetch(call, request)
        if call.key == _METADATA:
            return await self._metadata(call, request, handle)
        if call.key == _OFFSET_FETCH and self._rule.is_selective:
            return await self._offset_fetch(call, request, handle)
        halves = self._split(call, request) if self._rule.is_selective else None
        if halves is not None:
            concerned, rest = halves
            refused = refuse(concerned, self._error, call.version)
            if not getattr(refused, "error_code", errors.NONE):  # else the error is that of the whole
                response: Response = await handle(rest)
                merge(response, refused)
                return response
        return refuse(request, self._error, call.version)

    # A request in two

    def _split(self, call: "AnyCall", request: "Request") -> "tuple[Request, Request] | None":
        """What the rule is about, and the rest; None if there is no rest."""
        concerned, rest = copied(request, call.version), copied(request, call.version)
        has_rest = False
        for field, topics in arrays(request):
            if is_of_topics(field):
                pairs = [self._split_topic(call, topic) for topic in topics]
                setattr(concerned, field.name, [ours for ours, _ in pairs if ours is not None])
                left = [other for _, other in pairs if other is not None]
                setattr(rest, field.name, left)
                has_rest = has_rest or bool(left)
        return (concerned, rest) if has_rest else None

    def _split_topic(self, call: "AnyCall", topic: Struct | str) -> tuple[Struct | str | None, Struct | str | None]:
        name = topic_of(call, topic)
        if self._rule.concerns(name):
            return topic, None
        if self._rule.partition is None or self._rule.topic not in (None, name):
            return None, topic
        return (None, topic) if isinstance(topic, str) else self._split_partitions(call, topic)

    def _split_partitions(self, call: "AnyCall", topic: Struct) -> tuple[Struct | None, Struct | None]:
        for field, partitions in arrays(topic):
            if is_of_partitions(field):
                ours = [each for each in partitions if partition_of(each) == self._rule.partition]
                others = [each for each in partitions if partition_of(each) != self._rule.partition]
                return _with(topic, call.version, field.name, ours), _with(topic, call.version, field.name, others)
        return None, topic

    # Fetch

    def _fetch(self, call: "BrokerCall", request: "FetchRequest") -> "FetchResponse":
        from odradek.protocol.messages.k01_fetch import FetchableTopicResponse, FetchResponse

        response = FetchResponse(session_id=0)
        for key, indexes in _fetched(call, request):
            is_name = isinstance(key, str)
            name = key if isinstance(key, str) else call.services.metadata.topic_name(bytes(key))
            topic = FetchableTopicResponse(topic=key) if is_name else FetchableTopicResponse(topic_id=key)
            topic.partitions = [self._fetched_partition(call, name, index) for index in indexes]
            response.responses.append(topic)
        return response

    def _fetched_partition(self, call: "BrokerCall", topic: str | None, index: int) -> "PartitionData":
        from odradek.replica.fetch.partition_data import not_here

        data = not_here(index, self._error)
        if not self._rule.concerns(topic, index):
            data.error_code = errors.NONE
            partition = None if topic is None else call.services.replicas.partition(topic, index)
            log = None if partition is None else partition.log
            data.high_watermark = -1 if log is None else log.high_watermark
        return data

    # Metadata

    async def _metadata(self, call: "AnyCall", request: "MetadataRequest", handle: Handle) -> "MetadataResponse":
        from odradek.protocol.messages.k03_metadata import MetadataResponseTopic

        looking = copied(request, call.version)
        looking.allow_auto_topic_creation = False
        response: MetadataResponse = await handle(looking)
        response.topics = [
            MetadataResponseTopic(error_code=self._error.code, name=topic.name, topic_id=topic.topic_id)
            if self._rule.concerns(topic.name)
            else topic
            for topic in response.topics
        ]
        if isinstance(self._error, errors.RebootstrapRequired):
            response.error_code = self._error.code  # the one error that is about the whole answer
        return response

    # OffsetFetch

    async def _offset_fetch(
        self, call: "AnyCall", request: "OffsetFetchRequest", handle: Handle
    ) -> "OffsetFetchResponse":
        response: OffsetFetchResponse = await handle(request)
        answers: list[OffsetFetchResponse | OffsetFetchResponseGroup] = [response, *response.groups]
        for answer in answers:
            for topic in answer.topics:
                name = topic_of(call, topic)
                for partition in topic.partitions:
                    if self._rule.concerns(name, partition.partition_index):
                        partition.error_code = self._error.code
                        partition.committed_offset = partition.committed_leader_epoch = -1
                        partition.metadata = ""
        return response


def _fetched(call: "BrokerCall", request: "FetchRequest") -> "Iterator[tuple[TopicKey, list[int]]]":
    """The partitions that a fetch is about, by the topic's id or name; its session, if it has one, ends."""
    sessions = call.services.replicas.sessions
    session = sessions.get(request.session_id) if call.version >= _SESSION_VERSION_MIN else None
    if session is not None and request.session_epoch > 0:
        session.update(request)
        for key, partitions in session.topics.items():
            yield key, list(partitions)
    else:
        for topic in request.topics:
            key = topic.topic_id if call.version >= _TOPIC_ID_VERSION_MIN else topic.topic
            yield key, [asked.partition for asked in topic.partitions]
    if session is not None:
        sessions.remove(session)


def copied(struct: S, version: int) -> S:
    """Another struct with the same values, as far as the version has them."""
    carried = [field.name for field in type(struct).fields if field.in_version(version)]
    return type(struct)(**{name: getattr(struct, name) for name in carried})


def _with(struct: Struct, version: int, name: str, value: list[object]) -> Struct | None:
    """A copy with another array; None if that is empty."""
    if not value:
        return None
    other = copied(struct, version)
    setattr(other, name, value)
    return other


def merge(into: Struct, other: Struct) -> None:
    """Adds what the arrays of the one hold to those of the other; a topic that both have is one afterwards."""
    for field, elements in arrays(other):
        merged = list(getattr(into, field.name) or ())
        by_topic = {_topic_key(element): element for element in merged}
        for element in elements:
            same = by_topic.get(_topic_key(element))
            if same is not None:
                merge(same, element)
            else:
                merged.append(element)
        setattr(into, field.name, merged)


def _topic_key(element: object) -> object:
    key = tuple(getattr(element, name, None) for name in ("name", "topic", "topic_id"))
    return key if any(key) else object()  # what is no topic is like nothing else
