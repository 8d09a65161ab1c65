"""Produce, versions 0-13: one batch per partition, appended by its leader.

     1  throttle time          2  log append time        3  batches of magic 2, one per partition, transactional id
     4  KAFKA_STORAGE_ERROR    5  log start offset       6  a throttled answer is sent at once (KIP-219)
     7  zstd                   8  errors of single records, with messages            9  flexible
    10  hints at the current leader                     11  TRANSACTION_ABORTABLE may be answered
    12  the leader adds the partition to the transaction                            13  topic ids

Who may: WRITE on each topic; WRITE on the transactional id if there are transactional records. With acks=0 there is no
answer, and an error closes the connection: it is all that a client would notice. Internal topics are for the
coordinators, and for Kafka's own admin tools by their client id.

A write counts as failed, for its topic and in all, if the log has refused it for a reason that does not come with
moving leaders and careless clients (`_EXPECTED`).

| what is wrong | error |
|---|---|
| acks is none of -1, 0, 1 | INVALID_REQUIRED_ACKS for every partition that could be written |
| not one batch of magic 2 (version 3 on); zstd before 7 | INVALID_RECORD; UNSUPPORTED_COMPRESSION_TYPE |
| a batch of unknown magic or impossible length | CORRUPT_MESSAGE for every partition |
| no such topic, by name or by id | UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID |
| the partition is led elsewhere | NOT_LEADER_OR_FOLLOWER |
| an internal topic | INVALID_TOPIC_EXCEPTION |
| too few replicas in sync, before or after the append | NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND |
| transactional records, and no transactional id or no right to it | TRANSACTIONAL_ID_AUTHORIZATION_FAILED for all |
| transactional records, partition not in the transaction | INVALID_TXN_STATE, from 11 TRANSACTION_ABORTABLE (4.3) |
| transactional records of a producer that was replaced | INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING |
| the last transaction is still being ended | CONCURRENT_TRANSACTIONS from 12, before NOT_ENOUGH_REPLICAS |
| the records themselves | see records/check.py; sequences: log/producers/producer_state.py |
| not replicated in time | REQUEST_TIMED_OUT |
"""

from collections.abc import Callable
from typing import TypeVar

from odradek.handlers.call import BrokerCall
from odradek.handlers.leader_hints import LeaderHints
from odradek.handlers.produce_request import (
    TOPIC_ID_VERSION_MIN,
    Records,
    check_readable,
    is_early,
    is_transactional,
    without_repeats,
)
from odradek.handlers.serves import serves
from odradek.log.append import AppendInfo
from odradek.protocol import errors
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.k00_produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.reactor.pending import Pending
from odradek.records.check import check_request
from odradek.records.layout import ATTRIBUTES_OFFSET, HEADER_SIZE
from odradek.replica.delayed import all_of
from odradek.replica.fetch_entry import TopicKey
from odradek.replica.partition import Partition
from odradek.replica.produce import ProduceParameters, append_at_once, check_and_append
from odradek.replica.transactions import append_verified, check_transaction
from odradek.security.acl import TOPIC, TRANSACTIONAL_ID, WRITE

A = TypeVar("A", ProduceResponse | None, ProduceResponse | Pending[ProduceResponse | None] | None)

NO_OFFSET = -1
HINT_VERSION_MIN = 10
ALLOWED_ACKS = (-1, 0, 1)
_ACKNOWLEDGED = (1, -1)
_ADMIN_CLIENT_ID = "__admin_client"

_blank = object.__new__  # a struct without values, as its constructor would make it in twice the time

# Kafka tells the log start offset with every error but these, which come before it has looked at the log.
_WITHOUT_LOG_START = (
    errors.UnknownTopicOrPartition,
    errors.NotLeaderOrFollower,
    errors.MessageTooLarge,
    errors.RecordListTooLarge,
    errors.CorruptMessage,
    errors.InvalidRequiredAcks,
    errors.KafkaStorageError,
)

