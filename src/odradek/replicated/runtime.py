"""Decide, append, replay, answer: how a replicated state machine is run.

A core is a plain object that knows neither log nor clock. An event is a function of the core: it looks at the
state and returns a `Decision`, and changes nothing. The runtime appends the decision's records to the log and, once
the append has succeeded, replays them into the core at once, so that the next event sees them. The answer is
another matter: it waits until the newest record that the decision *has seen*, its own or an older one, is
committed. So a read waits as well while something it may have looked at could still be lost.

                 attach               activate(epoch)
    UNLOADED ------------> LOADING ------------------> ACTIVE      LOADING: takes in records of the log
        ^                     ^                          |         ACTIVE: and those of its own events
        |                     +-- release, all is known -+
        +------- release with records that may be lost --+         from anywhere: a replay that fails

A failed append has changed nothing: the error is the answer. Losing the leadership (`release`) leaves a core as it is
that has seen committed records only. One that may hold records that the log will lose is done with: the owner attaches
a fresh one, which is loaded from the log. Whoever waits gets what the owner's `refusal` says.

Records of the log come in through `load`, while there is no leader to decide, or from the owner, who replays them into
the core and tells by `loaded` how far; `commit` opens the gate for what the runtime has appended itself.

A core whose `replay` raises no longer equals its log, and nothing it says can be trusted: `on_fault` is told, and
the runtime serves no more.

A decision about thousands of records would hold up everybody else. With a log that can take encoded records it is made
in steps, one a turn: deciding (if the core hands out its records one by one), encoding, replaying. Events that come
meanwhile wait: none of them sees a core that has replayed one half, and the order of the log stays that of the events.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from odradek.broken_rule import BrokenRuleError
from odradek.protocol.errors import KafkaError, PolicyViolation
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.slices import Slices
from odradek.replicated.decision import Decision

RECORDS_PER_APPEND_MAX = 10_000
RECORDS_PER_LOOK = 128  # between two looks at the clock
RECORDS_PER_STEP = 256  # of a long decision, in one turn: a few milliseconds

_TAKEN = (list, tuple)  # records that are all there

UNLOADED, LOADING, ACTIVE = "unloaded", "loading", "active"


# What a log and a core agree upon, and the runtime hands from one to the other without looking into it. A record to be
# appended is a pair with the version to write it in; the core replays it without.
Record = Any
Response = Any  # of events that wait in one line, each with an answer of its own kind


class ReplicatedLog(Protocol):
    """Where the records go. `append` puts them into one batch and returns the offset of the last one."""

    def append(self, epoch: int, records: Sequence[Record]) -> int:
        """Raises a KafkaError, and has appended nothing, when this node does not lead the log in that epoch."""
        ...


class EncodedLog(ReplicatedLog, Protocol):
    """A log to which a batch can be prepared record by record."""

    def encode(self, record: Record) -> bytes: ...
    def append_encoded(self, epoch: int, encoded: Sequence[bytes]) -> int:
        """Appends a batch of encoded records, and raises, as `append` does."""
        ...


class Core(Protocol):
    def replay(self, record: Record, offset: int) -> None:
        """The only writer of the core's state. `record` is what the log holds, without its version."""
        ...


C = TypeVar("C", bound=Core)
R = TypeVar("R")

_Steps = Generator[None, None, Decision[Response]]  # of a decision; between two of them the loop may turn
_Uncommitted = tuple[int, Pending[Response], Response, BaseException | None]


