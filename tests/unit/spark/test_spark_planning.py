"""Offsets and options decide what each task reads: nothing else, so that a repeated batch is cut the same way."""

import datetime
from dataclasses import dataclass

import pytest

from odradek import TopicPartition
from odradek.spark.source.group_offsets import finished_offsets
from odradek.spark.source.offsets import offsets_of, tree_of
from odradek.spark.source.planning import OffsetRange, cut, limited, ranges_between
from odradek.spark.source.pushdown import ReadBounds, bounds_of

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def ranges(*pairs):
    return [OffsetRange(TopicPartition("a", number), start, stop) for number, (start, stop) in enumerate(pairs)]


def test_offsets_are_the_json_of_sparks_connector():
    offsets = {B0: 7, A1: 2, A0: 1}
    assert tree_of(offsets) == {"a": {"0": 1, "1": 2}, "b": {"0": 7}}
    assert offsets_of(tree_of(offsets)) == offsets


def test_between_two_offsets_of_a_stream():
    found = ranges_between({A0: 5, A1: 3}, {A0: 9, A1: 3, B0: 4})
    assert found == [OffsetRange(A0, 5, 9), OffsetRange(B0, 0, 4)]


def test_an_end_before_its_start_is_read_from_the_first_offset():
    assert ranges_between({A0: 100}, {A0: 25}) == [OffsetRange(A0, 0, 25)]
    assert ranges_between({A0: 100}, {A0: 0}) == []


def test_one_task_per_partition_unless_more_are_asked_for():
    whole = ranges((0, 50), (0, 50), (7, 7))
    assert cut(whole, None, None) == whole[:2]
    assert cut(whole, 2, None) == whole[:2]


@pytest.mark.parametrize(
    ("sizes", "tasks", "expected"), [([50, 50], 7, [4, 4]), ([100], 3, [3]), ([1000, 10], 5, [4, 1]), ([3], 10, [3])]
)
def test_large_partitions_are_read_by_several_tasks(sizes, tasks, expected):
    whole = ranges(*((10, 10 + size) for size in sizes))
    pieces = cut(whole, tasks, None)
    assert [sum(piece.place == each.place for piece in pieces) for each in whole] == expected
    for each in whole:
        own = [piece for piece in pieces if piece.place == each.place]
        assert [piece.start for piece in own] == [each.start, *(piece.stop for piece in own[:-1])]
        assert own[-1].stop == each.stop
        assert max(piece.size for piece in own) - min(piece.size for piece in own) <= 1


def test_a_task_reads_no_more_offsets_than_it_may():
    pieces = cut(ranges((0, 95), (0, 4)), None, 10)
    assert max(piece.size for piece in pieces) <= 10 and sum(piece.size for piece in pieces) == 99
    assert len(pieces) == 11


def test_a_limit_is_shared_by_what_each_partition_has_waiting():
    start, end = {A0: 0, A1: 100}, {A0: 900, A1: 200}
    assert limited(start, end, 100) == {A0: 90, A1: 110}
    assert limited(start, end, 5000) == end
    assert limited(start, end, 5) == {A0: 4, A1: 101}  # none is starved
    assert limited({A0: 0}, {A0: 10, B0: 30}, 20) == {A0: 5, B0: 15}


def test_a_limit_holds_for_a_topic_that_was_made_again():
    assert limited({A0: 100}, {A0: 50}, 10) == {A0: 10}


@dataclass
class EqualTo:
    attribute: tuple
    value: object


@dataclass
class In(EqualTo):
    pass


@dataclass
class GreaterThan(EqualTo):
    pass


@dataclass
class LessThanOrEqual(EqualTo):
    pass


@dataclass
class Not:
    child: object


def test_filters_become_bounds():
    work = OffsetRange(A1, 10, 100)
    assert bounds_of([]).within(work) == work
    assert bounds_of([EqualTo(("topic",), "b")]).within(work) is None
    assert bounds_of([In(("topic",), ("a", "b")), EqualTo(("partition",), 1)]).within(work) == work
    assert bounds_of([In(("partition",), (0, 2))]).within(work) is None
    bounds = bounds_of([GreaterThan(("offset",), 20), LessThanOrEqual(("offset",), 30)])
    assert bounds.within(work) == OffsetRange(A1, 21, 31)
    assert bounds_of([EqualTo(("offset",), 50)]).within(work) == OffsetRange(A1, 50, 51)
    assert bounds_of([EqualTo(("offset",), 500)]).within(work) is None


def test_what_is_not_understood_bounds_nothing():
    others = [Not(EqualTo(("topic",), "a")), EqualTo(("value",), b"x"), EqualTo(("headers", "key"), "k")]
    assert bounds_of([*others, EqualTo(("topic",), None), LessThanOrEqual(("partition",), 3)]) == ReadBounds()


def test_a_time_bounds_from_below_alone():
    when = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    at_ms = int(when.timestamp() * 1000)
    assert bounds_of([GreaterThan(("timestamp",), when)]).since_ms == at_ms
    assert bounds_of([EqualTo(("timestamp",), when)]).since_ms == at_ms
    assert bounds_of([LessThanOrEqual(("timestamp",), when)]) == ReadBounds()


@pytest.mark.parametrize("text", [None, "", "5", '{"logOffset":5}', '{"a":[1]}', "not json"])
def test_offsets_of_other_sources_are_none_of_a_groups(text):
    assert finished_offsets(text) == {}


def test_offsets_of_a_finished_batch():
    assert finished_offsets('{"a": {"0": 5}}') == {A0: 5}
