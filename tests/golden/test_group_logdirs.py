"""The groups that real brokers left in their log dirs: ours loads, serves and describes them."""

import time

import pytest
from test_logdirs_served import serving

from logdirs import unpack
from odradek.protocol.errors import CoordinatorLoadInProgress
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.protocol.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from odradek.protocol.messages.k16_list_groups import ListGroupsRequest

# What the clients that made the dirs had committed last: offset and metadata by topic and partition.
OFFSETS = {
    "tx-group": {("txn", 0): (5, "tx meta")},
    "group-classic": {
        ("plain", 0): (7, "meta-é"),
        ("keyed", 0): (14, ""),
        ("keyed", 1): (24, ""),
        ("keyed", 2): (22, ""),
    },
}
DIRS = ["kafka-3.3.2-kraft-clean", "kafka-3.3.2-kraft-unclean", "kafka-4.3.0-kraft-clean"]


@pytest.fixture(scope="module", params=DIRS)
def told(request, tmp_path_factory):
    directory = unpack(request.param, tmp_path_factory.mktemp("groups"))
    with serving(request.param, directory) as told:
        wait_until_loaded(told)
        yield told


def wait_until_loaded(told):
    deadline_s = time.monotonic() + 20
    while told.ask(ListGroupsRequest(), 4).error_code == CoordinatorLoadInProgress.code:
        assert time.monotonic() < deadline_s, "still loading"


def test_offsets_are_served(told):
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in OFFSETS]
    answer = told.ask(OffsetFetchRequest(groups=groups, require_stable=True), 8)
    for group in answer.groups:
        assert group.error_code == 0
        fetched = {
            (topic.name, partition.partition_index): (partition.committed_offset, partition.metadata)
            for topic in group.topics
            for partition in topic.partitions
        }
        assert fetched == OFFSETS[group.group_id]


def test_a_group_is_described_with_its_assignment(told):
    """Its member was there when the broker stopped: it has a session's time to come back."""
    group = told.ask(DescribeGroupsRequest(groups=["group-classic"]), 5).groups[0]
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    (member,) = group.members
    assert (member.group_instance_id, member.client_id, member.client_host) == ("static-1", "cons", "/127.0.0.1")
    assigned = ConsumerProtocolAssignment.decode(member.member_assignment, 0, at=2).assigned_partitions
    assert {topic.topic: topic.partitions for topic in assigned} == {"plain": [0], "keyed": [0, 1, 2]}


def test_groups_are_listed(told):
    listed = {group.group_id: group.protocol_type for group in told.ask(ListGroupsRequest(), 4).groups}
    assert listed["tx-group"] == ""
    assert listed["group-classic"] == "consumer"
