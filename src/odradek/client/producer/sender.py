"""The producer's sender: takes batches to the leaders of their partitions, again and again, until each has an end.

    sender = Sender(TransactionManager())       # idempotent; with a transactional id, in transactions
    sender.append(batch)                        # `batch.is_done` some time later, with `offset` or `error`

Every batch goes out in a request of its own. A batch is given up when its broker refuses it for good, when
`delivery.timeout.ms` is over, or when its transaction will be aborted anyway. What became of one that is given up and
`may_be_stored`, nobody knows.
"""

from odradek.broken_rule import instance
from odradek.client.core import Backoff, Send, leader
from odradek.client.producer.batch import ProducerBatch, Stamp
from odradek.client.producer.transaction_manager import PRODUCE, TransactionManager
from odradek.client.producer.transaction_states import State
from odradek.protocol import errors
from odradek.protocol.declare import Response
from odradek.protocol.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.topic_partition import TopicPartition

ALL_REPLICAS = -1

_MAY_BE_STORED = (
    errors.NetworkException,
    errors.NotEnoughReplicasAfterAppend,
    errors.RequestTimedOut,
    errors.UnknownServerError,
)


class Flight:
    """A batch in a request; the stamp is that of the request."""

    __slots__ = ("batch", "stamp")

    def __init__(self, batch: ProducerBatch) -> None:
        self.batch = batch
        self.stamp: Stamp = batch.stamp


