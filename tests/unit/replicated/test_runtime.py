"""Decide, append, replay, answer, behind a gate that opens late, or never."""

from typing import Any

import pytest

from odradek.protocol.errors import CoordinatorLoadInProgress, KafkaStorageError, NotController, PolicyViolation
from odradek.replicated.decision import Decision, answer
from odradek.replicated.runtime import RECORDS_PER_APPEND_MAX, Runtime
from odradek.sim.world import World


class Sum:
    """A core that adds numbers."""

    def __init__(self) -> None:
        self.total = 0
        self.offsets: list[int] = []

    def replay(self, record: int, offset: int) -> None:
        if record < 0:
            raise ValueError("this core cannot subtract")
        self.total += record
        self.offsets.append(offset)

    def add(self, *numbers: int, is_atomic: bool = True) -> Decision[int]:
        return Decision([(number, 0) for number in numbers], self.total + sum(numbers), is_atomic=is_atomic)

    def read(self) -> Decision[int]:
        return answer(self.total)


class Log:
    """The port in memory."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.error: Exception | None = None

    def append(self, epoch: int, records: Any) -> int:
        if self.error is not None:
            raise self.error
        self.batches.append([record for record, _ in records])
        return sum(map(len, self.batches)) - 1


class Rig:
    def __init__(self) -> None:
        self.world = World(7)
        self.node = self.world.node("n")
        self.log = Log()
        self.faults: list[BaseException] = []
        self.runtime = Runtime(
            self.node.boot(), self.log, Sum, refusal=CoordinatorLoadInProgress, on_fault=self.faults.append
        )
        self.runtime.attach()
        self.runtime.activate(3)

    def add(self, *numbers: int, is_atomic: bool = True) -> Any:
        return self.runtime.run(lambda core: core.add(*numbers, is_atomic=is_atomic))

    def load(self, records: list[int], last_offset: int) -> None:
        """Records of the log that others have written."""
        loop = self.node.loop
        assert loop is not None
        loop.spawn(self.runtime.load([records], last_offset)).value()

    def read(self) -> Any:
        return self.runtime.run(lambda core: core.read())


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_an_answer_waits_for_its_records(rig: Rig) -> None:
    added = rig.add(1, 2)
    assert rig.runtime.core.total == 3, "the next event must see it at once"
    assert not added.is_done
    rig.runtime.commit(0)
    assert not added.is_done, "half of its records is not enough"
    rig.runtime.commit(1)
    assert added.value() == 3


def test_a_read_waits_for_what_it_has_seen(rig: Rig) -> None:
    rig.add(5)
    read = rig.read()
    assert not read.is_done
    rig.runtime.commit(0)
    assert read.value() == 5
    assert rig.read().is_done, "nothing is uncommitted: there is nothing to wait for"


def test_a_refusal_waits_for_what_it_has_seen(rig: Rig) -> None:
    def refuse(core: Sum) -> Decision[int]:
        raise PolicyViolation(f"there are {core.total} already")

    rig.add(5)
    refused = rig.runtime.run(refuse)
    assert not refused.is_done
    rig.runtime.commit(0)
    assert isinstance(refused.error, PolicyViolation)


def test_answers_come_in_the_order_of_their_records(rig: Rig) -> None:
    first, second, third = rig.add(1), rig.add(2), rig.read()
    rig.runtime.commit(0)
    assert (first.is_done, second.is_done, third.is_done) == (True, False, False)
    rig.runtime.commit(1)
    assert (second.value(), third.value()) == (3, 3)


def test_a_failed_append_has_changed_nothing(rig: Rig) -> None:
    rig.log.error = KafkaStorageError()
    refused = rig.add(4)
    with pytest.raises(KafkaStorageError):
        refused.value()
    assert rig.runtime.core.total == 0
    assert rig.read().value() == 0


def test_an_event_that_raises_is_its_own_answer(rig: Rig) -> None:
    def refuse(core: Sum) -> Decision[int]:
        raise PolicyViolation()

    with pytest.raises(PolicyViolation):
        rig.runtime.run(refuse).value()
    assert rig.log.batches == []


def test_atomic_records_go_into_one_batch_or_nowhere(rig: Rig) -> None:
    rig.add(1, 2, 3)
    assert rig.log.batches == [[1, 2, 3]]
    refused = rig.add(*[1] * (RECORDS_PER_APPEND_MAX + 1))
    rig.runtime.commit(2)
    with pytest.raises(PolicyViolation):
        refused.value()
    assert rig.runtime.core.total == 6


def test_other_records_are_cut_into_batches(rig: Rig) -> None:
    added = rig.add(*[1] * (2 * RECORDS_PER_APPEND_MAX + 5), is_atomic=False)
    assert [len(batch) for batch in rig.log.batches] == [RECORDS_PER_APPEND_MAX, RECORDS_PER_APPEND_MAX, 5]
    assert rig.runtime.core.offsets == list(range(2 * RECORDS_PER_APPEND_MAX + 5))
    rig.runtime.commit(2 * RECORDS_PER_APPEND_MAX)
    assert not added.is_done
    rig.runtime.commit(2 * RECORDS_PER_APPEND_MAX + 4)
    assert added.is_done


def test_records_may_be_handed_out_one_by_one(rig: Rig) -> None:
    """Without an encoded log they are all taken at once; a None is none."""
    decision: Decision[int] = Decision(iter([(1, 0), None, (2, 0)]), 0)
    rig.runtime.run(lambda core: decision)
    assert (rig.log.batches, rig.runtime.core.total) == ([[1, 2]], 3)


def test_losing_the_lead_refuses_whoever_waits_and_drops_the_core(rig: Rig) -> None:
    rig.runtime.run(lambda core: core.add(1))
    rig.runtime.commit(0)
    waiting = rig.add(2)
    assert rig.runtime.release(), "it has seen a record that may be lost"
    with pytest.raises(CoordinatorLoadInProgress):
        waiting.value()
    with pytest.raises(CoordinatorLoadInProgress):
        rig.read().value()
    rig.runtime.attach()
    rig.load([1], 0)
    assert rig.runtime.core.total == 1, "what was not committed is gone"
    rig.runtime.activate(4)
    assert rig.read().value() == 1


def test_a_clean_core_survives_the_loss_of_the_lead(rig: Rig) -> None:
    rig.add(1)
    rig.runtime.commit(0)
    assert not rig.runtime.release()
    rig.runtime.activate(5)
    assert rig.read().value() == 1


def test_committed_records_of_its_own_are_not_replayed_twice(rig: Rig) -> None:
    added = rig.add(2, 3)
    rig.runtime.commit(1)
    assert added.value() == 5
    assert rig.runtime.core.total == 5
    assert not rig.runtime.release()
    rig.load([10], 2)  # of another leader
    assert rig.runtime.core.total == 15
    assert rig.runtime.core.offsets == [0, 1, 2]


def test_loading_is_cut_into_slices() -> None:
    rig = Rig()
    rig.runtime.attach()

    class Slow(Sum):
        def replay(self, record: int, offset: int) -> None:
            rig.node.disk.busy_us += 100  # this record takes a tenth of a millisecond of simulated time
            super().replay(record, offset)

    rig.runtime.core = Slow()
    loop = rig.node.loop
    assert loop is not None
    turns = loop.turns
    loading = loop.spawn(rig.runtime.load([[1] * 2000], 1999))
    assert not loading.is_done, "200 ms of work must not run in one go"
    assert rig.world.run_until(lambda: loading.is_done)
    assert rig.runtime.core.total == 2000
    assert loop.turns - turns >= 10
    assert (rig.runtime.replayed_offset, rig.runtime.committed_offset) == (1999, 1999)


def test_a_core_that_cannot_replay_serves_no_more(rig: Rig) -> None:
    waiting = rig.add(1)
    broken = rig.add(-1)
    assert [type(fault) for fault in rig.faults] == [ValueError]
    for pending in (waiting, broken, rig.read()):
        with pytest.raises((ValueError, CoordinatorLoadInProgress)):
            pending.value()


def test_events_are_refused_before_activation(rig: Rig) -> None:
    rig.runtime.attach()
    with pytest.raises(CoordinatorLoadInProgress):
        rig.read().value()


def test_an_append_that_is_refused_by_the_log_answers_with_that(rig: Rig) -> None:
    rig.log.error = NotController()
    with pytest.raises(NotController):
        rig.add(1).value()
