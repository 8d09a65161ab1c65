"""The assignors of the server: what each promises, and what Kafka 4.3.0's own classes answer to the same."""

import pytest

from odradek.coordinator.group.consumer import range_assignor, uniform_assignor
from odradek.coordinator.group.consumer.subscriber import Subscriber

A, B, C = b"A", b"B", b"C"


def member(name, topics, has=None, instance=None):
    return Subscriber(name, instance, frozenset(topics), has or {})


def text(assignment):
    return {
        name: " ".join(f"{topic.decode()}{sorted(partitions)}" for topic, partitions in sorted(topics.items()))
        for name, topics in assignment.items()
    }


def again(assignment, subscriptions):
    return [member(name, topics, assignment.get(name)) for name, topics in subscriptions.items()]


# range


def test_range_cuts_every_topic_in_the_same_order():
    members = [member("m2", [A, B]), member("m1", [A, B]), member("m3", [A, B])]
    assert text(range_assignor.assign(members, {A: 4, B: 2})) == {
        "m1": "A[0, 1] B[0]",
        "m2": "A[2] B[1]",
        "m3": "A[3]",
    }


def test_range_counts_only_the_readers_of_a_topic():
    members = [member("m1", [A]), member("m2", [A, B])]
    assert text(range_assignor.assign(members, {A: 3, B: 2})) == {"m1": "A[0, 1]", "m2": "A[2] B[0, 1]"}


def test_range_orders_static_members_by_instance_id():
    first = [member("z", [A], instance="i1"), member("a", [A], instance="i2"), member("b", [A])]
    restarted = [member("c", [A], instance="i1"), member("a", [A], instance="i2"), member("b", [A])]
    before = range_assignor.assign(first, {A: 3})
    after = range_assignor.assign(restarted, {A: 3})
    assert text(before) == {"z": "A[0]", "a": "A[1]", "b": "A[2]"}
    assert text(after) == {"c": "A[0]", "a": "A[1]", "b": "A[2]"}


def test_range_of_nobody_and_of_nothing():
    assert range_assignor.assign([], {A: 3}) == {}
    assert range_assignor.assign([member("m1", [A])], {}) == {"m1": {}}


# uniform


def counts(assignment):
    return sorted(sum(len(partitions) for partitions in topics.values()) for topics in assignment.values())


def test_uniform_fills_members_one_after_the_other():
    members = [member("m1", [A, B]), member("m2", [A, B])]
    assert text(uniform_assignor.assign(members, {A: 4, B: 2})) == {"m1": "A[0, 1, 2]", "m2": "A[3] B[0, 1]"}


def test_uniform_moves_no_more_than_it_must():
    topics = {A: 6}
    both = {"m1": [A], "m2": [A]}
    first = uniform_assignor.assign(again({}, both), topics)
    second = uniform_assignor.assign(again(first, {**both, "m0": [A]}), topics)
    assert counts(second) == [2, 2, 2]
    for name in both:
        assert second[name][A] < first[name][A], "it keeps of what it had"
    third = uniform_assignor.assign(again(second, both), topics)
    for name in both:
        assert third[name][A] > second[name][A]


def test_uniform_of_an_uneven_number_leaves_who_has_more_alone():
    first = uniform_assignor.assign([member("m2", [A], {A: frozenset({0, 1})}), member("m1", [A])], {A: 3})
    assert text(first) == {"m1": "A[2]", "m2": "A[0, 1]"}


def test_uniform_ignores_what_is_not_there_any_more():
    assigned = uniform_assignor.assign([member("m1", [A], {A: frozenset({0, 9}), C: frozenset({0})})], {A: 2})
    assert text(assigned) == {"m1": "A[0, 1]"}


def test_uniform_never_gives_a_partition_twice():
    both = [member("m1", [A], {A: frozenset({0})}), member("m2", [A], {A: frozenset({0})})]
    assert text(uniform_assignor.assign(both, {A: 2})) == {"m1": "A[0]", "m2": "A[1]"}


def test_uniform_with_different_subscriptions_balances_the_total():
    members = [member("m1", [A], {A: frozenset(range(4))}), member("m2", [A, B])]
    assert text(uniform_assignor.assign(members, {A: 4, B: 2})) == {"m1": "A[0, 1, 2]", "m2": "A[3] B[0, 1]"}


def test_uniform_gives_what_few_read_to_those_first():
    members = [member("m1", [A, B]), member("m2", [A])]
    assert text(uniform_assignor.assign(members, {A: 2, B: 2})) == {"m1": "B[0, 1]", "m2": "A[0, 1]"}


@pytest.mark.parametrize("assign", [uniform_assignor.assign, range_assignor.assign])
def test_more_members_than_partitions(assign):
    assigned = assign([member(f"m{number}", [A]) for number in range(5)], {A: 2})
    assert counts(assigned) == [0, 0, 0, 1, 1]


def test_uniform_gives_each_free_partition_to_who_has_least_by_then():
    members = [member("m1", [A, B], {A: frozenset({0, 1})}), member("m2", [B])]
    assert text(uniform_assignor.assign(members, {A: 2, B: 4})) == {"m1": "A[0, 1] B[2]", "m2": "B[0, 1, 3]"}
