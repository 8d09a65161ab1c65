"""Places in partitions as people name them."""

import pytest

from odradek.cli.client import positions
from odradek.cli.client.positions import AFTER_START, BEFORE_END, END, GROUP, OFFSET, START, TIME, Bounds, Position
from odradek.cli.failure import Failure
from odradek.protocol.topic_partition import TopicPartition

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("start", Position(START)),
        ("earliest", Position(START)),
        ("end", Position(END)),
        ("100", Position(OFFSET, 100)),
        ("-10", Position(BEFORE_END, 10)),
        ("+5", Position(AFTER_START, 5)),
        ("@-1s", Position(TIME, NOW_MS - 1000)),
        ("@1700000000123", Position(TIME, 1_700_000_000_123)),
        ("group:billing", Position(GROUP, group="billing")),
    ],
)
def test_a_place(text, position):
    assert positions.parse(text, NOW_MS) == position


@pytest.mark.parametrize("text", ["", "begin", "1.5", "--3", "group:", "+"])
def test_what_is_no_place(text):
    with pytest.raises(Failure, match="is no place in a partition: expected start, end"):
        positions.parse(text, NOW_MS)


@pytest.mark.parametrize(
    ("text", "offset"),
    [("start", 10), ("end", 30), ("0", 10), ("20", 20), ("99", 30), ("-5", 25), ("-50", 10), ("+3", 13)],
)
def test_a_place_lies_within_its_partition(text, offset):
    """Nothing is asked of a broker for those."""
    place = TopicPartition("orders", 0)
    found = positions.offsets_at(None, positions.parse(text, NOW_MS), {place: Bounds(10, 30)})
    assert found == {place: offset}


def test_partitions_by_their_numbers():
    counts = {"orders": 4, "letters": 1}

    def numbers(*texts):
        return [(place.topic, place.partition) for place in positions.wanted_partitions(texts, counts)]

    assert numbers("letters", "orders:1") == [("letters", 0), ("orders", 1)]
    assert numbers("orders:0,2-3") == [("orders", 0), ("orders", 2), ("orders", 3)]
    assert len(numbers("orders", "orders:1")) == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("orders:4", "has no partition 4; it has 4, counted from 0"),
        ("orders:x", "expected numbers"),
        ("orders:0-9999999999", "expected numbers"),
    ],
)
def test_partitions_that_are_not_there(text, told):
    with pytest.raises(Failure, match=told):
        positions.wanted_partitions([text], {"orders": 4})