# What is refused for these reasons is no failure that an operator has to look into, or was not refused by the log.
_EXPECTED = (
    errors.UnknownTopicOrPartition,
    errors.UnknownTopicId,
    errors.NotLeaderOrFollower,
    errors.MessageTooLarge,
    errors.RecordListTooLarge,
    errors.CorruptMessage,
    errors.KafkaStorageError,
    errors.InvalidRequiredAcks,
    errors.TopicAuthorizationFailed,
    errors.RequestTimedOut,
    errors.NotEnoughReplicasAfterAppend,
)


def refuse(request: ProduceRequest, error: errors.KafkaError, version: int) -> ProduceResponse:
    """One error for every partition; with acks=0 there is nobody to tell."""
    if request.acks == 0:
        raise PeerProtocolError(f"a Produce request without acks has failed: {error}", 0)
    message = error.message if error.message != type(error).message else None
    answers = []
    for topic in request.topic_data:
        answer = _topic_answer(topic, version)
        for data in topic.partition_data:
            partition = PartitionProduceResponse(index=data.index, base_offset=NO_OFFSET, error_code=error.code)
            partition.error_message = message
            answer.partition_responses.append(partition)
        answers.append(answer)
    return ProduceResponse(responses=answers)


@serves(ProduceRequest, versions="0-13", refuse=refuse, counts_errors=True)
def produce(call: BrokerCall, request: ProduceRequest) -> ProduceResponse | Pending[ProduceResponse | None] | None:
    topics = request.topic_data
    if len(topics) == 1:
        topic = topics[0]
        if len(topic.partition_data) == 1 and (answer := _produce_one(call, request, topic)) is not None:
            return answer
    return _counted(call, _produce_many(call, request, _Production))


def _produce_one(
    call: BrokerCall, request: ProduceRequest, topic: TopicProduceData
) -> ProduceResponse | Pending[ProduceResponse | None] | None:
    """Nearly every request is for one partition, and nothing is unusual about it. None if something is: then nothing
    has happened yet, nobody was asked for a right, and `_produce_many` tells what.

    It takes the steps of `_produce_many` in the same order, as far as one can fail: may the caller write, is the
    partition here, are the records right. A property test holds both equal.
    """
    services = call.services
    replicas = services.replicas
    data = topic.partition_data[0]
    records = data.records
    uses_id = call.version >= TOPIC_ID_VERSION_MIN
    hosted = replicas.by_id.get(topic.topic_id) if uses_id else replicas.topics.get(topic.name)
    if hosted is None or hosted.is_internal or request.acks not in _ACKNOWLEDGED:
        return None
    partition = hosted.partitions.get(data.index)
    if partition is None or type(records) is not memoryview or len(records) < HEADER_SIZE:
        return None
    if records[ATTRIBUTES_OFFSET + 1]:
        return None  # compressed, or of a transaction
    response, answer = _blank(ProduceResponse), _blank(PartitionProduceResponse)
    answer.index = data.index
    told = _blank(TopicProduceResponse)
    if uses_id:
        told.topic_id = topic.topic_id
    else:
        told.name = topic.name
    told.partition_responses = [answer]
    response.responses = [told]
    if services.authorizer is not None and not call.authorize(WRITE, TOPIC, hosted.name):
        refusal = errors.TopicAuthorizationFailed()
        return _counted(call, _Production(call, request).finish_failed(response, answer, refusal, None))
    try:
        info = append_at_once(replicas, partition, records, services.clock.wall_ms(), request)
    except errors.KafkaError as error:
        return _counted(call, _Production(call, request).finish_failed(response, answer, error, partition))
    if isinstance(info, AppendInfo):
        answer.base_offset = info.first_offset
        answer.log_append_time_ms = info.log_append_time
        answer.log_start_offset = info.log_start_offset
        if services.quotas is not None:
            response.throttle_time_ms = call.throttle_ms
        services.error_counts.produced += 1
        return response
    if info is None:
        return _counted(call, _produce_many(call, request, _AllowedProduction))
    return _Production(call, request).wait_for(info, response, answer, partition)


def _produce_many(
    call: BrokerCall, request: ProduceRequest, make: "type[_Production]"
) -> ProduceResponse | Pending[ProduceResponse | None] | None:
    topics = request.topic_data
    _check_transactional_id(call, request)
    if len(topics) > 1 or (topics and len(topics[0].partition_data) > 1):
        topics = without_repeats(topics, call.version)
        check_readable(topics, call.version)
    production = make(call, request)
    response = ProduceResponse(responses=[production.append_topic(topic) for topic in topics])
    if production.waits:
        return call.services.loop.spawn(production.finish_later(response))
    return production.finish(response)


