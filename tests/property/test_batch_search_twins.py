"""The compiled walk over the heads of batches and its twin in Python end at the same place, for any bytes at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek import native
from odradek.log.batches import pure_batch_search
from odradek.records.layout import LOG_OVERHEAD

compiled = native.load_compiled("odradek.log.batches._batch_search")
pytestmark = pytest.mark.skipif(compiled is None, reason="odradek.log.batches._batch_search is not compiled")

offsets = st.sampled_from([-(1 << 63), -1, 0, 1, 5, 40, (1 << 63) - 1]) | st.integers(-(1 << 63), (1 << 63) - 1)
lengths = st.integers(0, 60) | st.sampled_from([-1, -(1 << 31), 13, 14, 15, (1 << 31) - 1])
heads = st.lists(st.tuples(offsets, lengths), max_size=12)


def segment(found):
    """Batches of these base offsets and lengths, as far as they can be told apart by their heads."""
    data = bytearray()
    for base, length in found:
        data += base.to_bytes(8, "big", signed=True) + length.to_bytes(4, "big", signed=True)
        data += bytes(max(0, min(length, 100)))
    return bytes(data)


@given(heads, offsets, st.integers(0, 40), st.integers(0, LOG_OVERHEAD))
def test_the_twins_walk_alike(found, offset, cut_off, cut_on):
    data = segment(found)[cut_on:]
    data = data[: len(data) - cut_off] if cut_off < len(data) else data
    for piece in (data, bytearray(data), memoryview(data)):
        assert compiled.walk_heads(piece, offset) == pure_batch_search.walk_heads(piece, offset)


@given(st.binary(max_size=200), offsets)
def test_the_twins_walk_alike_over_anything(data, offset):
    assert compiled.walk_heads(data, offset) == pure_batch_search.walk_heads(data, offset)
