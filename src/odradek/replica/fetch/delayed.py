"""From a fetch request to its answer: at once, or when enough is there, or when its time is over.

A fetch that finds too little waits without looking: the partitions that it watches mark their entries, and only those
are measured again. It is answered when `min_bytes` are there, when something is wrong with a partition, or after
`max_wait_ms`; then the fresh entries are read once more, in their order.

While it waits it is itself what its connection waits for: most fetches of idle readers end with nothing to tell, and
leave nothing behind, not even for the garbage collector.
"""

from typing import TYPE_CHECKING

from odradek.broken_rule import BrokenRuleError
from odradek.log.read import TXN_COMMITTED
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import FetchResponse, PartitionData
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled
from odradek.replica.fetch.answer import answer_of, nothing_new, refused, release
from odradek.replica.fetch.expiry import Round
from odradek.replica.fetch.parameters import UNKNOWN_ISOLATION, FetchParameters
from odradek.replica.fetch.partition_data import size_of
from odradek.replica.fetch.reading import (
    ENTRIES_PER_SLICE,
    Reading,
    read_entries,
    read_in_slices,
    readable_bytes,
    resolve,
)
from odradek.replica.fetch.session import NO_SESSION, FetchSession
from odradek.replica.fetch_entry import NOTHING_TOLD, FetchEntry

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

READ_AHEADS_MAX = 8  # attempts to bring something into the page cache before the fetch is answered without it


