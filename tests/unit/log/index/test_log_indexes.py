"""Offset, time and transaction index: what they answer, and what they refuse."""

import pytest

from odradek.log.index import transaction_index
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.sparse_index import CorruptIndex, InvalidOffset
from odradek.log.index.time_index import TimeIndex
from odradek.log.index.transaction_index import AbortedTransaction


@pytest.fixture
def offsets():
    index = OffsetIndex(100)
    for offset, position in ((110, 500), (120, 1000), (130, 1500)):
        index.append(offset, position)
    return index


@pytest.mark.contract("F48", "G38", "G42")
@pytest.mark.parametrize(
    ("offset", "entry"),
    [(100, (100, 0)), (109, (100, 0)), (110, (110, 500)), (125, (120, 1000)), (9999, (130, 1500))],
)
def test_offset_index_gives_the_entry_at_or_below(offsets, offset, entry):
    assert offsets.lookup(offset) == entry


@pytest.mark.parametrize(
    ("offset", "next_position"), [(100, 500), (109, 500), (110, 1000), (125, 1500), (130, -1), (9999, -1)]
)
def test_offset_index_tells_where_the_next_entry_leads(offsets, offset, next_position):
    assert offsets.around(offset) == (*offsets.lookup(offset), next_position)


def test_offset_index_gives_the_first_entry_at_or_past_a_position(offsets):
    assert [offsets.upper_bound(position) for position in (0, 500, 501, 1500, 1501)] == [110, 110, 120, 130, None]


def test_offset_index_takes_no_entry_out_of_order(offsets):
    with pytest.raises(InvalidOffset):
        offsets.append(130, 2000)


def test_offset_index_truncates_to_what_is_below(offsets):
    offsets.truncate_to(120)
    assert offsets.entries == [(110, 500)]
    offsets.truncate_to(111)
    assert offsets.entries == [(110, 500)]


def test_zero_tails_are_no_entries(offsets):
    data = offsets.encode()
    assert OffsetIndex.decode(data + bytes(64), 100, 2000).entries == offsets.entries
    assert OffsetIndex.decode(bytes(64), 100, 2000).entries == []


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("0000000a", "whole number"),
        ("0000000a000001f40000000a000003e8", "offsets do not increase"),
        ("0000000a000001f40000000b000001f4", "positions do not increase"),
        ("0000000a000007d0", "past the end"),
        ("fffffff6000001f4", "offsets do not increase"),
        ("0000000000000000" + "0000000a000001f4" + "00000005000003e8", "offsets do not increase"),
    ],
)
def test_an_offset_index_that_cannot_be_is_corrupt(data, why):
    with pytest.raises(CorruptIndex, match=why):
        OffsetIndex.decode(bytes.fromhex(data), 100, 2000)


@pytest.fixture
def times():
    index = TimeIndex(100)
    for timestamp, offset in ((1000, 110), (1010, 125)):
        index.maybe_append(timestamp, offset)
    return index


@pytest.mark.contract("G43")
def test_time_index_takes_only_larger_timestamps(times):
    times.maybe_append(1010, 140)
    assert times.entries == [(1000, 110), (1010, 125)]
    with pytest.raises(InvalidOffset):
        times.maybe_append(2000, 124)


def test_time_index_lookup(times):
    assert [times.lookup(at) for at in (999, 1000, 1009, 1010, 5000)] == [
        (-1, 100),
        (1000, 110),
        (1000, 110),
        (1010, 125),
        (1010, 125),
    ]
    assert TimeIndex(5).last_entry == (-1, 5)


def test_time_index_survives_its_own_bytes_and_a_zero_tail(times):
    assert TimeIndex.decode(times.encode() + bytes(120), 100).entries == times.entries


def test_time_zero_of_the_first_offset_is_an_entry():
    index = TimeIndex(100)
    index.maybe_append(0, 100)
    assert index.encode() == bytes(12)
    assert TimeIndex.decode(bytes(12), 100).entries == [(0, 100)]


def test_a_time_index_that_goes_back_is_corrupt(times):
    data = times.encode()
    with pytest.raises(CorruptIndex):
        TimeIndex.decode(data[12:] + data[:12], 100)


ABORTED = [AbortedTransaction(1, 10, 20, 15), AbortedTransaction(2, 15, 30, 31)]


def test_transaction_index_round_trip_and_refusals():
    data = transaction_index.encode(ABORTED)
    assert len(data) == 68
    assert transaction_index.decode(data, 5) == ABORTED
    for damaged in (data[:-1], b"\0\1" + data[2:], data[34:] + data[:34]):
        with pytest.raises(CorruptIndex):
            transaction_index.decode(damaged, 5)
    with pytest.raises(CorruptIndex):
        transaction_index.decode(data, 25)  # of another segment


@pytest.mark.contract("G44")
@pytest.mark.parametrize(
    ("fetch", "upper", "found", "is_complete"),
    [(0, 12, 1, True), (0, 31, 2, True), (21, 31, 1, True), (31, 40, 0, False), (0, 9, 0, True)],
)
def test_transaction_index_finds_those_that_touch_the_range(fetch, upper, found, is_complete):
    some, complete = transaction_index.search(ABORTED, fetch, upper)
    assert (len(some), complete) == (found, is_complete)
