"""One producer at work: its accumulator, its sender, its channel, and what they tell each other.

Appends happen in the threads of the program; everything here happens in the client's loop. `_pump` is the heart: it
takes in what was appended, sends each node a request if the node can take one, and sets the timer for when to look
again. It is called when the accumulator has news, when a node is ready or has answered, when the metadata has changed,
and when the time has come.
"""

from collections.abc import Callable
from functools import partial
from typing import cast

from odradek.channel.backoff import Backoff
from odradek.channel.channel import Channel
from odradek.channel.cluster import PartitionInfo
from odradek.channel.errors import ClientClosed
from odradek.channel.in_flight import PendingResponse
from odradek.channel.metadata import Metadata
from odradek.channel.network_client import Lost
from odradek.channel.node import Node
from odradek.client.host.session import Open, logger
from odradek.client.producer.accumulator import Accumulator, PartitionQueue, RecordFuture
from odradek.client.producer.buffer_pool import BufferPool
from odradek.client.producer.errors import ClosedBeforeSent, MetadataTimeout
from odradek.client.producer.identity import Identity
from odradek.client.producer.prepared import Prepared
from odradek.client.producer.produce_request import VERSION_MAX, BatchesRequest
from odradek.client.producer.producer_metrics import MetricName, ProducerMetrics
from odradek.client.producer.record_sender import RecordSender
from odradek.client.producer.sent_batch import SentBatch
from odradek.client.producer.settings import ProducerSettings
from odradek.client.producer.transaction_states import TransactionStateError
from odradek.client.wait_log import LostBrokers, WaitLog
from odradek.protocol import errors
from odradek.protocol.declare import Request
from odradek.protocol.errors import KafkaError
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.timers import Timer

NEWS_WAIT_MS = 600_000  # of metadata: a wait has an end, and then begins again