def _counted(call: BrokerCall, answer: A) -> A:
    if type(answer) is ProduceResponse:
        call.services.error_counts.counter(call.key, ProduceResponse, call.version)(answer)
    return answer


class _Production(ProduceParameters):
    """A request under way: what its partitions have in common, and what is needed only if one of them fails or waits.

    It sets the fields of `ProduceParameters` itself: that saves a call for each request.
    """

    __slots__ = ("_call", "_hints", "_replicas", "_request", "has_failed", "waits")

    def __init__(self, call: BrokerCall, request: ProduceRequest) -> None:
        self.acks = request.acks
        self.timeout_ms = request.timeout_ms
        self.version = call.version
        self.now_ms = call.services.clock.wall_ms()
        self._call = call
        self._replicas = call.services.replicas
        self._request = request
        self._hints: LeaderHints | None = None
        self.waits: list[tuple[Pending[AppendInfo], PartitionProduceResponse, Partition]] = []
        self.has_failed = False

    def append_topic(self, topic: TopicProduceData) -> TopicProduceResponse:
        answer = _blank(TopicProduceResponse)
        key: TopicKey
        if self.version >= TOPIC_ID_VERSION_MIN:
            key = answer.topic_id = topic.topic_id
        else:
            key = answer.name = topic.name
        answer.partition_responses = [self._append(key, data) for data in topic.partition_data]
        return answer

    def _append(self, key: TopicKey, data: PartitionProduceData) -> PartitionProduceResponse:
        answer = _blank(PartitionProduceResponse)
        answer.index = data.index
        records: Records = data.records
        partition: Partition | None = None
        try:
            if self._call.services.authorizer is not None:
                self._check_allowed(key)
            partition = self._replicas.resolve(key, data.index)
            if self.acks not in ALLOWED_ACKS:
                check_request(records, self.version)
                raise errors.InvalidRequiredAcks
            if partition.topic.is_internal and self._call.client_id != _ADMIN_CLIENT_ID:
                partition.topic.produces.count += 1
                raise errors.InvalidTopicException(f"{partition.topic.name} is written by the coordinators alone.")
            if is_transactional(records) and check_transaction(self._replicas, partition, records, self.version):
                self.waits.append((self._verified(partition, records), answer, partition))
                return answer
            info = check_and_append(self._replicas, partition, records, self)
        except errors.KafkaError as error:
            self._failed(answer, error, partition, key, records)
            return answer
        if type(info) is AppendInfo:
            answer.base_offset = info.first_offset
            answer.log_append_time_ms = info.log_append_time
            answer.log_start_offset = info.log_start_offset
        else:
            self.waits.append((info, answer, partition))  # type: ignore[arg-type]
        return answer

    def _check_allowed(self, key: TopicKey) -> None:
        """Before anything is looked up: whoever may not write does not learn whether the topic exists."""
        name = self._replicas.topic_name(key)
        if name is not None and not self._call.authorize(WRITE, TOPIC, name):
            raise errors.TopicAuthorizationFailed

    def _verified(self, partition: Partition, records: Records) -> Pending[AppendInfo]:
        """The records are copied: they are appended when the coordinator has answered."""
        transactional_id = self._request.transactional_id or ""
        return append_verified(self._replicas, partition, bytearray(records), transactional_id, self)

    def _failed(
        self,
        answer: PartitionProduceResponse,
        error: errors.KafkaError,
        partition: Partition | None,
        key: TopicKey,
        records: Records = None,
    ) -> None:
        was_early = is_early(error, records, self._call.version)
        if was_early and isinstance(error, errors.CorruptMessage):
            raise error  # Kafka fails the whole request over it
        self.has_failed = True
        if partition is not None and not was_early and not isinstance(error, _EXPECTED):
            self._replicas.metrics.failed_produces.count += 1
            partition.topic.counters.failed_produces.count += 1
        answer.error_code = error.code
        answer.base_offset = NO_OFFSET
        log = None if partition is None else partition.log
        if log is not None and not isinstance(error, _WITHOUT_LOG_START) and not was_early:
            answer.log_start_offset = log.log_start_offset
        culprits = getattr(error, "record_errors", None)
        if culprits is not None:
            answer.error_message = error.message
            answer.record_errors = [
                BatchIndexAndErrorMessage(batch_index=each.batch_index, batch_index_error_message=each.message)
                for each in culprits
            ]
        elif isinstance(error, errors.InvalidTxnState):
            answer.error_message = error.message
        if isinstance(error, errors.NotLeaderOrFollower) and self._call.version >= HINT_VERSION_MIN:
            self._hint(answer, key)

    def _hint(self, answer: PartitionProduceResponse, key: TopicKey) -> None:
        if self._hints is None:
            self._hints = LeaderHints(self._call)
        leader_id, leader_epoch = self._hints.leader_of(key, answer.index)
        answer.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)

    def finish_failed(
        self,
        response: ProduceResponse,
        answer: PartitionProduceResponse,
        error: errors.KafkaError,
        partition: Partition | None,
    ) -> ProduceResponse | None:
        """The records of the only partition were not taken: by the log, or, if it is None, before that was asked."""
        self._failed(answer, error, partition, "" if partition is None else partition.topic.name)
        return self.finish(response)

    def wait_for(
        self,
        info: Pending[AppendInfo],
        response: ProduceResponse,
        answer: PartitionProduceResponse,
        partition: Partition,
    ) -> Pending[ProduceResponse | None]:
        """The log has taken the records of the only partition; that is not yet enough."""
        self.waits.append((info, answer, partition))
        return self._call.services.loop.spawn(self.finish_later(response))

    async def finish_later(self, response: ProduceResponse) -> ProduceResponse | None:
        """The records are in the log, or copied: a request that waits would keep the whole frame in memory."""
        for topic in self._request.topic_data:
            for data in topic.partition_data:
                data.records = None
        await all_of([(pending, self._teller(answer, partition)) for pending, answer, partition in self.waits])
        return self.finish(response)

    def _teller(
        self, answer: PartitionProduceResponse, partition: Partition
    ) -> Callable[[AppendInfo | None, errors.KafkaError | None], None]:
        def tell(info: AppendInfo | None, error: errors.KafkaError | None) -> None:
            if error is not None:
                self._failed(answer, error, partition, partition.topic.name)
            elif info is not None:
                answer.base_offset = info.first_offset
                answer.log_append_time_ms = info.log_append_time
                answer.log_start_offset = info.log_start_offset

        return tell

    def finish(self, response: ProduceResponse) -> ProduceResponse | None:
        if self._request.acks == 0:
            if self.has_failed:
                raise PeerProtocolError("a Produce request without acks has failed", 0)
            return None
        if self._hints is not None:
            response.node_endpoints = [
                NodeEndpoint(node_id=node, host=host, port=port, rack=rack)
                for node, host, port, rack in self._hints.endpoints()
            ]
        if self._call.services.quotas is not None:
            response.throttle_time_ms = self._call.throttle_ms
        return response


class _AllowedProduction(_Production):
    """One whose sender was found to have the right to write, so that nobody asks for it again."""

    __slots__ = ()

    def _check_allowed(self, key: TopicKey) -> None:
        """Nothing is left to be checked."""


def _check_transactional_id(call: BrokerCall, request: ProduceRequest) -> None:
    """Before anything else: who may not use the transactional id has none of the request carried out."""
    if any(is_transactional(data.records) for topic in request.topic_data for data in topic.partition_data):
        transactional_id = request.transactional_id
        if transactional_id is None or not call.authorize(WRITE, TRANSACTIONAL_ID, transactional_id):
            raise errors.TransactionalIdAuthorizationFailed


def _topic_answer(topic: TopicProduceData, version: int) -> TopicProduceResponse:
    answer = TopicProduceResponse(partition_responses=[])
    if version >= TOPIC_ID_VERSION_MIN:
        answer.topic_id = topic.topic_id
    else:
        answer.name = topic.name
    return answer
