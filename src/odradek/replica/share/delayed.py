"""A share fetch: acquires what there is, or waits until there is something, or until its time is over.

The share-partitions of the session take turns in coming first. Each is read from its next fetch offset on; the bytes
are dealt out equally among those that can give something, the records as they come. As long as there are fewer than
`min_bytes` nothing is acquired. A share-partition that moves (an append, a record that came back) marks the fetches
that wait for it, and each of these looks once more.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from odradek.log.failure import NotInCache
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicIdPartition
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Buffer
from odradek.reactor.timers import Timer
from odradek.replica.delayed import Waiting
from odradek.replica.share import reading
from odradek.replica.share.led_share_partition import LedSharePartition
from odradek.replica.share.partition import Acquired, AcquireLimits
from odradek.replica.share.sessions import ShareSession

if TYPE_CHECKING:
    from odradek.log.log import Log
    from odradek.replica.share.manager import SharePartitionManager

READ_AHEADS_MAX = 8  # attempts to bring something into the page cache before the fetch is answered without it


class ShareFetchParameters(NamedTuple):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    is_record_limit: bool


class Fetched(NamedTuple):
    """What one share-partition gives: records and which of them are the member's now, or what is wrong."""

    records: Buffer = reading.NO_BYTES
    acquired: tuple[Acquired, ...] = ()
    error: errors.KafkaError | None = None


FetchedAll = dict[TopicIdPartition, Fetched]


class _Readable(NamedTuple):
    place: TopicIdPartition
    led: LedSharePartition
    read: reading.ReadBatches


