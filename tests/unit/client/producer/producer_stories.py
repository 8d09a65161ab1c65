"""A producer whose requests a test answers by hand, one after the other."""

from odradek.client.core import Backoff
from odradek.client.producer.produce_request import BatchesRequest
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.protocol.messages.k00_produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.protocol.messages.k10_find_coordinator import Coordinator, FindCoordinatorResponse
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdResponse
from odradek.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from odradek.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnResponse
from odradek.protocol.messages.k26_end_txn import EndTxnResponse
from odradek.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.batch import sole_batch
from sender_core import SenderCore

BACKOFF_MS = 100
DELIVERY_MS = 10_000


class Producer:
    """`sent` has what is out and not answered, in the order in which it went."""

    def __init__(self, transactional_id=None, version=2):
        self.now_ms = 1000
        self.manager = TransactionManager(
            transactional_id, transaction_version=version, backoff=Backoff(BACKOFF_MS, 1000)
        )
        self.sender = SenderCore(
            self.manager,
            {"t": 10},
            request_timeout_ms=30_000,
            delivery_timeout_ms=DELIVERY_MS,
            backoff=Backoff(BACKOFF_MS, 1000),
        )
        self.sent = []
        self.offset = 0

    @property
    def state(self):
        return self.manager.state

    def poll(self):
        """The names of what goes out now."""
        new = [send._replace(request=decoded(send.request, send.version)) for send in self.sender.poll(self.now_ms)]
        self.manager.sequencer.validate()
        self.sent += new
        return [name_of(send.request) for send in new]

    def pass_ms(self, milliseconds):
        self.now_ms += milliseconds
        return self.poll()

    def wait(self):
        """Until the time at which the core wants to be asked again."""
        self.now_ms = max(self.now_ms, self.sender.deadline())
        return self.poll()

    def answer(self, response, at=0):
        send = self.sent.pop(at)
        self.sender.answered(send.token, response, self.now_ms)
        return send

    def lose(self, at=0):
        send = self.sent.pop(at)
        self.sender.failed(send.token, self.now_ms)
        return send

    def reply(self, error=0, at=0, **fields):
        """The answer that a broker would give."""
        return self.answer(answer_to(self.sent[at], error, self, fields), at)

    def replies(self, *names):
        """Polls and answers until these have been answered, in this order."""
        for name in names:
            if not self.sent:
                self.poll() or self.wait()
            assert name_of(self.sent[0].request) == name, self.sent
            self.reply()
        self.poll()

    def send(self, partition=0, value=b"v"):
        return self.sender.append(TopicPartition("t", partition), value, self.now_ms)

    def stamps(self):
        """(partition, epoch, sequence) of the batches that are out."""
        found = []
        for send in self.sent:
            if name_of(send.request) == "Produce":
                data = send.request.topic_data[0].partition_data[0]
                header = sole_batch(data.records)
                found.append((data.index, header.producer_epoch, header.base_sequence))
        return found


def started(transactional_id=None, version=2):
    producer = Producer(transactional_id, version)
    if transactional_id is None:
        producer.poll()
        producer.replies("InitProducerId")
    else:
        producer.manager.initialize()
        producer.replies("FindCoordinator", "InitProducerId")
    return producer


def known():
    """A producer that partition 0 has taken a record of: only then does more than one batch go there at a time."""
    producer = started()
    producer.send()
    producer.poll()
    producer.reply()
    return producer


def decoded(request, version):
    """A Produce request as its broker reads it."""
    if not isinstance(request, BatchesRequest):
        return request
    return ProduceRequest.decode(b"".join(bytes(part) for part in request.encode(version)), version)


def name_of(request):
    return type(request).__name__.removesuffix("Request")


def answer_to(send, error, producer, fields):
    name = name_of(send.request)
    if name == "Produce":
        return _produced(send.request, error, producer, fields)
    if name == "FindCoordinator":
        return FindCoordinatorResponse(coordinators=[Coordinator(node_id=1, error_code=error)])
    if name == "InitProducerId":
        epoch = 0 if send.request.producer_id == -1 else send.request.producer_epoch + 1
        return InitProducerIdResponse(**{"error_code": error, "producer_id": 7, "producer_epoch": epoch, **fields})
    if name == "AddPartitionsToTxn":
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_added(send.request, error))
    if name == "AddOffsetsToTxn":
        return AddOffsetsToTxnResponse(error_code=error)
    if name == "EndTxn":
        return _ended(send, error)
    partitions = [TxnOffsetCommitResponsePartition(error_code=error)]
    return TxnOffsetCommitResponse(topics=[TxnOffsetCommitResponseTopic(name="in", partitions=partitions)])


def _produced(request, error, producer, fields):
    data = request.topic_data[0].partition_data[0]
    if not error:
        fields.setdefault("base_offset", producer.offset)
        producer.offset += 1
    answer = PartitionProduceResponse(index=data.index, error_code=error, **fields)
    return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[answer])])


def _added(request, error):
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error)
                for index in topic.partitions
            ],
        )
        for topic in request.v3_and_below_topics
    ]


def _ended(send, error):
    if error or send.version < 5:
        return EndTxnResponse(error_code=error)
    return EndTxnResponse(producer_id=send.request.producer_id, producer_epoch=send.request.producer_epoch + 1)
