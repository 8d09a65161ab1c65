"""From an entry of the offset index to the batch that holds an offset."""

import pytest

from odradek.log.batch_search import find_batch
from odradek.log.sparse_index import CorruptIndex
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
