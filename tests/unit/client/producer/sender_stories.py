"""A sender whose requests a test answers by hand: no channel, no clock, no chance."""

from accumulator_kit import records_of
from odradek.channel.backoff import Backoff
from odradek.client.producer.accumulator import Accumulator
from odradek.client.producer.buffer_pool import BufferPool
from odradek.client.producer.record_sender import RecordSender, SenderConfig
from odradek.client.producer.sent_batch import SentBatch
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdResponse

BACKOFF_MS = 100
DELIVERY_MS = 10_000
BATCH_BYTES = 1000
LARGE = b"x" * 950  # fills a batch


class Sending:
    """Topic "t". `leaders` has the leader of each partition; `out` the requests that are not answered yet."""

    def __init__(self, leaders=(1,), *, total_bytes=1 << 20, **config):
        self.now_ms = 1000
        self.pool = BufferPool(total_bytes, BATCH_BYTES)
        self.accumulator = Accumulator(
            self.pool, SentBatch, batch_bytes=BATCH_BYTES, request_bytes_max=1 << 20, seed=3, clock=lambda: 5
        )
        self.accumulator.set_topic("t", leaders)
        asked = {"linger_ms": 0, "is_idempotent": False, "delivery_timeout_ms": DELIVERY_MS, **config}
        self.config = SenderConfig(**asked)
        self.sender = RecordSender(self.accumulator, self.config, Backoff(BACKOFF_MS, 1000))
        if self.config.is_idempotent:
            self.sender.manager = identified()
        self.out = []
        self.offset = 0

    def queue(self, partition=0):
        return self.accumulator.topics["t"].queues[partition]

    def put(self, *values, partition=0):
        """The futures of these records; one alone if it is one."""
        topic = self.accumulator.topics["t"]
        found = [self.accumulator.append(topic, partition, 5, None, value, b"\0") for value in values]
        return found[0] if len(found) == 1 else found

    def batch(self, value=b"v", partition=0):
        """A record in a batch of its own, that nothing else goes into."""
        future = self.put(value, partition=partition)
        self.queue(partition).close_open()
        return future

    def nodes(self):
        self.sender.look(self.now_ms)
        return sorted(self.sender.nodes())

    def drain(self, node_id=1):
        """The next request for the node, or None."""
        self.sender.look(self.now_ms)
        if not self.sender.lines.lines.get(node_id):
            return None
        request = self.sender.drain(node_id, self.now_ms)
        if request is not None:
            self.out.append(request)
        return request

    def drained(self, node_id=1):
        """What the next request has: (partition, value of the first record) of each batch; [] if there is none."""
        request = self.drain(node_id)
        return [] if request is None else contents(request)

    def all_drained(self, node_id=1):
        found = []
        while content := self.drained(node_id):
            found.append(content)
        return found

    def pass_ms(self, milliseconds):
        self.now_ms += milliseconds

    def reply(self, error=0, at=0, *, only=None, **fields):
        """Answers what is out: all of its partitions alike, or `only` has the error of some."""
        request = self.out.pop(at)
        answers = []
        for batch in request.batches:
            code = error if only is None else only.get(batch.queue.place[1], 0)
            found = {"base_offset": -1 if code else self.offset, **fields}
            self.offset += 0 if code else batch.record_count
            answers.append(PartitionProduceResponse(index=batch.queue.place[1], error_code=code, **found))
        self.answer(request, [TopicProduceResponse(name="t", partition_responses=answers)])
        return request

    def answer(self, request, topics):
        self.sender.answered(request, ProduceResponse(responses=topics), self.now_ms)

    def lose(self, error=None, at=0):
        request = self.out.pop(at)
        self.sender.failed(request, error or errors.NetworkException(), self.now_ms)
        return request

    def lead(self, *leaders):
        self.accumulator.set_topic("t", leaders)
        self.sender.leaders_changed(self.now_ms)

    def stamps(self):
        """(partition, epoch, sequence) of the batches that are out."""
        return [
            (batch.queue.place[1], stamp.producer.epoch, stamp.base_sequence)
            for request in self.out
            for batch, stamp in zip(request.batches, request.stamps, strict=True)
        ]


def identified(producer_id=7, epoch=0):
    """A manager that has its id."""
    manager = TransactionManager(backoff=Backoff(BACKOFF_MS, 1000))
    manager.initialize()
    (send,) = manager.poll(0)
    manager.answered(send.token, InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch), 0)
    return manager


def contents(request):
    return [(batch.queue.place[1], records_of(batch)[0][2]) for batch in request.batches]


def outcome(future):
    """The offset, or the error; None as long as there is no outcome."""
    if not future.done():
        return None
    error = future.exception(0)
    return future.result(0).offset if error is None else error