class DelayedShareFetch:
    __slots__ = (
        "_cold",
        "_is_marked",
        "_manager",
        "_parameters",
        "_pending",
        "_read_aheads",
        "_session",
        "_timer",
        "_watched",
    )

    def __init__(
        self, manager: "SharePartitionManager", session: ShareSession, parameters: ShareFetchParameters
    ) -> None:
        self._manager = manager
        self._session = session
        self._parameters = parameters
        self._pending: Waiting[FetchedAll] = Waiting(manager.replicas.loop.completions, self.ended)
        self._timer: Timer | None = None
        self._watched: dict[TopicIdPartition, LedSharePartition] = {}
        self._is_marked = False
        self._cold: list[tuple[Log, NotInCache]] = []
        self._read_aheads = 0

    def start(self) -> Pending[FetchedAll]:
        manager = self._manager
        self._timer = manager.replicas.loop.after(max(0, self._parameters.max_wait_ms), self._expire)
        self._look(is_last=self._parameters.max_wait_ms <= 0)
        return self._pending

    def marked(self, led: LedSharePartition) -> None:
        """Looks when the append or the write that it came from is over, and once for all that happen together."""
        if not self._is_marked:
            self._is_marked = True
            self._manager.replicas.loop.soon(self._look_again)

    def _look_again(self, _: object) -> None:
        self._is_marked = False
        self.look()

    def look(self) -> None:
        if not self._pending.is_done:
            self._look()

    def _expire(self) -> None:
        if not self._pending.is_done:
            self._look(is_last=True)

    def _look(self, *, is_last: bool = False) -> None:
        results, readable = self._read()
        is_enough = sum(len(each.read.content) for each in readable) >= max(1, self._parameters.min_bytes)
        if is_enough or is_last:
            self._acquire(readable, results)
        if any(fetched.acquired or fetched.error for fetched in results.values()) or self._is_over(is_last):
            self._deliver(results)

    def _is_over(self, is_last: bool) -> bool:
        """Whether nothing more is waited for, not even for the disk."""
        if self._cold and self._read_aheads < READ_AHEADS_MAX:
            self._read_aheads += 1
            self._manager.replicas.loop.spawn(self._read_ahead(is_last))
            return False
        return is_last or not self._session.places

    async def _read_ahead(self, is_last: bool) -> None:
        log, cold = self._cold[0]
        with suppress(errors.KafkaError):  # the dir has failed, or is about to: the next read says so
            await self._manager.replicas.logs.read_ahead(log, cold)
        if not self._pending.is_done:
            self._look(is_last=is_last)

    # Reading

    def _read(self) -> tuple[FetchedAll, list[_Readable]]:
        """What is wrong, and what could be acquired."""
        results: FetchedAll = {}
        ready: list[tuple[TopicIdPartition, LedSharePartition]] = []
        self._cold = []
        for place in self._session.rotated():
            try:
                led = self._led(place)
            except errors.KafkaError as error:
                results[place] = Fetched(error=error)
                continue
            if led.core is not None and led.is_active and led.core.can_acquire(led.config.locks_max):
                ready.append((place, led))
        return results, self._read_ready(ready, results)

    def _led(self, place: TopicIdPartition) -> LedSharePartition:
        """From now on we hear of it. One that could not be loaded is not tried again by the same fetch."""
        watched = self._watched.get(place)
        if watched is not None and watched.failure is not None:
            raise watched.failure
        led = self._manager.led(self._session.group_id, place)
        if led is not watched:
            self._watched[place] = led
            led.add_waiter(self)
        return led

    def _read_ready(
        self, ready: list[tuple[TopicIdPartition, LedSharePartition]], results: FetchedAll
    ) -> list[_Readable]:
        readable: list[_Readable] = []
        each_max = self._parameters.max_bytes // max(1, len(ready))
        for place, led in ready:
            try:
                read = self._read_one(led, each_max, is_first=not readable)
            except NotInCache as cold:
                self._cold.append((led.partition.leader_log(), cold))
            except errors.KafkaError as error:
                results[place] = Fetched(error=error)
            else:
                if read.read_to >= 0:
                    readable.append(_Readable(place, led, read))
        return readable

    def _read_one(self, led: LedSharePartition, bytes_max: int, *, is_first: bool) -> reading.ReadBatches:
        core = led.loaded_core
        log = led.partition.leader_log()
        core.log_start_moved(log.log_start_offset)
        offset = core.next_fetch_offset()
        if offset > log.log_end_offset:
            return reading.NOTHING  # an admin has set it to what is still to come
        return reading.read_batches(
            self._manager.replicas.logs,
            log,
            offset,
            max(0, bytes_max),
            reads_committed=led.config.reads_committed,
            min_one_message=is_first,
        )

    # Acquiring

    def _acquire(self, readable: list[_Readable], results: FetchedAll) -> None:
        left = self._parameters.max_records
        for place, led, read in readable:
            if left <= 0:
                return
            fetched = self._acquire_one(led, read, left)
            left -= sum(each.last_offset - each.first_offset + 1 for each in fetched.acquired)
            if fetched.acquired:
                results[place] = fetched

    def _acquire_one(self, led: LedSharePartition, read: reading.ReadBatches, left: int) -> Fetched:
        core, config, parameters = led.loaded_core, led.config, self._parameters
        limits = AcquireLimits(left, parameters.batch_size, config.locks_max, parameters.is_record_limit)
        lock_ms = self._manager.replicas.mono_ms() + config.lock_duration_ms
        before = core.next_fetch_offset()
        acquired = core.acquire(self._session.member_id, read.told, read.read_to, limits, lock_ms)
        led.arm()
        if not acquired:
            if core.next_fetch_offset() != before:
                self.marked(led)  # there was nothing but gaps: what comes behind them?
            return Fetched()
        content = reading.part_of(read, acquired[-1].last_offset)
        counters = led.partition.topic.counters
        counters.bytes_out.count += len(content)
        self._manager.replicas.metrics.all_topics.bytes_out.count += len(content)
        return Fetched(content, tuple(acquired))

    # The end

    def _deliver(self, results: FetchedAll) -> None:
        if self._pending.resolve(results):
            self.ended()

    def ended(self) -> None:
        """Answered, or given up because the connection is gone."""
        if self._timer is not None:
            self._timer.cancel()
        for led in self._watched.values():
            led.remove_waiter(self)
        self._watched = {}
