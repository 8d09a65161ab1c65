"""simple, the assignor of share groups: everything is read, everybody reads, and who has something keeps it."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinator.group.share.assignor import Subscriber, assign
from odradek.coordinator.group.share.member import places

T, U = b"t" * 16, b"u" * 16


def dealt(members, topics, has=None, subscriptions=None):
    """{member: [(topic, partition)]}"""
    every = frozenset(topics)
    subscribers = [
        Subscriber(name, (subscriptions or {}).get(name, every), (has or {}).get(name, {})) for name in members
    ]
    counted = {topic: frozenset(range(count)) for topic, count in topics.items()}
    return assign(subscribers, counted)


def test_one_member_reads_everything():
    assert dealt(["a"], {T: 2, U: 1}) == {"a": {T: frozenset({0, 1}), U: frozenset({0})}}


def test_fewer_members_than_partitions():
    found = dealt(["a", "b"], {T: 5})
    sizes = sorted(len(list(places(each))) for each in found.values())
    assert sizes == [2, 3]
    assert not set(places(found["a"])) & set(places(found["b"]))


def test_more_members_than_partitions():
    found = dealt(["a", "b", "c", "d", "e"], {T: 2})
    read = [place for each in found.values() for place in places(each)]
    assert len(read) == 5 and sorted(read.count((T, index)) for index in (0, 1)) == [2, 3]


def test_nothing_to_read():
    assert dealt(["a"], {}) == {"a": {}}
    assert dealt([], {T: 1}) == {}


def test_who_has_something_keeps_it():
    first = dealt(["a", "b"], {T: 4})
    assert dealt(["a", "b"], {T: 4}, has=first) == first
    after = dealt(["a", "b", "c"], {T: 4}, has=first)
    for member in ("a", "b"):
        assert set(places(after[member])) <= set(places(first[member]))
    assert after["c"]


def test_each_reads_what_it_subscribes_to():
    found = dealt(["a", "b"], {T: 2, U: 2}, subscriptions={"a": frozenset({T}), "b": frozenset({U})})
    assert found == {"a": {T: frozenset({0, 1})}, "b": {U: frozenset({0, 1})}}


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_everything_is_read_and_everybody_reads(before, after, partitions):
    names = [f"m{number:02}" for number in range(max(before, after))]
    has = dealt(names[:before], {T: partitions})
    found = dealt(names[:after], {T: partitions}, has=has)
    read = [place for each in found.values() for place in places(each)]
    assert set(read) == {(T, index) for index in range(partitions)}
    sizes = [len(list(places(each))) for each in found.values()]
    assert min(sizes) >= 1
    if after <= partitions:
        assert len(read) == partitions and max(sizes) - min(sizes) <= 1
    else:
        assert set(sizes) == {1}