class ProducerSession:
    def __init__(
        self,
        loop: Loop,
        settings: ProducerSettings,
        clock: Callable[[], int] | None = None,
        when_cluster_known: Callable[[str | None], object] = lambda _: None,
    ) -> None:
        self._when_cluster_known = when_cluster_known
        self._cluster_id: str | None = None
        self.loop = loop
        self.settings = settings
        self._mono_ms = loop.ports.clock.mono_ms
        chance = loop.ports.rng.stream("producer")
        config = settings.channel
        backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms, chance)
        self.pool = BufferPool(settings.buffer_memory, settings.batch_bytes)
        self.accumulator = Accumulator(
            self.pool,
            SentBatch,
            batch_bytes=settings.batch_bytes,
            request_bytes_max=settings.sender.request_bytes_max,
            seed=int.from_bytes(chance.bytes(8), "big"),
            clock=clock,
            ignores_keys=settings.ignores_keys,
            adaptive=settings.is_adaptive,
        )
        self.accumulator.wake = self.wake
        self.sender = RecordSender(self.accumulator, settings.sender, backoff)
        self.sender.when_done = self._batch_done
        self.sender.when_split = self._batch_split
        self.sender.why_not_sent = self._why_not_sent
        metadata = Metadata(
            backoff=Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms, chance),
            expire_ms=config.metadata_max_age_ms,
            topic_idle_ms=settings.metadata_max_idle_ms,
        )
        self._metrics = ProducerMetrics(config.client_id, self.sender, self.pool, self._mono_ms)
        self.channel = Channel(
            loop,
            config,
            settings.addresses,
            security=settings.security,
            metadata=metadata,
            metrics=self._metrics.channel,
        )
        self.metadata = metadata
        self.identity = Identity(self, backoff) if settings.sender.is_idempotent else None
        self._client = self.channel.client
        self.lost_brokers = LostBrokers(self._client, WaitLog(self._mono_ms))
        self._client.observe(self)
        self._flushes: list[tuple[set[SentBatch], Pending[None]]] = []
        self._timer: Timer | None = None
        self._look_again_ms: int | None = None
        self._is_closed = False
        self._is_pump_due = False
        self._stalled_since_ms: dict[int, int] = {}
        loop.spawn(self._watch_metadata()).is_observed = True

    # What threads of the program call

    def wake(self) -> None:
        """There is something new in the accumulator, or somebody waits for memory."""
        self.loop.from_thread(self._pump)

    def append(
        self,
        prepared: Prepared,
        taken_bytes: int,
        told: Callable[[RecordFuture], object] | None,
        *,
        opens: bool = True,
    ) -> RecordFuture | None:
        """None if there is no memory, or if a batch would have to be begun and must not be."""
        accumulator = self.accumulator
        timestamp = accumulator.now_ms() if prepared.timestamp_ms is None else prepared.timestamp_ms
        topic = accumulator.topics[prepared.topic]
        key, value, headers = prepared.key, prepared.value, prepared.headers
        return accumulator.append(topic, prepared.partition, timestamp, key, value, headers, taken_bytes, told, opens)

    def check_transaction(self) -> None:
        """A record of a transactional producer belongs to a transaction: raises what is wrong if there is none."""
        self.transactions().check_sending()

    def transactions(self) -> Identity:
        if self.identity is None or not self.settings.is_transactional:
            raise TransactionStateError("this producer has no transactional.id")
        return self.identity

    def metrics(self) -> dict[MetricName, float]:
        return self._metrics.read()

    # Operations

    async def begin(self) -> "ProducerSession":
        return self

    async def wait_for_topic(self, topic: str, partition: int | None, timeout_ms: int) -> None:
        """Until the topic is known, with that partition; MetadataTimeout, or what is wrong with the topic."""
        deadline_ms = self._mono_ms() + timeout_ms
        self.metadata.add_topic(topic, self._mono_ms())
        while not self._is_known(topic, partition):
            error = self.metadata.topic_errors.get(topic)
            if error is not None:
                raise error
            left_ms = deadline_ms - self._mono_ms()
            if left_ms <= 0:
                raise self._not_known(topic, partition, timeout_ms)
            seen = self.metadata.request_update(resets_backoff=False)
            try:
                await self.channel.updater.wait_for_update(seen, left_ms)
            except errors.RequestTimedOut:
                continue  # and the time is up
            except errors.NetworkException:
                if self._is_closed:
                    raise ClientClosed("the producer was closed while a record was being sent") from None
                raise
        self._take_metadata()

    async def partitions_for(self, topic: str, timeout_ms: int) -> list[PartitionInfo]:
        await self.wait_for_topic(topic, None, timeout_ms)
        return self.metadata.cluster.partitions(topic)

    async def flush(self, timeout_ms: int | None) -> int:
        """The records that have no outcome when the time is up; 0 if all have."""
        self.sender.look(self._mono_ms())
        waited_for = set(self.sender.incomplete)
        if not waited_for:
            return 0
        done: Pending[None] = self.loop.pending()
        entry = (waited_for, done)
        self._flushes.append(entry)
        self.sender.hurries += 1
        timer = None if timeout_ms is None else self.loop.after(timeout_ms, lambda: done.resolve(None))
        try:
            self._pump()
            await done
        finally:
            self.sender.hurries -= 1
            if entry in self._flushes:
                self._flushes.remove(entry)
            if timer is not None:
                timer.cancel()
        return sum(batch.record_count for batch in waited_for)

    async def close(self, timeout_ms: int) -> None:
        """Sends what is there, for so long; what is left then is lost, and said so in one line."""
        self.accumulator.is_plain = False
        try:
            unsent = await self.flush(timeout_ms)
            if self.identity is not None:
                await self.identity.close(timeout_ms)
            if unsent:
                logger.warning("%s", self._lost_line(timeout_ms))
        finally:
            self._end()

    def _end(self) -> None:
        self._is_closed = True
        self.pool.close()
        self.accumulator.is_closed = True
        self.sender.look(self._mono_ms())  # what came a moment ago is told, too
        self.sender.abort_all(ClosedBeforeSent())
        self._run_callbacks()
        if self._timer is not None:
            self._timer.cancel()
        if self.identity is not None:
            self.identity.stop()
        self.channel.close()

    def _lost_line(self, timeout_ms: int) -> str:
        """How many records are lost, and why."""
        count = self.sender.unsent_records
        reasons = {_reason(batch, self._why_not_sent) for batch in self.sender.incomplete}
        why = "; ".join(sorted(filter(None, reasons))[:3])
        told = f"{count} records were not delivered when the producer was closed, after {timeout_ms / 1000:g} s"
        return f"{told}: {why}" if why else told

    # Metadata

    def _is_known(self, topic: str, partition: int | None) -> bool:
        partitions = self.metadata.cluster.partitions(topic)
        return bool(partitions) and (partition is None or partition < len(partitions))

    def _not_known(self, topic: str, partition: int | None, timeout_ms: int) -> KafkaError:
        seconds = f"{timeout_ms / 1000:g} s (max.block.ms)"
        partitions = self.metadata.cluster.partitions(topic)
        if partitions:
            there = f"it has {len(partitions)} partitions"
            return MetadataTimeout(f"Partition {partition} of topic {topic} was not known within {seconds}: {there}.")
        if self.metadata.cluster.is_bootstrap:
            because = self.lost_brokers.because()
            return MetadataTimeout(f"No broker could be asked about topic {topic} within {seconds}{because}")
        return MetadataTimeout(f"Topic {topic} was not known within {seconds}: the brokers do not have it.")

    async def _watch_metadata(self) -> None:
        """Leaders may change at any time, whoever has asked for the news."""
        while not self._is_closed:
            try:
                await self.channel.updater.wait_for_update(self.metadata.update_version, NEWS_WAIT_MS)
            except errors.RequestTimedOut:
                continue
            except KafkaError:
                if self._is_closed:
                    return
                await self.loop.sleep(self.settings.channel.retry_backoff_ms)
                continue
            self._take_metadata()
            self._pump()

    def _take_metadata(self) -> None:
        cluster = self.metadata.cluster
        if cluster.cluster_id != self._cluster_id:
            self._cluster_id = cluster.cluster_id
            self._when_cluster_known(cluster.cluster_id)
        known = {node.id for node in cluster.nodes}
        for topic in cluster.topics:
            leaders = [info.leader_id if info.leader_id in known else -1 for info in cluster.partitions(topic)]
            self.accumulator.set_topic(topic, leaders)
        self._forget_idle_topics()
        self.sender.leaders_changed(self._mono_ms())

    def _forget_idle_topics(self) -> None:
        """Those that were not written to for metadata.max.idle.ms: who writes to one again asks for it again."""
        used = {batch.queue.place[0] for batch in self.sender.incomplete}
        for topic in list(self.accumulator.topics):
            if topic not in self.metadata.topics and topic not in used:
                self.accumulator.forget_topic(topic)

    # What the network client tells

    def node_changed(self, node: Node) -> None:
        if self.identity is not None and not self.identity.is_begun and self._client.api_versions.get(node.id):
            self.identity.begin()
        if self.sender.lines.lines.get(node.id):
            self._pump_soon()

    def node_lost(self, lost: Lost) -> None:
        self._pump_soon()

    # The heart

    def _pump_soon(self) -> None:
        """Once for all that has come together: the answers of one turn make room for as many requests."""
        if not self._is_pump_due:
            self._is_pump_due = True
            self.loop.soon(self._pump)

    def _pump(self, _: object = None) -> None:
        self._is_pump_due = False
        if self._is_closed:
            return
        now_ms = self._mono_ms()
        sender = self.sender
        sender.look(now_ms)
        if sender.used_topics:
            for topic in sender.used_topics:
                self.metadata.add_topic(topic, now_ms)
            sender.used_topics.clear()
        for node_id, line in sender.lines.lines.items():
            if line:
                self._serve(node_id, now_ms)
        if sender.wants_metadata:
            sender.wants_metadata = False
            self.metadata.request_update(resets_backoff=False)
        if self.identity is not None:
            self.identity.pump()
        if sender.callbacks:
            self._run_callbacks()
        self._set_timer(now_ms)

    def _serve(self, node_id: int, now_ms: int) -> None:
        node = self.metadata.cluster.node(node_id)
        if node is None:
            self.sender.wants_metadata = True
            return
        while self.sender.lines.lines[node_id] and self._client.ready(node):
            self._note_ready(node_id)
            request = self.sender.drain(node_id, now_ms)
            if request is None:
                return
            self._send(node_id, request)
        if self.sender.lines.lines[node_id]:
            self._look_again_at(node_id, now_ms)

    def _look_again_at(self, node_id: int, now_ms: int) -> None:
        """It cannot take a request now. When it can be connected to again, or is throttled no more, nobody tells."""
        delay_ms = self._client.poll_delay_ms(node_id)
        if delay_ms:
            due_ms = now_ms + delay_ms
            self._look_again_ms = due_ms if self._look_again_ms is None else min(due_ms, self._look_again_ms)
        if self.settings.availability_timeout_ms:
            self._note_stalled(node_id, now_ms)

    def _send(self, node_id: int, request: BatchesRequest) -> None:
        expects_response = self.settings.sender.acks != 0
        version_max = VERSION_MAX if self.identity is None else self.identity.produce_version_max
        client = self._client
        try:
            version = client.api_versions.version_up_to(node_id, request.api_key, version_max)
            sent = client.send_ready(node_id, cast(Request, request), version, expects_response=expects_response)
        except KafkaError as error:
            self.sender.failed(request, error, self._mono_ms())
            return
        sent.when_done(partial(self._answered, request))

    def _answered(self, request: BatchesRequest, done: PendingResponse) -> None:
        self._pump_soon()  # first: callbacks of records are called before a flush that has waited for them goes on
        error = done.error
        if error is None:
            self.sender.answered(request, done.value(), self._mono_ms())
        else:
            done.is_observed = True
            known = error if isinstance(error, KafkaError) else errors.UnknownServerError(repr(error))
            self.sender.failed(request, known, self._mono_ms())

    def _batch_done(self, batch: SentBatch) -> None:
        if self._flushes:
            for waited_for, done in self._flushes:
                waited_for.discard(batch)
                if not waited_for:
                    done.resolve(None)

    def _batch_split(self, batch: SentBatch, parts: list[SentBatch]) -> None:
        for waited_for, _ in self._flushes:
            if batch in waited_for:
                waited_for.discard(batch)
                waited_for.update(parts)

    def _run_callbacks(self) -> None:
        """An error in one is told, and the next one is called."""
        callbacks, self.sender.callbacks = self.sender.callbacks, []
        for callback, future in callbacks:
            try:
                callback(future)
            except Exception:  # noqa: BLE001 - the program's, and the others are to be called
                logger.exception("a callback of a record that was sent has failed: %r", callback)

    def _why_not_sent(self, queue: PartitionQueue) -> str:
        if queue.leader_id < 0:
            return f"partition {queue.place[0]}-{queue.place[1]} has no leader that is known"
        if why := self.lost_brokers.why(queue.leader_id):
            return why
        if self.identity is not None and self.identity.why_not:
            return self.identity.why_not
        return ""

    # Nodes that take nothing

    def _note_ready(self, node_id: int) -> None:
        if self._stalled_since_ms.pop(node_id, None) is not None:
            self._set_available(node_id, True)

    def _note_stalled(self, node_id: int, now_ms: int) -> None:
        """After partitioner.availability.timeout.ms records without a key go elsewhere."""
        since_ms = self._stalled_since_ms.setdefault(node_id, now_ms)
        if now_ms - since_ms >= self.settings.availability_timeout_ms:
            self._set_available(node_id, False)

    def _set_available(self, node_id: int, is_available: bool) -> None:
        for topic in self.accumulator.topics.values():
            for queue in topic.queues:
                if queue.leader_id == node_id:
                    queue.is_available = is_available

    # Time

    def _set_timer(self, now_ms: int) -> None:
        """A timer that is too early finds nothing to do, and is cheaper than a new one in every turn."""
        deadline_ms = self.sender.deadline_ms()
        if self._look_again_ms is not None:
            deadline_ms = self._look_again_ms if deadline_ms is None else min(deadline_ms, self._look_again_ms)
            self._look_again_ms = None
        if deadline_ms is None:
            return
        timer = self._timer
        if timer is not None and timer.is_live:
            if timer.deadline_ms <= deadline_ms:
                return
            timer.cancel()
        self._timer = self.loop.after(max(0, deadline_ms - now_ms), self._pump)


def producer_session(
    settings: ProducerSettings,
    clock: Callable[[], int] | None = None,
    when_cluster_known: Callable[[str | None], object] = lambda _: None,
) -> Open[ProducerSession]:
    """Without a `clock` the time of a record is the machine's."""
    return lambda loop: ProducerSession(loop, settings, clock, when_cluster_known)


def _reason(batch: SentBatch, why_not_sent: Callable[[PartitionQueue], str]) -> str:
    if batch.failure is not None:
        return str(batch.failure.message)
    return why_not_sent(batch.queue)
