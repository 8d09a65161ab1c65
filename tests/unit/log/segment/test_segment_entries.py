"""Where a batch goes in the active segment, when it gets an index entry, and how a read finds it again."""

import pytest

from log_kit import NOW, Partition, batch, config, read_batches, read_bytes
from odradek.log import names
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.read import LOG_END
from odradek.protocol import errors
from odradek.reactor.file_range import FileRange

SIZE = len(batch(b"x" * 100))


def filled(count, **changes):
    partition = Partition(log_config=config(**changes))
    for number in range(count):
        partition.append(b"x" * 100, timestamp=NOW + number)
    return partition


@pytest.mark.contract("G33")
def test_records_go_to_the_end_of_the_active_segment():
    partition = filled(3, segment_bytes=2 * SIZE)
    first, active = partition.log.segments.first, partition.log.active
    assert (first.base_offset, active.base_offset) == (0, 2)
    before = partition.disk.snapshot()
    partition.append(b"y" * 100)
    data = partition.disk.snapshot()
    log = f"/{active.path(names.LOG)}"
    assert data[log].startswith(before[log]) and len(data[log]) == 2 * SIZE
    assert data[f"/{first.path(names.LOG)}"] == before[f"/{first.path(names.LOG)}"]
    assert [one.base_offset for one in read_batches(partition.log)] == [0, 1, 2, 3]


@pytest.mark.contract("G34", "G37")
@pytest.mark.parametrize(
    ("interval", "entries"),
    [
        pytest.param(0, [1, 2, 3, 4, 5, 6], id="every batch but the first"),
        pytest.param(2 * SIZE - 1, [2, 4, 6], id="after more than so many bytes"),
        pytest.param(2 * SIZE, [3, 6], id="not after just as many"),
        pytest.param(100 * SIZE, [], id="none"),
    ],
)
def test_an_entry_has_the_last_offset_and_the_place_of_the_batch_that_was_due(interval, entries):
    partition = filled(7, index_interval_bytes=interval)
    assert partition.log.active.offset_index().entries == [(offset, offset * SIZE) for offset in entries]


@pytest.mark.contract("G34")
def test_an_entry_is_of_the_largest_offset_of_its_batch():
    partition = Partition(log_config=config(index_interval_bytes=0))
    for _ in range(3):
        partition.append(b"a", b"b", b"c")
    size = len(batch(b"a", b"b", b"c"))
    assert partition.log.active.offset_index().entries == [(5, size), (8, 2 * size)]


@pytest.mark.contract("G40")
def test_a_rolled_index_has_its_own_size_on_disk_and_takes_nothing_more():
    partition = filled(4, index_interval_bytes=0)
    segment = partition.log.active
    partition.log.roll(NOW)
    path = segment.path(names.OFFSET_INDEX)
    on_disk = partition.disk.read(path)
    assert len(on_disk) == 3 * 8
    for number in range(4):
        partition.append(b"x" * 100, timestamp=NOW + 10 + number)
    partition.flush()
    assert partition.disk.read(path) == on_disk == segment.offset_index().encode()


@pytest.mark.contract("G42")
def test_offsets_are_relative_on_disk_and_nowhere_else():
    index = OffsetIndex(1000)
    index.append(1007, 500)
    assert index.encode() == (7).to_bytes(4, "big") + (500).to_bytes(4, "big")
    assert index.lookup(1010) == (1007, 500)
    assert OffsetIndex.decode(index.encode(), 1000, 600).entries == [(1007, 500)]


@pytest.mark.contract("F48")
@pytest.mark.parametrize("interval", [0, 150, 1 << 20])
def test_every_offset_is_found_in_its_segment_and_batch(interval):
    partition = Partition(log_config=config(segment_bytes=700, index_interval_bytes=interval))
    for _ in range(20):
        partition.append(b"a", b"b", b"c")
    assert len(partition.log.segments.base_offsets) == 3
    for offset in range(60):
        data = read_bytes(partition.log, offset, 1, isolation=LOG_END)
        assert int.from_bytes(data[:8], "big") == offset // 3 * 3


@pytest.mark.contract("G45")
def test_a_read_is_a_range_of_the_file_and_no_copy():
    partition = filled(5)
    fetched = partition.log.read(2, 2 * SIZE, isolation=LOG_END)
    records = fetched.records
    assert isinstance(records, FileRange)
    assert (records.position, records.size) == (2 * SIZE, 2 * SIZE)
    assert records.disk_file is partition.log.active.file.disk_file
    records.release()


@pytest.mark.contract("F21")
def test_the_high_watermark_stays_within_the_log():
    partition = filled(3)
    log = partition.log
    assert log.update_high_watermark(99) == log.high_watermark == 3
    partition.append(b"more")
    assert (log.high_watermark, log.log_end_offset) == (3, 4)
    partition.truncate(2)
    assert log.high_watermark == 2


@pytest.mark.contract("F22")
def test_what_the_producers_state_refuses_changes_nothing_though_a_roll_was_due():
    partition = Partition(log_config=config(segment_bytes=2 * SIZE))
    for sequence in range(2):
        partition.append(b"x" * 90, producer=1, sequence=sequence)
    before = partition.disk.snapshot()
    with pytest.raises(errors.OutOfOrderSequenceNumber):
        partition.append(b"x" * 90, producer=1, sequence=5)
    assert partition.disk.snapshot() == before
    assert partition.log.segments.base_offsets == [0]
    partition.append(b"x" * 90, producer=1, sequence=2)
    assert partition.log.segments.base_offsets == [0, 2]
