"""What is opened in the directory of a partition: which files count, in which order, and from which offset on."""

import pytest

from log_kit import NOW, Partition, config
from odradek.log import names
from odradek.sim.disk import SimDisk

VALUE = b"." * 60


class Unsorted(SimDisk):
    """A disk that lists its files in no order, as a real one may."""

    def list(self, path):
        return super().list(path)[::-1]


def filled(count=10, disk=None):
    """Segments of two batches, a leader epoch for every four offsets; all flushed."""
    partition = Partition(disk, config(segment_bytes=300, index_interval_bytes=0, retention_ms=-1))
    for number in range(count):
        partition.append(VALUE, timestamp=NOW + number, leader_epoch=number // 4, producer=1, sequence=number)
    partition.flush()
    return partition


def path(partition, offset, kind=names.LOG):
    return f"{partition.directory}/{names.file_name(offset, kind)}"


@pytest.mark.contract("G22")
@pytest.mark.parametrize("clean", [True, False])
def test_segments_are_opened_in_the_order_of_their_names(clean):
    partition = filled(disk=Unsorted())
    partition.close()
    partition.recovery_point = 10 if clean else 0
    log = partition.load(clean=clean)
    assert log.segments.base_offsets == [0, 2, 4, 6, 8]
    assert log.log_end_offset == 10
    assert [offset for offset, _ in partition.records()] == list(range(10))


@pytest.mark.contract("G23")
@pytest.mark.parametrize(
    ("clean", "recovery_point", "expected"),
    [(True, 10, (10, 10)), (False, 4, (4, 10)), (False, 0, (0, 10))],
)
def test_it_has_a_recovery_point_and_an_end_of_its_own(clean, recovery_point, expected):
    partition = filled()
    if clean:
        partition.close()
    partition.recovery_point = recovery_point
    log = partition.load(clean=clean)
    assert (log.recovery_point, log.log_end_offset) == expected


@pytest.mark.contract("G23")
def test_a_log_that_was_cut_ends_there_for_the_next_append_too():
    partition = filled()
    partition.recovery_point = 4
    partition.disk.open(path(partition, 6)).truncate(200)
    log = partition.load(clean=False)
    assert (log.recovery_point, log.log_end_offset) == (4, 7)
    assert partition.append(VALUE).first_offset == 7


@pytest.mark.contract("G25")
@pytest.mark.parametrize(
    ("checkpoint", "start", "epochs"),
    [(0, 0, [(0, 0), (1, 4), (2, 8)]), (5, 5, [(1, 5), (2, 8)]), (8, 8, [(2, 8)])],
)
def test_it_begins_at_the_checkpoint_and_epochs_from_before_are_cut_off(checkpoint, start, epochs):
    partition = filled()
    partition.close()
    partition.log_start_offset = checkpoint
    log = partition.load(clean=True)
    assert log.log_start_offset == start
    assert log.epochs.entries == epochs


@pytest.mark.contract("G25")
@pytest.mark.parametrize(("clean", "checkpoint"), [(True, 0), (False, 3)])
def test_it_begins_with_its_first_segment_if_the_checkpoint_is_older(clean, checkpoint):
    """As retention and a crash before the next checkpoint leave it."""
    partition = filled()
    partition.log.truncate_fully_and_start_at(1000, NOW)
    partition.append(VALUE)
    partition.close()
    partition.log_start_offset = checkpoint
    assert partition.load(clean=clean).log_start_offset == 1000


@pytest.mark.contract("G26")
@pytest.mark.parametrize("clean", [True, False])
def test_a_snapshot_that_belongs_to_no_segment_is_removed(clean):
    partition = filled()
    partition.close()
    newest = partition.disk.read(path(partition, 10, names.PRODUCER_SNAPSHOT))
    for offset in (3, 7):
        partition.disk.open(path(partition, offset, names.PRODUCER_SNAPSHOT), create=True).append([newest])
    log = partition.load(clean=clean)
    left = [name for name in partition.disk.list(partition.directory) if name.endswith(names.PRODUCER_SNAPSHOT)]
    assert {names.split(name)[0] for name in left} <= {0, 2, 4, 6, 8, 10}
    assert log.producers.entry(1).last_sequence == 9


@pytest.mark.contract("G16")
def test_files_on_their_way_out_are_removed_but_for_those_of_the_quorum():
    partition = filled()
    partition.close()
    doomed = [path(partition, offset, kind) + names.DELETED for offset in (0, 50) for kind in names.SEGMENT_FILES]
    of_the_quorum = f"{partition.directory}/00000000000000000004-0000000001.checkpoint.deleted"
    for name in (*doomed, of_the_quorum):
        partition.disk.open(name, create=True)
    partition.load(clean=True)
    assert not any(partition.disk.exists(name) for name in doomed)
    assert partition.disk.exists(of_the_quorum)
    assert [offset for offset, _ in partition.records()] == list(range(10))