class DelayedFetch(Pending[FetchResponse]):
    """`is_full` answers with every partition, as long as there is no session yet or none is wanted."""

    __slots__ = (
        "_epoch",
        "_is_waiting",
        "_marked",
        "_parameters",
        "_replicas",
        "_round",
        "_sizes",
        "_total",
        "is_full",
        "session",
        "wants_session",
    )

    def __init__(
        self,
        replicas: "ReplicaManager",
        session: FetchSession,
        parameters: FetchParameters,
        *,
        is_full: bool,
        wants_session: bool,
    ) -> None:
        self._replicas = replicas
        self._parameters = parameters
        self.session = session
        self.is_full = is_full
        self.wants_session = wants_session
        self._epoch = session.epoch
        self._is_waiting = False  # from `_wait`, which makes it a Pending, until it has an answer
        self._round: Round | None = None
        self._marked: dict[FetchEntry, None] | None = None  # none is waiting to be measured
        self._sizes: dict[FetchEntry, int] | None = None  # none has anything to read
        self._total = 0

    def start(self) -> FetchResponse | Pending[FetchResponse]:
        session, parameters = self.session, self._parameters
        if parameters.isolation == UNKNOWN_ISOLATION:
            self._refuse_isolation()
        if not session.fresh and session.size and parameters.max_wait_ms > 0 and parameters.min_bytes > 0:
            return self._wait()  # no partition has anything to tell: none is looked at
        entries = session.fresh_in_order()
        if len(entries) > ENTRIES_PER_SLICE:
            return self._replicas.loop.spawn(self._start_long(entries))
        return self._decide(read_entries(self._replicas, entries, self._parameters))

    def _refuse_isolation(self) -> None:
        """Where there is anything to read, the whole request is refused. As with Kafka, a session goes on all the same,
        and a request that names nothing but unknown partitions is told that."""
        for entry in self.session.entries():
            try:
                resolve(self._replicas, entry, self._parameters)
            except errors.NotLeaderOrFollower:
                pass  # it is known, and elsewhere
            except errors.KafkaError:
                continue
            raise errors.UnknownServerError("A fetch has an isolation level of 0 or 1.")

    async def _start_long(self, entries: list[FetchEntry]) -> FetchResponse:
        reading = await read_in_slices(self._replicas, entries, self._parameters)
        answer = self._respond(reading) if self._is_overtaken else self._decide(reading)
        if not isinstance(answer, Pending):
            return answer
        self._mark_moved(reading)
        try:
            return await answer
        except Cancelled:
            answer.cancel()
            raise

    def _mark_moved(self, reading: Reading) -> None:
        """Nobody watched these while the others were read: what has come meanwhile must not be slept through."""
        for entry, data in reading.results:
            log = None if entry.partition is None else entry.partition.log
            if log is None or self._parameters.is_follower or log.high_watermark != data.high_watermark:
                self.marked(entry)

    def _decide(self, reading: Reading) -> FetchResponse | Pending[FetchResponse]:
        parameters = self._parameters
        if reading.waits_for_disk:
            reading.release()
            return self._replicas.loop.spawn(self._answer_cold(reading))
        if (
            reading.is_urgent
            or reading.cold
            or parameters.max_wait_ms <= 0
            or reading.bytes >= parameters.min_bytes
            or not self.session.size
        ):
            return self._respond(reading)
        return self._watch_and_wait(reading)

    # Waiting.

    def _watch_and_wait(self, reading: Reading) -> Pending[FetchResponse]:
        reading.release()
        for entry, data in reading.results:
            self._watch(entry, size_of(data))
        return self._wait()

    def _wait(self) -> Pending[FetchResponse]:
        replicas = self._replicas
        Pending.__init__(self, replicas.loop.completions)
        replicas.purgatories["Fetch"].size += 1
        self._is_waiting = True
        self.session.waiting = self
        self._round = replicas.fetch_expiry.join(self._parameters.max_wait_ms, self)
        return self

    def marked(self, entry: FetchEntry) -> None:
        """Measured when the append that it came from is over, and once for all that happen together."""
        if self._marked is None:
            self._marked = {}
            self._replicas.loop.soon(self._check)
        self._marked[entry] = None

    def _check(self, _: object) -> None:
        marked, self._marked = self._marked, None
        if not self._is_waiting or marked is None:
            return
        is_any_enough = self._parameters.min_bytes <= 1
        for entry in marked:
            if is_any_enough and _has_more(entry, self._parameters):
                self._end_wait()  # to measure what will be read in a moment would be to read it twice
                return
            size = readable_bytes(self._replicas, entry, self._parameters)
            if size is None:
                self._end_wait()
                return
            self._watch(entry, size)
        if self._total >= self._parameters.min_bytes:
            self._end_wait()

    def _watch(self, entry: FetchEntry, size: int) -> None:
        """From now on its partition says when there is more than the `size` bytes that there are to read."""
        partition = entry.partition
        if partition is None:
            raise BrokenRuleError("a fetch waits for partitions that it has found")
        partition.watch(entry)
        if self._sizes is None:
            self._sizes = {}
        self._total += size - self._sizes.get(entry, 0)
        self._sizes[entry] = size

    def expire(self) -> None:
        metrics = self._replicas.metrics
        (metrics.follower_expirations if self._parameters.is_follower else metrics.fetch_expirations).count += 1
        self._end_wait()

    def _end_wait(self) -> None:
        if not self._is_waiting:
            return
        if not self.session.fresh and not self.is_full:
            self._deliver(self._nothing_new())
            return
        reading = read_entries(self._replicas, self.session.fresh_in_order(), self._parameters)
        if reading.waits_for_disk:
            reading.release()
            self._replicas.loop.spawn(self._resolve_cold(reading))
        else:
            self._deliver(self._respond(reading))

    def _deliver(self, response: FetchResponse) -> None:
        if self.resolve(response):
            self._ended()
        else:
            release(response)

    def give_way(self) -> None:
        """Another request has gone on with the session: this one's epoch is over."""
        if self._is_waiting:
            self._deliver(refused(errors.InvalidFetchSessionEpoch()))

    def cancel(self) -> bool:
        """Its connection is gone."""
        is_first = super().cancel()
        if is_first:
            self._ended()
        return is_first

    def _ended(self) -> None:
        """Answered, or given up."""
        session = self.session
        self._is_waiting = False
        self._replicas.purgatories["Fetch"].size -= 1
        if self._round is not None:
            self._replicas.fetch_expiry.leave(self._round, self)
        if session.waiting is self:
            session.waiting = None
        if session.id == NO_SESSION or session.is_closed:
            session.close()

    # What is not in the page cache.

    async def _answer_cold(self, reading: Reading) -> FetchResponse:
        for _ in range(READ_AHEADS_MAX):
            for log, cold in reading.cold:
                try:
                    await self._replicas.logs.read_ahead(log, cold)
                except errors.KafkaError:
                    break  # the dir has failed, or is about to: the next read says so
                break  # one is enough to answer; the others come with the next fetch
            reading = read_entries(self._replicas, self.session.fresh_in_order(), self._parameters)
            if not reading.waits_for_disk:
                break
            reading.release()
        return self._respond(reading)

    async def _resolve_cold(self, reading: Reading) -> None:
        self._deliver(await self._answer_cold(reading))

    # The answer.

    def _nothing_new(self) -> FetchResponse:
        if self._is_overtaken:
            return refused(errors.InvalidFetchSessionEpoch())
        response = nothing_new(self.session.id)
        if self._parameters.on_answer is not None:
            self._parameters.on_answer(response)
        return response

    def _respond(self, reading: Reading) -> FetchResponse:
        session = self.session
        if self._is_overtaken:
            reading.release()
            return refused(errors.InvalidFetchSessionEpoch())
        for log, cold in reading.cold:
            self._replicas.logs.read_ahead(log, cold).is_observed = True
        if self.wants_session:
            told = [pair for pair in reading.results if self._tell(*pair) or self.is_full]
            if self.is_full:
                self._replicas.sessions.maybe_add(session, self._replicas.mono_ms())
        else:
            told = reading.results
        if self.wants_session and not self._is_waiting and session.id == NO_SESSION:
            session.close()  # else no partition knows it
        response = answer_of(told, session.id)
        self._count(told)
        if reading.is_urgent:
            self._complete(response)
        if self._parameters.on_answer is not None:
            self._parameters.on_answer(response)
        return response

    @property
    def _is_overtaken(self) -> bool:
        """Another request has gone on with the session."""
        return not self.is_full and self.session.epoch != self._epoch

    def _count(self, told: list[tuple[FetchEntry, PartitionData]]) -> None:
        for entry, data in told:
            size = size_of(data)
            if size and entry.partition is not None:
                entry.partition.topic.counters.bytes_out.count += size

    def _complete(self, response: FetchResponse) -> None:
        self._replicas.metrics.failed_fetches.count += 1
        if self._parameters.on_error is not None:
            self._parameters.on_error(response)

    def _tell(self, entry: FetchEntry, data: PartitionData) -> bool:
        """Whether an incremental answer has to hold it; notes what the reader knows from here on."""
        session = self.session
        if data.error_code:
            entry.told_high_watermark = NOTHING_TOLD  # so that the end of the error is told as well
            return True
        has_news = (
            entry.told_high_watermark != data.high_watermark or entry.told_log_start_offset != data.log_start_offset
        )
        entry.told_high_watermark = data.high_watermark
        entry.told_log_start_offset = data.log_start_offset
        if size_of(data):
            session.told_records(entry)
            return True
        if data.diverging_epoch.epoch >= 0:
            return True
        if not _has_more(entry, self._parameters):
            session.told_all(entry)
        return has_news


def _has_more(entry: FetchEntry, parameters: FetchParameters) -> bool:
    """Whether the log has anything that the reader may have, from the entry's offset on.

    After an answer: there was no room for it, or it is not in the page cache, and it is looked at again.
    """
    partition = entry.partition
    log = None if partition is None else partition.role.log
    if log is None:
        return True  # the next read says why
    if parameters.is_follower:
        return entry.fetch_offset < log.log_end_offset
    limit = log.last_stable_offset if parameters.isolation == TXN_COMMITTED else log.high_watermark
    return entry.fetch_offset < limit
