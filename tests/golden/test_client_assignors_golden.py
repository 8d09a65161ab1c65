"""The assignors of classic members against Kafka 4.3.0's own classes; the sticky ones over three rounds with churn."""

import gzip
import json
from pathlib import Path

import pytest

from odradek.client.consumer.assignors.assignor import Subscriber
from odradek.client.consumer.assignors.by_name import by_name
from odradek.client.consumer.assignors.sticky import claim_of

FILE = Path(__file__).parent / "data" / "records-assignors-4.3.0.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]


def subscriber(name, said):
    return Subscriber(
        name,
        tuple(said["topics"]),
        tuple((topic, number) for topic, number in said.get("owned", ())),
        said["member_generation"],
        bytes.fromhex(said["user_data"]) if said.get("user_data") else None,
        said.get("instance_id"),
        said.get("rack"),
    )


def racks_of(case):
    return {
        (topic, number): frozenset(racks)
        for topic, partitions in case.get("replica_racks", {}).items()
        for number, racks in enumerate(partitions)
    }


def by_member(assignment):
    return {member: sorted((topic, number) for topic, number in places) for member, places in assignment.items()}


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_the_same_assignment(name):
    cases = [case for case in CASES if case["assignor"] == name]
    assert len(cases) >= 58
    for case in cases:
        members = [subscriber(*each) for each in case["members"].items()]
        dealt = by_name(name).assign(case["partitions_per_topic"], members, racks_of(case))
        assert by_member(dealt) == by_member(case["assignment"]), case


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_the_order_of_members_does_not_matter(name):
    for case in [case for case in CASES if case["assignor"] == name][:60]:
        members = [subscriber(*each) for each in case["members"].items()]
        assignor = by_name(name)
        there = assignor.assign(case["partitions_per_topic"], members)
        back = assignor.assign(case["partitions_per_topic"], members[::-1])
        assert by_member(there) == by_member(back)


def test_the_user_data_is_javas():
    """What Kafka's own assignors have written, from what the member had."""
    for case in CASES:
        for said in case["members"].values():
            if case["assignor"] == "sticky" and said.get("user_data"):
                data = bytes.fromhex(said["user_data"])
                claim = claim_of(subscriber("m", said))
                if list(claim.partitions) == sorted(claim.partitions):
                    assert by_name("sticky").user_data(frozenset(claim.partitions), claim.generation) == data
            if case["assignor"] == "cooperative-sticky" and said.get("user_data"):
                data = by_name("cooperative-sticky").user_data(frozenset(), said["member_generation"])
                assert data == bytes.fromhex(said["user_data"])