class Runtime(Generic[C]):
    __slots__ = (
        "_encoded_log",
        "_log",
        "_loop",
        "_make_core",
        "_on_fault",
        "_refusal",
        "_uncommitted",
        "_under_way",
        "_waiting",
        "appended_offset",
        "committed_offset",
        "core",
        "epoch",
        "replayed_offset",
        "state",
    )

    def __init__(
        self,
        loop: Loop,
        log: ReplicatedLog,
        make_core: Callable[[], C],
        *,
        refusal: Callable[[], KafkaError],
        on_fault: Callable[[BaseException], None],
        encoded_log: EncodedLog | None = None,
    ) -> None:
        """`encoded_log` is the same log once more, if long decisions are to be made in steps."""
        self._loop = loop
        self._log = log
        self._encoded_log = encoded_log
        self._make_core = make_core
        self._on_fault = on_fault
        self._refusal = refusal  # what a caller gets while this node does not serve
        self._uncommitted: deque[_Uncommitted] = deque()  # answers that wait, by rising offset
        self._under_way: tuple[_Steps, Pending[Response]] | None = None  # the decision that is made in steps
        self._waiting: deque[tuple[Callable[[C], Decision[Response]], Pending[Response]]] = deque()  # events behind it
        self.core = make_core()
        self.state = UNLOADED
        self.epoch = -1
        self.replayed_offset = -1
        self.appended_offset = -1  # larger than `replayed_offset` only while a long decision is replayed
        self.committed_offset = -1

    @property
    def is_active(self) -> bool:
        return self.state is ACTIVE

    @property
    def is_busy(self) -> bool:
        """A long decision is under way: an event that is run now will be decided later."""
        return self._under_way is not None

    # Taking up and giving up the lead

    def attach(self) -> None:
        """A fresh core that is ready to be loaded."""
        self._refuse_all()
        self.core = self._make_core()
        self.state = LOADING
        self.epoch = -1
        self.replayed_offset = self.appended_offset = -1
        self.committed_offset = -1

    async def load(self, batches: Iterable[Sequence[Record]], last_offset: int) -> None:
        """Much of the log, or a snapshot that stands for all of it up to an offset, in slices."""
        slices = Slices(self._loop)
        for records in batches:
            for start in range(0, len(records), RECORDS_PER_LOOK):
                self._replay(records[start : start + RECORDS_PER_LOOK], last_offset)
                await slices.pause_if_over()
        self.replayed_offset = self.appended_offset = last_offset
        self.commit(last_offset)

    def loaded(self, last_offset: int, committed_offset: int) -> None:
        """The owner has replayed the log into the core itself, of which so much is committed."""
        if self.state is not LOADING:
            raise BrokenRuleError(f"a runtime that is {self.state} cannot be loaded")
        self.replayed_offset = self.appended_offset = last_offset
        self.commit(committed_offset)

    def activate(self, epoch: int) -> None:
        """From now on events are run: everything that the log holds has been replayed."""
        if self.state is not LOADING:
            raise BrokenRuleError(f"a runtime that is {self.state} cannot be activated")
        self.state = ACTIVE
        self.epoch = epoch

    def release(self) -> bool:
        """Stops serving; True if the core has seen records that may yet be lost, so that it must be loaded anew."""
        is_dirty = self.appended_offset > min(self.replayed_offset, self.committed_offset)
        self._refuse_all()
        if self.state is ACTIVE:
            self.state = LOADING
        self.epoch = -1
        if is_dirty:
            self.state = UNLOADED
        return is_dirty

    # Events

    def run(self, event: Callable[[C], Decision[R]]) -> Pending[R]:
        """Lets the core decide; the response comes when everything that the decision has seen is committed."""
        pending: Pending[R] = Pending(self._loop.completions)
        if self._under_way is not None:
            self._waiting.append((event, pending))
        elif self._encoded_log is None:
            self._run_at_once(event, pending)
        else:
            self._go_on(self._steps(event), pending)
        return pending

    def _run_at_once(self, event: Callable[[C], Decision[R]], pending: Pending[R]) -> None:
        """Without an encoded log a decision has no steps."""
        try:
            if self.state is not ACTIVE:
                raise self._refusal()
            decision = event(self.core)
            records = decision.records
            if not isinstance(records, _TAKEN):
                records = [record for record in records if record is not None]
            for batch in _batches(records, decision.is_atomic) if records else ():
                self._append(batch)
        except Exception as error:  # noqa: BLE001 - the answer of this event, not of the runtime
            self._answer_when_committed(pending, None, error)
        else:
            self._answer_when_committed(pending, decision.response, None)

    def _append(self, records: Sequence[Record]) -> None:
        last_offset = self._log.append(self.epoch, records)
        self._note_appended(records, last_offset)
        self._replay([record for record, _ in records], last_offset)

    def _note_appended(self, records: Sequence[Record], last_offset: int) -> None:
        if last_offset - len(records) < self.replayed_offset:
            raise BrokenRuleError("the log went on behind the back of its leader")
        self.appended_offset = last_offset

    def _go_on(self, steps: _Steps, pending: Pending[Response]) -> None:
        """One step; most decisions have no more."""
        try:
            next(steps)
        except StopIteration as end:
            self._answer_when_committed(pending, end.value.response, None)
        except Exception as error:  # noqa: BLE001 - the answer of this event, not of the runtime
            self._answer_when_committed(pending, None, error)
        else:
            self._under_way = (steps, pending)
            self._loop.after(0, self._go_on_later)

    def _go_on_later(self) -> None:
        if self._under_way is None:
            return  # given up meanwhile
        under_way, self._under_way = self._under_way, None
        self._go_on(*under_way)
        while self._under_way is None and self._waiting:
            event, pending = self._waiting.popleft()
            self._go_on(self._steps(event), pending)

    def _steps(self, event: Callable[[C], Decision[Response]]) -> _Steps:
        if self.state is not ACTIVE:
            raise self._refusal()
        decision = event(self.core)
        records = decision.records
        if not isinstance(records, Sequence):
            records = yield from self._taken(records)
        for batch in _batches(records, decision.is_atomic):
            yield from self._append_steps(batch)
        return decision

    def _taken(self, records: Iterable[Record]) -> Generator[None, None, list[Record]]:
        """Nothing changes the core meanwhile: who makes the records may look at it from one to the next."""
        taken: list[Record] = []
        for some in _some(records):
            taken += [record for record in some if record is not None]
            if len(some) == RECORDS_PER_STEP:
                yield
        return taken

    def _append_steps(self, records: Sequence[Record]) -> Generator[None, None, None]:
        log = self._encoded_log
        if log is None or len(records) <= RECORDS_PER_STEP:
            self._append(records)
            return
        encoded: list[bytes] = []
        for some in _some(records):
            encoded += map(log.encode, some)
            yield
        last_offset = log.append_encoded(self.epoch, encoded)
        self._note_appended(records, last_offset)
        offset = last_offset - len(records)
        for some in _some(records):
            offset += len(some)
            yield
            self._replay([record for record, _ in some], offset)

    def commit(self, offset: int) -> None:
        """Everything up to this offset is committed."""
        if offset <= self.committed_offset:
            return
        self.committed_offset = offset
        uncommitted = self._uncommitted
        while uncommitted and uncommitted[0][0] <= offset:
            _, pending, response, error = uncommitted.popleft()
            _finish(pending, response, error)

    def _replay(self, records: Sequence[Record], last_offset: int) -> None:
        replay = self.core.replay
        try:
            for offset, record in enumerate(records, last_offset - len(records) + 1):
                replay(record, offset)
        except Exception as error:
            self.state = UNLOADED
            self._refuse_all()
            self._on_fault(error)
            raise
        self.replayed_offset = last_offset
        self.appended_offset = max(self.appended_offset, last_offset)

    def _answer_when_committed(
        self, pending: Pending[Response], response: Response, error: BaseException | None
    ) -> None:
        """A refusal waits as well: "that topic exists" may be said of one whose record is lost a moment later."""
        if self.replayed_offset <= self.committed_offset or self.state is not ACTIVE:
            _finish(pending, response, error)
        else:
            self._uncommitted.append((self.replayed_offset, pending, response, error))

    def _refuse_all(self) -> None:
        uncommitted, self._uncommitted = self._uncommitted, deque()
        waiting, self._waiting = self._waiting, deque()
        under_way, self._under_way = self._under_way, None
        for _, pending, _, _ in uncommitted:
            pending.fail(self._refusal())
        if under_way is not None:
            under_way[0].close()
            under_way[1].fail(self._refusal())
        for _, pending in waiting:
            pending.fail(self._refusal())


def _batches(records: Sequence[Record], is_atomic: bool) -> Iterator[Sequence[Record]]:
    if len(records) > RECORDS_PER_APPEND_MAX and is_atomic:
        raise PolicyViolation("Unable to perform excessively large batch operation.")
    for start in range(0, len(records), RECORDS_PER_APPEND_MAX):
        yield records[start : start + RECORDS_PER_APPEND_MAX]


def _some(records: Iterable[Record]) -> Iterator[list[Record]]:
    """In pieces of a step each."""
    rest = iter(records)
    while some := list(islice(rest, RECORDS_PER_STEP)):
        yield some


def _finish(pending: Pending[Response], response: Response, error: BaseException | None) -> None:
    if error is None:
        pending.resolve(response)
    else:
        pending.fail(error)
