"""The server's assignors against Kafka 4.3.0's own classes, over three rounds with members going and coming.

range depends on nothing but its input: the same answer. What uniform answers depends on the order of Java's hash maps:
as even, with as many partitions moved; with one subscription for all.
"""

import gzip
import json
from pathlib import Path

from odradek.coordinator.group.consumer.assignors import assignor
from odradek.coordinator.group.consumer.subscriber import Subscriber

FILE = Path(__file__).parent / "data" / "server-assignors-4.3.0.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]


def of(partitions):
    return {bytes([int(topic)]): frozenset(numbers) for topic, numbers in partitions.items()}


def members_of(case):
    return [
        Subscriber(name, member["inst"], frozenset(bytes([topic]) for topic in member["topics"]), of(member["has"]))
        for name, member in case["members"].items()
    ]


def assigned(case):
    topics = {bytes([number]): partitions for number, partitions in enumerate(case["parts"])}
    return assignor(case["kind"])(members_of(case), topics)


def javas(case):
    return {name: of(member["gets"]) for name, member in case["members"].items()}


def sizes(assignment):
    return sorted(sum(len(numbers) for numbers in topics.values()) for topics in assignment.values())


def moved(case, assignment):
    return sum(
        len(numbers - assignment[member.member_id].get(topic, frozenset()))
        for member in members_of(case)
        for topic, numbers in member.has.items()
    )


def cases(kind):
    found = [case for case in CASES if case["kind"] == kind]
    assert len(found) > 100
    return found


def test_range_is_the_same():
    for case in cases("range"):
        assert assigned(case) == javas(case), case


def test_uniform_is_as_even_and_moves_as_much():
    for case in cases("uniform"):
        ours = assigned(case)
        taken = [(topic, number) for topics in ours.values() for topic, numbers in topics.items() for number in numbers]
        assert len(taken) == len(set(taken)) == sum(sizes(javas(case))), case
        if len({member.topics for member in members_of(case)}) == 1:
            assert sizes(ours) == sizes(javas(case)), case
            assert moved(case, ours) == moved(case, javas(case)), case


def test_uniform_with_different_subscriptions_is_nearly_as_even():
    """It is greedy, as Kafka's is: one of the cases comes out by one partition worse."""
    worse = [case for case in cases("uniform") if max(sizes(assigned(case))) > max(sizes(javas(case)))]
    assert len(worse) <= 1
