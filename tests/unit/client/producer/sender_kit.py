"""The producer's sender, driven by hand: a test appends, drains and answers."""

from accumulator_kit import records_of
from odradek.client.core import Backoff
from odradek.client.producer.accumulator import Accumulator
from odradek.client.producer.buffer_pool import BufferPool
from odradek.client.producer.record_sender import RecordSender, SenderConfig
from odradek.client.producer.sent_batch import SentBatch
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.protocol.messages.k00_produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdResponse

BACKOFF_MS = 100
DELIVERY_MS = 10_000


class Sending:
    """Topic "t" has four partitions, led by nodes 1 and 2 in turn."""

    def __init__(self, *, batch_bytes=1000, total_bytes=1 << 20, leaders=(1, 2, 1, 2), **config):
        config.setdefault("is_idempotent", False)
        config.setdefault("linger_ms", 0)
        self.now_ms = 1000
        self.config = SenderConfig(delivery_timeout_ms=DELIVERY_MS, **config)
        self.accumulator = Accumulator(
            BufferPool(total_bytes, batch_bytes),
            SentBatch,
            batch_bytes=batch_bytes,
            request_bytes_max=self.config.request_bytes_max,
            seed=3,
            clock=lambda: 5,
        )
        self.topic = self.accumulator.set_topic("t", list(leaders))
        self.sender = RecordSender(self.accumulator, self.config, Backoff(BACKOFF_MS, 1000))
        self.offsets = {}
        if self.config.is_idempotent:
            self.identify()

    def identify(self):
        manager = self.sender.manager = TransactionManager(self.config.transactional_id)
        self.sender.look(self.now_ms)
        (ask,) = manager.poll(self.now_ms)
        manager.answered(ask.token, InitProducerIdResponse(producer_id=7, producer_epoch=0), self.now_ms)
        self.sender.identity_changed(self.now_ms)

    def append(self, value=b"v", partition=0):
        return self.accumulator.append(self.topic, partition, 5, None, value, b"\0")

    def pass_ms(self, milliseconds):
        self.now_ms += milliseconds

    def requests(self, node=1):
        """Everything that may go to the node now, request by request."""
        self.sender.look(self.now_ms)
        found = []
        while node in self.sender.nodes():
            request = self.sender.drain(node, self.now_ms)
            if request is None:
                break
            found.append(request)
        return found

    def request(self, node=1):
        (found,) = self.requests(node)
        return found

    def answer(self, request, error=0, **fields):
        """The same for each of its partitions."""
        partitions = []
        for batch in request.batches:
            index = batch.queue.place[1]
            base = self.offsets.get(index, 0)
            if not error:
                self.offsets[index] = base + batch.record_count
            answer = {"base_offset": base if not error else -1, **fields}
            partitions.append(PartitionProduceResponse(index=index, error_code=error, **answer))
        response = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=partitions)])
        self.sender.answered(request, response, self.now_ms)

    def fail(self, request, error):
        self.sender.failed(request, error, self.now_ms)


def contents(requests):
    """The values in each batch of each request, with their partitions."""
    return [
        [(batch.queue.place[1], [record[2] for record in records_of(batch)]) for batch in request.batches]
        for request in requests
    ]


def numbers(requests):
    return [[batch.base_sequence for batch in request.batches] for request in requests]
