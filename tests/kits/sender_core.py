"""The producer's sender as a core of single requests: each batch in a request of its own, for its partition's leader.

So a test, or the simulator, answers batch by batch, as it answers what the transaction manager asks.
"""

from odradek.client.core import Send, leader
from odradek.client.producer.accumulator import Accumulator
from odradek.client.producer.buffer_pool import BufferPool
from odradek.client.producer.produce_request import BatchesRequest
from odradek.client.producer.record_sender import RecordSender, SenderConfig
from odradek.client.producer.sent_batch import SentBatch
from odradek.client.producer.transaction_manager import PRODUCE
from odradek.protocol.errors import NetworkException

NODE = 1  # leads all partitions, as far as the sender is concerned
ALONE = 1  # bytes in a request: every batch is too large for any company


class Sent:
    """A record in a batch of its own, and what became of it."""

    def __init__(self, batch):
        self.batch = batch

    is_done = property(lambda self: self.batch.is_done)
    error = property(lambda self: self.batch.error)
    offset = property(lambda self: self.batch.base_offset)
    may_be_stored = property(lambda self: self.batch.may_be_stored)


class SenderCore:
    def __init__(self, manager, partitions, *, request_timeout_ms, delivery_timeout_ms, backoff):
        """`partitions`: how many each topic has."""
        self.manager = manager
        self.accumulator = Accumulator(
            BufferPool(1 << 30, 1000), SentBatch, batch_bytes=1000, request_bytes_max=1 << 20, seed=3, clock=lambda: 5
        )
        for topic, count in partitions.items():
            self.accumulator.set_topic(topic, [NODE] * count)
        config = SenderConfig(
            linger_ms=0,
            request_bytes_max=ALONE,
            request_timeout_ms=request_timeout_ms,
            delivery_timeout_ms=delivery_timeout_ms,
            transactional_id=manager.transactional_id,
        )
        self.sender = RecordSender(self.accumulator, config, backoff)
        self.sender.manager = manager

    def append(self, partition, value, now_ms):
        """As a producer does: a record of a transaction belongs to one."""
        if self.manager.is_transactional:
            self.manager.want_partition(partition)
        topic = self.accumulator.topics[partition[0]]
        future = self.accumulator.append(topic, partition[1], now_ms, None, value, b"\0")
        topic.queues[partition[1]].close_open()
        self.sender.look(now_ms)
        return Sent(future.batch)

    def poll(self, now_ms):
        self.sender.look(now_ms)
        sends = self.manager.poll(now_ms)
        while NODE in self.sender.nodes():
            request = self.sender.drain(NODE, now_ms)
            if request is None:
                break
            sends.append(Send(request, self.manager.version(PRODUCE), leader(*request.batches[0].partition), request))
        return sends

    def answered(self, token, response, now_ms):
        if isinstance(token, BatchesRequest):
            self.sender.answered(token, response, now_ms)
        else:
            self.manager.answered(token, response, now_ms)
            self.sender.identity_changed(now_ms)

    def failed(self, token, now_ms):
        if isinstance(token, BatchesRequest):
            self.sender.failed(token, NetworkException(), now_ms)
        else:
            self.manager.failed(token, now_ms)

    def deadline(self):
        times = [self.sender.deadline_ms(), self.manager.deadline()]
        return min((each for each in times if each is not None), default=None)