class Sender:
    __slots__ = ("_backoff", "_delivery_timeout_ms", "_flights", "_queues", "_request_timeout_ms", "manager")

    def __init__(
        self,
        manager: TransactionManager,
        *,
        request_timeout_ms: int = 30_000,
        delivery_timeout_ms: int = 120_000,
        backoff: Backoff | None = None,
    ) -> None:
        self.manager = manager
        self._request_timeout_ms = request_timeout_ms
        self._delivery_timeout_ms = delivery_timeout_ms
        self._backoff = backoff or Backoff()
        self._queues: dict[TopicPartition, list[ProducerBatch]] = {}  # to be sent: again, and then for the first time
        self._flights: dict[Flight, None] = {}

    def append(self, batch: ProducerBatch) -> None:
        if self.manager.is_transactional:
            self.manager.want_partition(batch.partition)
        self.manager.incomplete_batches += 1
        self._queues.setdefault(batch.partition, []).append(batch)

    # The core

    def poll(self, now_ms: int) -> list[Send]:
        self._expire(now_ms)
        if self.manager.is_doomed:
            self._drop_queued()
        if not self.manager.is_transactional:
            self._keep_identity()
        sends = self.manager.poll(now_ms)
        for queue in self._queues.values():
            while queue and queue[0].retry_at_ms <= now_ms and self._may_send(queue[0]):
                sends.append(self._send(queue.pop(0)))
        return sends

    def answered(self, token: object, response: Response, now_ms: int) -> None:
        if not isinstance(token, Flight):
            self.manager.answered(token, response, now_ms)
        elif self._has_landed(token):
            told = instance(response, ProduceResponse, "the answer belongs to its question")
            self._produced(token, told.responses[0].partition_responses[0], now_ms)

    def failed(self, token: object, now_ms: int) -> None:
        if not isinstance(token, Flight):
            self.manager.failed(token, now_ms)
        elif self._has_landed(token):
            token.batch.may_be_stored = True
            self._again(token.batch, errors.NetworkException(), now_ms)

    def deadline(self) -> int | None:
        times = [self._expires_at(batch) for batch in self._oldest()]
        times += [queue[0].retry_at_ms for queue in self._queues.values() if queue and self._may_send(queue[0])]
        asks_at_ms = self.manager.deadline()
        if asks_at_ms is not None:
            times.append(asks_at_ms)
        return min(times, default=None)

    def _has_landed(self, flight: Flight) -> bool:
        """False: it was given up in the air."""
        if flight not in self._flights:
            return False
        del self._flights[flight]
        return True

    # Sending

    def _keep_identity(self) -> None:
        """A producer without transactions gets its id, and its epochs, as it needs them."""
        manager, sequencer = self.manager, self.manager.sequencer
        sequencer.resolve()
        if manager.state is State.UNINITIALIZED:
            manager.initialize()
        elif manager.state is State.READY and sequencer.needs_bump and not sequencer.bump():
            manager.forget_producer()

    def _may_send(self, batch: ProducerBatch) -> bool:
        return self.manager.may_send_to(batch.partition) and self.manager.sequencer.may_send(batch)

    def _send(self, batch: ProducerBatch) -> Send:
        if not batch.has_sequence:
            self.manager.sequencer.number(batch)
        flight = Flight(batch)
        self._flights[flight] = None
        batch.attempts += 1
        topic, index = batch.partition
        records = batch.stamped(is_transactional=self.manager.is_transactional)
        request = ProduceRequest(
            transactional_id=self.manager.transactional_id,
            acks=ALL_REPLICAS,
            timeout_ms=self._request_timeout_ms,
            topic_data=[
                TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=index, records=records)])
            ],
        )
        return Send(request, self.manager.version(PRODUCE), leader(topic, index), flight)

    # Answers

    def _produced(self, flight: Flight, answer: PartitionProduceResponse, now_ms: int) -> None:
        batch = flight.batch
        if answer.error_code in (errors.NONE, errors.DuplicateSequenceNumber.code):
            batch.acked(answer.base_offset)
            self.manager.sequencer.acked(batch, flight.stamp, answer.base_offset)
            self.manager.incomplete_batches -= 1
            return
        error = errors.by_code(answer.error_code)(answer.error_message)
        batch.may_be_stored = batch.may_be_stored or isinstance(error, _MAY_BE_STORED)
        if self.manager.sequencer.may_retry(batch, flight.stamp, error, answer.log_start_offset):
            self._again(batch, error, now_ms)
        else:
            self._give_up(batch, error, is_refused=True)

    def _again(self, batch: ProducerBatch, error: errors.KafkaError, now_ms: int) -> None:
        if self.manager.is_doomed:
            self._give_up(batch, error, is_refused=False)
            return
        batch.retry_at_ms = now_ms + self._backoff.after(batch.attempts)
        queue = self._queues[batch.partition]
        before = self.manager.sequencer.sequences(batch.partition).unacked
        earlier = before[: before.index(batch)]
        queue.insert(sum(1 for each in queue if each in earlier), batch)

    def _give_up(self, batch: ProducerBatch, error: errors.KafkaError, *, is_refused: bool) -> None:
        batch.give_up(error)
        self.manager.incomplete_batches -= 1
        self.manager.sequencer.gave_up(batch, may_be_stored=not is_refused)
        self.manager.batch_failed(error)

    def _drop_queued(self) -> None:
        error = self.manager.error or errors.TransactionAbortable("The transaction is being aborted.")
        for queue in self._queues.values():
            for batch in queue:
                batch.give_up(error)
                self.manager.sequencer.gave_up(batch, may_be_stored=batch.may_be_stored)
                self.manager.incomplete_batches -= 1
            if any(batch.has_sequence for batch in queue):
                self.manager.batch_failed(error)
            queue.clear()

    # Time

    def _expires_at(self, batch: ProducerBatch) -> int:
        return batch.created_ms + self._delivery_timeout_ms

    def _oldest(self) -> list[ProducerBatch]:
        """One of them is the next to expire: batches of a partition are in the order of their age."""
        return [flight.batch for flight in self._flights] + [queue[0] for queue in self._queues.values() if queue]

    def _expire(self, now_ms: int) -> None:
        for flight in [each for each in self._flights if self._expires_at(each.batch) <= now_ms]:
            del self._flights[flight]
            flight.batch.may_be_stored = True
            self._give_up(flight.batch, errors.RequestTimedOut(), is_refused=False)
        for queue in self._queues.values():
            expired = [batch for batch in queue if self._expires_at(batch) <= now_ms]
            for batch in expired:
                queue.remove(batch)
                self._give_up(batch, errors.RequestTimedOut(), is_refused=not batch.may_be_stored)
