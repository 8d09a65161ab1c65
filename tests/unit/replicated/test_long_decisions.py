"""Decisions about more records than one turn takes: made in steps, and nobody sees one of them half done."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from odradek.protocol.errors import CoordinatorLoadInProgress, NotController, PolicyViolation
from odradek.replicated.decision import Decision, answer
from odradek.replicated.runtime import RECORDS_PER_APPEND_MAX, RECORDS_PER_STEP, Runtime
from odradek.sim.world import World

LONG = 3 * RECORDS_PER_STEP + 1


class Numbers:
    """A core that keeps what it is told, in order."""

    def __init__(self) -> None:
        self.kept: list[int] = []

    def replay(self, record: int, offset: int) -> None:
        if record < 0:
            raise ValueError("this core cannot keep that")
        assert offset == len(self.kept)
        self.kept.append(record)


class Log:
    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.error: Exception | None = None

    def append(self, epoch: int, records: Sequence[Any]) -> int:
        return self.append_encoded(epoch, [self.encode(record) for record in records])

    def encode(self, record: Any) -> bytes:
        return record[0].to_bytes(4, "big", signed=True)

    def append_encoded(self, epoch: int, encoded: Sequence[bytes]) -> int:
        if self.error is not None:
            raise self.error
        self.batches.append([int.from_bytes(each, "big", signed=True) for each in encoded])
        return sum(map(len, self.batches)) - 1


class Rig:
    def __init__(self) -> None:
        self.world = World(7)
        self.node = self.world.node("n")
        self.loop = self.node.boot()
        self.log = Log()
        self.faults: list[BaseException] = []
        self.runtime = Runtime(
            self.loop,
            self.log,
            Numbers,
            refusal=CoordinatorLoadInProgress,
            on_fault=self.faults.append,
            encoded_log=self.log,
        )
        self.runtime.attach()
        self.runtime.activate(3)

    def keep(self, numbers: Any, *, is_atomic: bool = True) -> Any:
        """A list is decided at once; an iterator as it is taken."""

        def decide(core: Numbers) -> Decision[int]:
            records: Any = ((number, 0) for number in numbers)
            return Decision(
                list(records) if isinstance(numbers, Sequence) else records, len(core.kept), is_atomic=is_atomic
            )

        return self.runtime.run(decide)

    def seen(self) -> Any:
        return self.runtime.run(lambda core: answer(list(core.kept)))

    def turn(self) -> None:
        """One turn of the loop, as far as this runtime goes."""
        self.runtime._go_on_later()

    def settle(self) -> None:
        self.node.attend()
        assert self.world.run_until(lambda: not self.runtime.is_busy, 10_000)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_it_is_one_batch_and_takes_several_turns(rig: Rig) -> None:
    kept = rig.keep(range(LONG))
    assert rig.runtime.is_busy
    assert not rig.log.batches, "nothing is appended before all of it is encoded"
    rig.settle()
    assert rig.log.batches == [list(range(LONG))]
    assert rig.runtime.core.kept == list(range(LONG))
    assert not kept.is_done, "it is not committed yet"
    rig.runtime.commit(LONG - 1)
    assert kept.value() == 0


def test_others_wait_and_see_all_of_it(rig: Rig) -> None:
    rig.keep(range(LONG))
    seen, later = rig.seen(), rig.keep([7])
    assert rig.log.batches == []
    rig.settle()
    assert rig.log.batches == [list(range(LONG)), [7]]
    rig.runtime.commit(LONG)
    assert seen.value() == list(range(LONG))
    assert later.value() == LONG


def test_the_commit_may_come_before_the_end_of_the_replay(rig: Rig) -> None:
    kept = rig.keep(range(LONG))
    while not rig.log.batches:
        rig.turn()
    assert rig.runtime.replayed_offset < rig.runtime.appended_offset
    rig.runtime.commit(LONG - 1)
    assert not kept.is_done, "the next event would not see it yet"
    rig.settle()
    assert kept.value() == 0
    assert rig.runtime.core.kept == list(range(LONG)), "its own records are replayed once"


def test_records_are_made_as_they_are_taken(rig: Rig) -> None:
    made = 0

    def numbers() -> Iterator[int]:
        nonlocal made
        for made in range(1, LONG + 1):
            yield made - 1

    rig.keep(numbers())
    assert made == RECORDS_PER_STEP
    rig.settle()
    assert made == LONG
    assert rig.log.batches == [list(range(LONG))]


def test_an_error_in_the_middle_has_changed_nothing(rig: Rig) -> None:
    def numbers() -> Iterator[int]:
        yield from range(LONG)
        raise PolicyViolation("too many")

    refused, seen = rig.keep(numbers()), rig.seen()
    rig.settle()
    assert isinstance(refused.error, PolicyViolation)
    assert seen.value() == []
    assert not rig.log.batches


def test_a_failed_append_has_changed_nothing(rig: Rig) -> None:
    rig.log.error = NotController()
    refused, seen = rig.keep(range(LONG)), rig.seen()
    rig.settle()
    assert isinstance(refused.error, NotController)
    assert seen.value() == []


def test_leadership_lost_before_the_append(rig: Rig) -> None:
    kept, seen = rig.keep(range(LONG)), rig.seen()
    assert rig.runtime.release() is False, "the core has seen nothing that could be lost"
    rig.settle()
    for refused in (kept, seen):
        assert isinstance(refused.error, CoordinatorLoadInProgress)
    assert not rig.log.batches


@pytest.mark.parametrize("is_committed", [False, True])
def test_leadership_lost_in_the_middle_of_the_replay(rig: Rig, is_committed: bool) -> None:
    kept = rig.keep(range(LONG))
    while rig.runtime.replayed_offset < RECORDS_PER_STEP - 1:
        rig.turn()
    if is_committed:
        rig.runtime.commit(LONG - 1)
    assert rig.runtime.release() is True, "the core is half of what the log says"
    assert isinstance(kept.error, CoordinatorLoadInProgress)
    rig.runtime.attach()
    rig.turn()
    assert rig.runtime.core.kept == [], "what was under way does not touch the next core"


def test_what_is_not_atomic_is_cut_into_batches(rig: Rig) -> None:
    kept = rig.keep(iter(range(RECORDS_PER_APPEND_MAX + 5)), is_atomic=False)
    refused = rig.keep(iter(range(RECORDS_PER_APPEND_MAX + 5)))
    rig.settle()
    assert [len(batch) for batch in rig.log.batches] == [RECORDS_PER_APPEND_MAX, 5]
    rig.runtime.commit(RECORDS_PER_APPEND_MAX + 4)
    assert kept.value() == 0
    assert isinstance(refused.error, PolicyViolation)


def test_a_record_that_cannot_be_replayed_ends_it(rig: Rig) -> None:
    kept, seen = rig.keep([*range(LONG), -1]), rig.seen()
    rig.settle()
    assert isinstance(kept.error, ValueError)
    assert isinstance(seen.error, CoordinatorLoadInProgress)
    assert len(rig.faults) == 1
    assert not rig.runtime.is_active
