"""From an entry of the offset index to the batch that holds an offset."""

import pytest

from log_kit import NOW, Partition
from odradek.log.batches.batch_search import batch_holding, find_batch
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.segment.segment import Segment
from odradek.records.build import BatchBuilder
from odradek.records.layout import BASE_OFFSET


def batch(base_offset: int) -> bytes:
    builder = BatchBuilder()
    for value in (b"one", b"two"):
        builder.append(1_700_000_000_000, None, value)
    data = bytearray(builder.build())
    BASE_OFFSET.pack_into(data, 0, base_offset)
    return bytes(data)


BATCHES = [batch(10), batch(12), batch(14), batch(16)]
SEGMENT = b"".join(BATCHES)
SIZE = len(BATCHES[0])


def read(size: int, position: int) -> bytes:
    return SEGMENT[position : position + size]


def test_an_entry_may_name_the_last_offset_of_several_batches() -> None:
    """Kafka's followers append what a fetch brought: the entry has its last offset and where its first batch begins."""
    assert find_batch(read, SIZE, len(SEGMENT), 17, entry_offset=17) == (3 * SIZE, SIZE, 17)
    assert find_batch(read, SIZE, len(SEGMENT), 17, entry_offset=13) == (3 * SIZE, SIZE, 17)


@pytest.mark.parametrize("position", [1, SIZE - 1, SIZE + 8, SIZE + 30])
def test_an_entry_that_leads_into_a_batch_is_found_out(position: int) -> None:
    with pytest.raises(CorruptIndex):
        find_batch(read, position, len(SEGMENT), 17, entry_offset=13)


def test_an_entry_whose_batch_ends_past_it_is_found_out() -> None:
    with pytest.raises(CorruptIndex):
        find_batch(read, 2 * SIZE, len(SEGMENT), 17, entry_offset=13)


@pytest.mark.parametrize("offset", [14, 15])
def test_a_batch_that_holds_the_offset_is_told_by_its_head(offset: int) -> None:
    assert batch_holding(read, 2 * SIZE, len(SEGMENT), offset) == (2 * SIZE, SIZE, 15)


@pytest.mark.parametrize(
    ("position", "end", "offset"),
    [
        (2 * SIZE, len(SEGMENT), 13),  # before it
        (2 * SIZE, len(SEGMENT), 16),  # behind it
        (2 * SIZE + 1, len(SEGMENT), 14),  # no batch begins there
        (2 * SIZE, 3 * SIZE - 1, 14),  # it ends beyond what may be read
        (len(SEGMENT) - 5, len(SEGMENT), 17),  # too little is left for a head
        (len(SEGMENT), len(SEGMENT) + 100, 17),  # the file is shorter than it should be
    ],
)
def test_what_does_not_hold_the_offset_for_sure_proves_nothing(position: int, end: int, offset: int) -> None:
    assert batch_holding(read, position, end, offset) is None


class CountingReads:
    """The file of a segment; tells how many bytes a search has read."""

    def __init__(self, segment: Segment, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        assert segment.file is not None
        file = segment.file.disk_file
        pread = file.pread_nowait

        def counted(size: int, position: int) -> bytes | bytearray | None:
            self.bytes += size
            return pread(size, position)

        monkeypatch.setattr(type(file), "pread_nowait", lambda _, size, position: counted(size, position))


def test_large_batches_are_found_where_a_reader_goes_on_by_their_heads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = Partition()
    for _ in range(6):
        partition.append(bytes(5000), bytes(5000), bytes(5000))
    segment = partition.log.active
    size = segment.size // 6
    reads = CountingReads(segment, monkeypatch)
    for offset in range(3, 18, 3):
        assert segment.locate(offset) == (offset // 3 * size, size, offset + 2)
    assert 0 < reads.bytes < 5 * 100
    for offset in range(18):
        assert segment.locate(offset) == (offset // 3 * size, size, offset // 3 * 3 + 2)


def test_an_index_that_leads_astray_behind_the_offset_does_no_harm() -> None:
    partition = Partition()
    for _ in range(4):
        partition.append(bytes(5000), bytes(5000), bytes(5000))
    segment = partition.log.active
    index = segment.offset_index()
    index.positions[1] += 7
    size = segment.size // 4
    assert segment.locate(6) == (2 * size, size, 8)


def test_the_newest_batch_is_found_without_a_look_at_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = Partition()
    for _ in range(3):
        partition.append(b"a", b"b")
    segment = partition.log.active
    size = segment.size // 3
    reads = CountingReads(segment, monkeypatch)
    assert segment.locate(4) == segment.locate(5) == (2 * size, size, 5)
    assert not reads.bytes
    assert segment.locate(3) == (size, size, 3)
    assert reads.bytes


def test_a_newest_batch_that_was_cut_off_is_not_found() -> None:
    partition = Partition()
    partition.append(b"a", b"b")
    partition.append(b"c", b"d")
    segment = partition.log.active
    partition.log.truncate_to(2, NOW)
    assert segment.locate(2) is None
    cut_bytes = segment.size
    partition.append(b"e", b"f", b"g")
    assert segment.locate(4) == segment.locate(2) == (cut_bytes, segment.size - cut_bytes, 4)
