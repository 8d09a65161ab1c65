"""A log whose files are gone is set aside: served empty, or from a later offset on, it would hide what it has lost."""

import pytest

import failpoints
from log_kit import run
from manager_kit import CrashedError, SimBroker, values
from odradek.inspection.diagnosis import diagnose
from odradek.inspection.log_dir_state import LogDirState
from odradek.inspection.repair import mend
from odradek.log import names
from odradek.log.loading.lost_segments import LostSegment, lost_segments
from odradek.sim.crash import SimCrash

DIRECTORY = "data/a/bad-0"
ALL = names.SEGMENT_FILES


@pytest.fixture
def broker():
    overrides = {"bad": {"internal.segment.bytes": 400, "retention.ms": -1}}
    return SimBroker(dirs=["data/a"], topic_overrides=overrides, log_cleaner_enable="false")


def fill(broker, *, is_clean):
    """Six records of a segment for two each, on disk."""
    broker.start()
    log = broker.create("bad")
    for number in range(6):
        broker.append(log, f"{number}" * 100)
    broker.flush(log)
    broker.run(broker.manager.schedules.checkpoint_recovery_points())
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4]
    broker.stop() if is_clean else broker.crash()


def lose(broker, *base_offsets, kinds=(names.LOG,)):
    for base_offset in base_offsets:
        for kind in kinds:
            path = f"{DIRECTORY}/{names.file_name(base_offset, kind)}"
            if broker.disk.exists(path):
                broker.disk.unlink(path)
    broker.disk.fsync_dir(DIRECTORY)


def damage_of(broker):
    aside = broker.start().dirs.find_set_aside(("bad", 0))
    assert aside is not None and broker.failed == []
    return aside.damage


def repaired(broker):
    state = LogDirState(broker.disk, "data/a")
    found = run(diagnose(broker.disk, state, "bad-0", ("bad", 0)))
    run(mend(broker.disk, state, found))
    assert not run(diagnose(broker.disk, state, "bad-0", ("bad", 0))).damages, "once is enough"
    return found


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("kinds", [(names.LOG,), ALL])
def test_a_log_without_any_file_is_not_served_empty(broker, is_clean, kinds):
    fill(broker, is_clean=is_clean)
    lose(broker, 0, 2, 4, kinds=kinds)
    before = broker.disk.snapshot()
    damage = damage_of(broker)
    assert "the log ends at offset 0, it was on disk up to 6" in damage.reason
    assert damage.path == f"{DIRECTORY}/00000000000000000000.log"
    left = {path: data for path, data in before.items() if path.startswith(DIRECTORY)}
    assert {path: data for path, data in broker.disk.snapshot().items() if path.startswith(DIRECTORY)} == left


@pytest.mark.parametrize(("base_offset", "end"), [(0, 2), (2, 4)])
def test_a_log_without_one_of_its_files_is_not_served(broker, base_offset, end):
    fill(broker, is_clean=True)
    lose(broker, base_offset)
    damage = damage_of(broker)
    assert f"it held the offsets from {base_offset} up to {end}" in damage.reason
    assert damage.path == f"{DIRECTORY}/{names.file_name(base_offset, names.LOG)}"


def test_the_leader_epochs_tell_of_a_first_segment_that_left_nothing(broker):
    fill(broker, is_clean=True)
    lose(broker, 0, kinds=ALL)
    assert "the offsets from 0 up to 2" in damage_of(broker).reason


def test_after_a_crash_a_first_segment_may_have_been_deleted_by_retention(broker):
    fill(broker, is_clean=False)
    lose(broker, 0)
    assert values(broker.start().get("bad", 0)) == [f"{number}" * 100 for number in range(2, 6)]


def test_a_crash_while_a_log_begins_anew_is_no_loss(broker):
    fill(broker, is_clean=True)
    broker.start()
    failpoints.arm("log.truncate_fully.after_delete", crash)
    with pytest.raises(CrashedError):
        broker.run(broker.manager.truncate_fully_and_start_at("bad", 0, 100))
    failpoints.disarm_all()
    broker.disk.fsync_dir(DIRECTORY)  # the files are gone for good
    assert broker.start().get("bad", 0) is not None and broker.set_aside == []


def crash(name):
    raise SimCrash(name)


@pytest.mark.parametrize("is_clean", [True, False])
def test_repair_lets_a_log_begin_again(broker, is_clean):
    fill(broker, is_clean=is_clean)
    lose(broker, 0, 2, 4)
    found = repaired(broker)
    assert sum(lost.end - lost.first for lost in found.lost) == 6 and found.end_offset == 0
    log = broker.start().get("bad", 0)
    assert log.log_end_offset == 0 and broker.set_aside == []
    broker.append(log, "new")
    assert values(broker.restart().get("bad", 0)) == ["new"]


@pytest.mark.parametrize(("base_offset", "kinds"), [(0, (names.LOG,)), (0, ALL), (2, (names.LOG,))])
def test_repair_puts_an_empty_batch_in_the_place_of_what_is_lost(broker, base_offset, kinds):
    fill(broker, is_clean=True)
    lose(broker, base_offset, kinds=kinds)
    found = repaired(broker)
    assert [(lost.first, lost.end) for lost in found.lost] == [(base_offset, base_offset + 2)]
    kept = [f"{number}" * 100 for number in range(6) if number not in range(base_offset, base_offset + 2)]
    for _ in range(2):
        log = broker.restart().get("bad", 0) if broker.manager.is_started else broker.start().get("bad", 0)
        assert values(log) == kept and log.log_end_offset == 6


def lost(logs, orphans=(), epochs=(), log_start_offset=0, is_clean=True):
    kinds = {base: list(ALL) for base in logs} | {base: [names.OFFSET_INDEX] for base in orphans}
    return lost_segments(kinds, epochs, is_clean=is_clean, recovery_point=30, log_start_offset=log_start_offset)


def test_what_is_below_the_log_start_offset_is_not_missed():
    assert lost([10, 20], orphans=[0], epochs=[10], log_start_offset=10) == []
    assert lost([10, 20], epochs=[15], log_start_offset=15) == []
    assert lost([], log_start_offset=30) == []


def test_a_log_that_begins_inside_its_lost_first_segment():
    assert lost([10, 20], epochs=[5], log_start_offset=5) == [LostSegment(5, 10)]
    assert lost([10, 20], orphans=[0], epochs=[5], log_start_offset=5) == [LostSegment(0, 10)]


def test_the_end_of_the_log_tells_of_a_last_segment():
    assert lost([0, 10], orphans=[20]) == []


def test_each_segment_is_missed_up_to_the_next():
    assert lost([20, 30], orphans=[0, 10]) == [LostSegment(0, 10), LostSegment(10, 20)]
