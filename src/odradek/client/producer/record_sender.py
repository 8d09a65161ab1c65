"""The sender of the producer, without I/O: which batches go to which node now, and what an answer does to them.

    sender.look(now_ms)                    # takes in what was appended, and what has become due
    for node_id in sender.nodes():         # those that have something to get
        request = sender.drain(node_id, now_ms)    # one request: many partitions, one batch of each
    sender.answered(request, response, now_ms)     # or sender.failed(request, error, now_ms)
    sender.deadline_ms()                   # when to look again, if nothing happens before

`drain` goes round the partitions of a node from where it stopped. A batch ends by an acknowledgement, by an error that
is not worth another attempt, or by `delivery.timeout.ms`; it is told to its futures at that moment, and its callbacks
are left in `callbacks` for whoever drives this.

**Order.** With idempotence the sequencer decides who may go (`sequencer.py`). Without it order is kept only by
`max.in.flight.requests.per.connection=1`: then a partition is mute while a batch of it is in flight. Batches that go
again stand before all others, in their first order.

**Transactions.** A partition joins the transaction before its first batch goes. When the transaction is doomed, what is
queued is dropped.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from odradek.channel.backoff import Backoff
from odradek.client.producer.accumulator import Accumulator, PartitionQueue, RecordFuture
from odradek.client.producer.batch import Stamp
from odradek.client.producer.errors import DeliveryTimeout, TransactionAborted
from odradek.client.producer.produce_request import BatchesRequest, ProduceRequestFrame
from odradek.client.producer.ready_lines import ReadyLines
from odradek.client.producer.sent_batch import SentBatch
from odradek.client.producer.splitting import split
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transaction_states import State
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k00_produce import PartitionProduceResponse, ProduceResponse
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.layout import TRANSACTIONAL_MASK

ANY_PARTITION = TopicPartition("", -1)  # without transactions all are alike
ORDINALS = 1 << 32  # between two batches: more than one can have records, and so parts

_MAY_BE_STORED = (
    errors.NetworkException,
    errors.NotEnoughReplicasAfterAppend,
    errors.RequestTimedOut,
    errors.UnknownServerError,
)
_WRITTEN = (errors.NONE, errors.DuplicateSequenceNumber.code)
_TOO_LARGE = (errors.MessageTooLarge, errors.RecordListTooLarge)

Callback = tuple[Callable[[RecordFuture], object], RecordFuture]


class SenderConfig(NamedTuple):
    acks: int = -1
    linger_ms: int = 5
    request_bytes_max: int = 1_048_576
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    retries: int = 2**31 - 1
    max_in_flight: int = 5
    is_idempotent: bool = True
    transactional_id: str | None = None
    codec: int = 0  # none
    level: int | None = None


class RecordSender:
    __slots__ = (
        "_attributes",
        "_backoff",
        "_frame",
        "_has_unresolved",
        "_ordinals",
        "accumulator",
        "callbacks",
        "config",
        "counts",
        "hurries",
        "incomplete",
        "lines",
        "manager",
        "used_topics",
        "wants_metadata",
        "when_done",
        "when_split",
        "why_not_sent",
    )

    def __init__(self, accumulator: Accumulator, config: SenderConfig, backoff: Backoff | None = None) -> None:
        self.accumulator = accumulator
        self.config = config
        self.lines = ReadyLines(config.linger_ms)
        self.manager: TransactionManager | None = None  # of an idempotent producer, once it is known what brokers speak
        self.incomplete: OrderedDict[SentBatch, None] = OrderedDict()  # the oldest first, found at once
        self.callbacks: list[Callback] = []
        self.wants_metadata = False  # a leader is not known, or was the wrong one
        self.when_done: Callable[[SentBatch], object] = _nothing
        self.when_split: Callable[[SentBatch, list[SentBatch]], object] = lambda _, __: None
        self.why_not_sent: Callable[[PartitionQueue], str] = lambda _: ""
        self.counts = SenderCounts()
        self.hurries = 0  # how many have a reason that nothing lingers: who flushes, closes, ends a transaction
        self.used_topics: set[str] = set()  # since somebody has looked
        self._backoff = backoff or Backoff()
        self._frame = ProduceRequestFrame(config.transactional_id, config.acks, config.request_timeout_ms)
        self._attributes = config.codec | (TRANSACTIONAL_MASK if config.transactional_id is not None else 0)
        self._ordinals = 0
        self._has_unresolved = False

    # A turn

    def look(self, now_ms: int) -> None:
        is_hurried = self.hurries > 0 or self.accumulator.pool.waiting > 0
        if is_hurried and not self.lines.is_hurried:
            self.lines.hurry(now_ms)
        self.lines.is_hurried = is_hurried
        for queue in self.accumulator.take_touched():
            self._take_in(queue, now_ms)
        manager = self.manager
        if manager is not None:
            self._keep_identity(manager, now_ms)
        if self.incomplete:
            self._expire(now_ms)
        self.lines.expire(now_ms)
        self.wants_metadata = self.wants_metadata or bool(self.lines.leaderless)

    def nodes(self) -> list[int]:
        return [node_id for node_id, line in self.lines.lines.items() if line]

    def deadline_ms(self) -> int | None:
        due_ms = self.lines.deadline_ms()
        if not self.incomplete:
            return due_ms
        expires_ms = next(iter(self.incomplete)).created_ms + self.config.delivery_timeout_ms
        return expires_ms if due_ms is None or expires_ms < due_ms else due_ms

    @property
    def unsent_records(self) -> int:
        return sum(batch.record_count for batch in self.incomplete)

    def leaders_changed(self, now_ms: int) -> None:
        self.lines.leaders_changed(now_ms)
        self.wants_metadata = bool(self.lines.leaderless)

    def identity_changed(self, now_ms: int) -> None:
        """The manager has got an answer: who was blocked may go."""
        self.lines.unblock(now_ms)

    def _take_in(self, queue: PartitionQueue, now_ms: int) -> None:
        self.used_topics.add(queue.place[0])
        at = len(queue.batches) - 1
        while at >= 0 and queue.batches[at].created_ms < 0:
            at -= 1
        for index in range(at + 1, len(queue.batches)):
            self._register(queue.batches[index], now_ms)
        self.lines.sort_in(queue, now_ms)

    def _register(self, batch: SentBatch, now_ms: int) -> None:
        batch.created_ms = now_ms
        self._ordinals += ORDINALS
        batch.ordinal = self._ordinals
        self.incomplete[batch] = None
        manager = self.manager
        if manager is not None:
            manager.incomplete_batches += 1
            if manager.state is State.IN_TRANSACTION and manager.is_transactional:
                manager.want_partition(batch.queue.place)

    # Sending

    def drain(self, node_id: int, now_ms: int) -> BatchesRequest | None:
        """The next request for the node; None if nothing may go now."""
        line = self.lines.lines[node_id]
        batches: list[SentBatch] = []
        drained: list[PartitionQueue] = []
        size = 0
        limit = self.config.request_bytes_max
        may_send = self._who_may_send()
        for _ in range(len(line)):
            queue = line[0]
            batch: SentBatch = queue.batches[0]
            if size + batch.size_bytes > limit and batches and size + batch.sent_size > limit:
                break
            line.popleft()
            queue.is_ready = False
            if not may_send(batch):
                self.lines.blocked[queue] = None
                continue
            self._take(queue, batch, now_ms)
            batches.append(batch)
            drained.append(queue)
            size += batch.size_bytes if batch.compressed is None else batch.sent_size
        if not batches:
            return None
        for queue in drained:
            self.lines.sort_in(queue, now_ms)
        self._count(batches, size)
        return BatchesRequest(self._frame, batches, self._attributes)

    def _count(self, batches: list[SentBatch], size: int) -> None:
        counts = self.counts
        counts.requests += 1
        counts.requests_in_flight += 1
        counts.batches += len(batches)
        counts.bytes_sent += size
        for batch in batches:
            counts.records_in_requests += batch.record_count
            counts.bytes_before += batch.size_bytes

    def _take(self, queue: PartitionQueue, batch: SentBatch, now_ms: int) -> None:
        queue.take()
        if batch.created_ms < 0:
            self._register(batch, now_ms)  # it was begun after the last look
        if self.config.codec:
            batch.compress(self.config.codec, self.config.level)
        if self.manager is not None and batch.base_sequence < 0:
            self.manager.sequencer.number(batch)
        batch.attempts += 1
        batch.is_in_flight = True
        if self.config.max_in_flight == 1:
            queue.is_muted = True

    def _who_may_send(self) -> Callable[[SentBatch], bool]:
        """What tells of each batch of one request whether it may go."""
        manager = self.manager
        if manager is None:
            return _nobody if self.config.is_idempotent else _everybody
        sequencer = manager.sequencer
        if manager.is_transactional:
            return lambda batch: manager.may_send_to(batch.partition) and sequencer.may_send(batch)
        return sequencer.may_send if manager.may_send_to(ANY_PARTITION) else _nobody

    # Answers

    def answered(self, request: BatchesRequest, response: ProduceResponse | None, now_ms: int) -> None:
        """None: no answer was asked for (acks=0), and all has gone out."""
        if response is None:
            for batch in request.batches:
                self._written(batch, batch.stamp, -1, -1)
        else:
            found = {
                (topic.name, answer.index): answer
                for topic in response.responses
                for answer in topic.partition_responses
            }
            for batch, stamp in zip(request.batches, request.stamps, strict=True):
                self._answered(batch, stamp, found.get(batch.partition), now_ms)
        self._landed(request, now_ms)

    def failed(self, request: BatchesRequest, error: KafkaError, now_ms: int) -> None:
        """Nobody knows what became of it, unless the error says that it was never sent."""
        for batch in request.batches:
            batch.is_in_flight = False
            if not batch.is_done:
                batch.may_be_stored = True
                self._again_or_not(batch, error, now_ms, may_retry=error.retriable, is_refused=False)
        self.wants_metadata = True
        self._landed(request, now_ms)

    def _landed(self, request: BatchesRequest, now_ms: int) -> None:
        self.counts.requests_in_flight -= 1
        for batch in request.batches:
            queue = batch.queue
            queue.is_muted = False
            if not queue.is_ready:
                self.lines.sort_in(queue, now_ms)

    def _answered(self, batch: SentBatch, stamp: Stamp, answer: PartitionProduceResponse | None, now_ms: int) -> None:
        batch.is_in_flight = False
        if batch.is_done:
            return  # it was given up in the air
        if answer is None:
            error: KafkaError = errors.UnknownServerError("The broker's answer does not mention the partition.")
            self._again_or_not(batch, error, now_ms, may_retry=False, is_refused=False)
            return
        if answer.error_code in _WRITTEN:
            self._written(batch, stamp, answer.base_offset, answer.log_append_time_ms)
        else:
            self._refused(batch, stamp, answer, now_ms)

    def _written(self, batch: SentBatch, stamp: Stamp, base_offset: int, log_append_time_ms: int) -> None:
        batch.is_in_flight = False
        if batch.is_done:
            return
        if self.manager is not None:
            self.manager.sequencer.acked(batch, stamp, base_offset)
        self.counts.records_sent += batch.record_count
        self._complete(batch, base_offset, log_append_time_ms, None)

    def _refused(self, batch: SentBatch, stamp: Stamp, answer: PartitionProduceResponse, now_ms: int) -> None:
        kind = errors.by_code(answer.error_code)
        error = kind(answer.error_message)
        if kind.refreshes_metadata:
            self.wants_metadata = True
        if isinstance(error, _TOO_LARGE) and batch.record_count > 1:
            self._split(batch, now_ms)
            return
        batch.may_be_stored = batch.may_be_stored or isinstance(error, _MAY_BE_STORED)
        if answer.record_errors:
            _blame(batch, answer, error)
        if self.manager is None:
            may_retry = kind.retriable
        else:
            may_retry = self.manager.sequencer.may_retry(batch, stamp, error, answer.log_start_offset)
        self._again_or_not(batch, error, now_ms, may_retry=may_retry, is_refused=True)

    def _again_or_not(
        self, batch: SentBatch, error: KafkaError, now_ms: int, *, may_retry: bool, is_refused: bool
    ) -> None:
        is_doomed = self.manager is not None and self.manager.is_doomed
        if may_retry and not is_doomed and batch.attempts <= self.config.retries:
            self._again(batch, error, now_ms)
        else:
            self._give_up(batch, error, is_refused=is_refused)

    def _again(self, batch: SentBatch, error: KafkaError, now_ms: int) -> None:
        self.counts.record_retries += batch.record_count
        batch.failure = error
        queue = batch.queue
        queue.retry_at_ms = now_ms + self._backoff.after(batch.attempts)
        self._put_back(batch)
        if queue.is_ready:  # its next batch stands in line: it waits with this one
            self._leave_line(queue)

    def _put_back(self, batch: SentBatch) -> None:
        queue = batch.queue
        at = 0
        while at < len(queue.batches) and 0 < queue.batches[at].ordinal < batch.ordinal:
            at += 1
        self.accumulator.put_back(queue, batch, at)

    def _leave_line(self, queue: PartitionQueue) -> None:
        queue.is_ready = False
        self.lines.leaderless.pop(queue, None)
        line = self.lines.lines.get(queue.leader_id)
        if line is not None and queue in line:
            line.remove(queue)

    def _split(self, batch: SentBatch, now_ms: int) -> None:
        self.counts.batch_splits += 1
        parts = split(batch)
        if self.manager is not None:
            self._number_parts(self.manager, batch, parts)
        self.incomplete = _replaced(self.incomplete, batch, [part for _, part in parts])
        self.when_split(batch, [part for _, part in parts])
        batch.split_into(parts)
        for _, part in reversed(parts):
            self._put_back(part)
        self.lines.sort_in(batch.queue, now_ms)

    def _number_parts(self, manager: TransactionManager, batch: SentBatch, parts: list[tuple[int, SentBatch]]) -> None:
        """They have the numbers of the whole between them, which nobody else has."""
        manager.incomplete_batches += len(parts) - 1
        unacked = manager.sequencer.sequences(batch.queue.place).unacked
        if batch in unacked:
            sequence = batch.base_sequence
            at = unacked.index(batch)
            for _, part in parts:
                part.number(batch.producer, sequence)
                sequence = part.next_sequence
            unacked[at : at + 1] = [part for _, part in parts]

    # Ends

    def _complete(self, batch: SentBatch, base_offset: int, log_append_time_ms: int, error: KafkaError | None) -> None:
        self.incomplete.pop(batch, None)
        if self.manager is not None:
            self.manager.incomplete_batches -= 1
        self.callbacks += batch.complete(base_offset, log_append_time_ms, error)
        self.when_done(batch)

    def _give_up(self, batch: SentBatch, error: KafkaError, *, is_refused: bool) -> None:
        self.counts.record_errors += batch.record_count
        if self.manager is not None:
            self._has_unresolved = True
            self.manager.sequencer.gave_up(batch, may_be_stored=not is_refused or batch.may_be_stored)
        self._complete(batch, -1, -1, error)
        if self.manager is not None:
            self.manager.batch_failed(error)

    def abort_all(self, error: KafkaError) -> None:
        """Whatever has no outcome gets this one: the producer closes, or it can never send."""
        for batch in list(self.incomplete):
            self._take_out(batch)
            self._give_up(batch, error, is_refused=False)

    def drop_queued(self, error: KafkaError, now_ms: int) -> None:
        """The transaction will be aborted: what is not in flight does not go any more."""
        for batch in [each for each in self.incomplete if not each.is_in_flight]:
            self._take_out(batch)
            self._give_up(batch, error, is_refused=not batch.may_be_stored)
            self.lines.sort_in(batch.queue, now_ms)

    def _take_out(self, batch: SentBatch) -> None:
        """Out of its queue, if it is there; an empty queue stands in no line."""
        queue = batch.queue
        if batch in queue.batches:
            queue.batches.remove(batch)
        if queue.open is batch:
            queue.close_open()
        if not queue.batches and queue.is_ready:
            self._leave_line(queue)

    def _expire(self, now_ms: int) -> None:
        limit_ms = now_ms - self.config.delivery_timeout_ms
        while self.incomplete:
            batch = next(iter(self.incomplete))
            if batch.created_ms > limit_ms:
                return
            self._expire_one(batch)
            self.lines.sort_in(batch.queue, now_ms)

    def _expire_one(self, batch: SentBatch) -> None:
        late = self._late(batch)
        if batch.is_in_flight:
            batch.may_be_stored = True
        else:
            self._take_out(batch)
        self._give_up(batch, late, is_refused=not batch.may_be_stored)

    def _late(self, batch: SentBatch) -> KafkaError:
        topic, partition = batch.queue.place
        if batch.failure is not None:
            why = f"the last of {batch.attempts} attempts failed: {batch.failure.message}"
        elif batch.is_in_flight:
            why = "the broker has not answered"
        else:
            why = f"it was never sent: {self.why_not_sent(batch.queue) or 'other batches were sent before it'}"
        seconds = self.config.delivery_timeout_ms / 1000
        told = f"{batch.record_count} records for {topic}-{partition} were not delivered within {seconds:g} s"
        return DeliveryTimeout(f"{told} (delivery.timeout.ms); {why}")

    # Numbers and transactions

    def _keep_identity(self, manager: TransactionManager, now_ms: int) -> None:
        if manager.is_doomed and self.incomplete:
            self.drop_queued(manager.error or TransactionAborted(), now_ms)
        if manager.is_transactional:
            return
        sequencer = manager.sequencer
        if self._has_unresolved:
            sequencer.resolve()
            self._has_unresolved = sequencer.has_unresolved
            self.lines.unblock(now_ms)
        if manager.state is State.UNINITIALIZED:
            manager.initialize()
        elif manager.state is State.READY and sequencer.needs_bump:
            if not sequencer.bump():
                manager.forget_producer()
            self.lines.unblock(now_ms)


class SenderCounts:
    """What metrics are made of."""

    __slots__ = (
        "batch_splits",
        "batches",
        "bytes_before",
        "bytes_sent",
        "record_errors",
        "record_retries",
        "records_in_requests",
        "records_sent",
        "requests",
        "requests_in_flight",
    )

    def __init__(self) -> None:
        self.records_sent = self.record_errors = self.record_retries = self.batch_splits = 0
        self.requests = self.requests_in_flight = self.batches = 0
        self.records_in_requests = self.bytes_sent = self.bytes_before = 0


def _nothing(_: object) -> None: ...


def _everybody(_: SentBatch) -> bool:
    return True


def _nobody(_: SentBatch) -> bool:
    return False


def _replaced(
    batches: OrderedDict[SentBatch, None], old: SentBatch, new: list[SentBatch]
) -> OrderedDict[SentBatch, None]:
    """The same order, with the new ones where the old one was."""
    found: OrderedDict[SentBatch, None] = OrderedDict()
    for batch in batches:
        found.update(dict.fromkeys(new if batch is old else [batch]))
    return found


def _blame(batch: SentBatch, answer: PartitionProduceResponse, error: KafkaError) -> None:
    """The broker has named the records at fault: the others are told that it was not them (KIP-467)."""
    said = {each.batch_index: each.batch_index_error_message for each in answer.record_errors}
    others = f"It stood in a batch with records that the broker refused: {error.message}"

    def error_of(index: int) -> KafkaError:
        if index in said:
            return errors.InvalidRecord(said[index] or answer.error_message)
        return errors.KafkaError(others)

    batch.error_of = error_of
