"""The groups and transactions that real brokers left in their log dirs: ours loads, serves and describes them.

What is expected of transactions is folded from what Kafka itself read in the files.
"""

import time

import pytest
from test_logdirs_served import serving

from logdirs import segments, unpack
from odradek.coordinator.transaction import states
from odradek.protocol.errors import CoordinatorLoadInProgress
from odradek.protocol.frames import TRANSACTIONS
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.protocol.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from odradek.protocol.messages.k16_list_groups import ListGroupsRequest
from odradek.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from odradek.protocol.messages.k66_list_transactions import ListTransactionsRequest
from odradek.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from odradek.protocol.messages.k77_share_group_describe import ShareGroupDescribeRequest
from odradek.protocol.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)

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
# A 4.3.0 has a group of the consumer protocol, too, which read the same.
OFFSETS_4_3 = {**OFFSETS, "group-consumer": OFFSETS["group-classic"]}
TYPES = {"tx-group": ("", "Empty", "classic"), "group-classic": ("consumer", "Stable", "classic")}
TYPES_4_3 = {
    **TYPES,
    "group-consumer": ("consumer", "Empty", "consumer"),
    "share-group": ("share", "Empty", "share"),
}
SHARE_OFFSETS = {("plain", 0): (0, 0, 6)}  # error, start offset, 37 records less the 31 accepted
OPEN = "tx-open"  # its time is over: it is aborted while the test runs
DIRS = ["kafka-3.3.2-kraft-clean", "kafka-3.3.2-kraft-unclean", "kafka-4.3.0-kraft-clean"]


@pytest.fixture(scope="module", params=DIRS)
def told(request, tmp_path_factory):
    directory = unpack(request.param, tmp_path_factory.mktemp("groups"))
    with serving(request.param, directory) as told:
        wait_until_loaded(told)
        yield told


@pytest.fixture
def name(request):
    return request.node.callspec.params["told"]


@pytest.fixture
def is_4_3(name):
    return "4.3.0" in name


def wait_until_loaded(told):
    deadline_s = time.monotonic() + 20
    for request, version in ((ListGroupsRequest(), 4), (ListTransactionsRequest(), 0)):
        while told.ask(request, version).error_code == CoordinatorLoadInProgress.code:
            assert time.monotonic() < deadline_s, "still loading"


def test_offsets_are_served(told, is_4_3):
    expected = OFFSETS_4_3 if is_4_3 else OFFSETS
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in expected]
    answer = told.ask(OffsetFetchRequest(groups=groups, require_stable=True), 8)
    assert len(answer.groups) == len(expected)
    for group in answer.groups:
        assert group.error_code == 0
        fetched = {
            (topic.name, partition.partition_index): (partition.committed_offset, partition.metadata)
            for topic in group.topics
            for partition in topic.partitions
        }
        assert fetched == expected[group.group_id]


def test_a_group_is_described_with_its_assignment(told):
    """Its member was there when the broker stopped: it has a session's time to come back."""
    group = told.ask(DescribeGroupsRequest(groups=["group-classic"]), 5).groups[0]
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    (member,) = group.members
    assert (member.group_instance_id, member.client_id, member.client_host) == ("static-1", "cons", "/127.0.0.1")
    assigned = ConsumerProtocolAssignment.decode(member.member_assignment, 0, at=2).assigned_partitions
    assert {topic.topic: topic.partitions for topic in assigned} == {"plain": [0], "keyed": [0, 1, 2]}


def test_a_group_of_the_consumer_protocol_is_described(told, is_4_3):
    if not is_4_3:
        pytest.skip("a 3.3 has none")
    group = told.ask(ConsumerGroupDescribeRequest(group_ids=["group-consumer"]), 1).groups[0]
    assert (group.error_code, group.group_state, group.members) == (0, "Empty", [])
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (3, 2, "uniform")


def test_a_share_group_is_described_with_its_offsets(told, is_4_3):
    if not is_4_3:
        pytest.skip("a 3.3 has none")
    (group,) = told.ask(ShareGroupDescribeRequest(group_ids=["share-group"]), 1).groups
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Empty", "simple")
    wanted = DescribeShareGroupOffsetsRequestGroup(group_id="share-group", topics=None)
    (told_offsets,) = told.ask(DescribeShareGroupOffsetsRequest(groups=[wanted]), 1).groups
    found = {
        (topic.topic_name, each.partition_index): (each.error_code, each.start_offset, each.lag)
        for topic in told_offsets.topics
        for each in topic.partitions
    }
    assert (told_offsets.error_code, found) == (0, SHARE_OFFSETS)


def test_groups_are_listed(told, is_4_3):
    expected = TYPES_4_3 if is_4_3 else {name: row[:2] for name, row in TYPES.items()}
    groups = told.ask(ListGroupsRequest(), 5 if is_4_3 else 4).groups
    listed = {row.group_id: (row.protocol_type, row.group_state, row.group_type) for row in groups}
    assert {name: row if is_4_3 else row[:2] for name, row in listed.items()} == expected


def transactions_of(name):
    """{id: (state, producer id and epoch, timeout)}, as the last record of each has it."""
    found = {}
    for file, form in segments(name).items():
        if file.startswith("__transaction_state-") and file.endswith(".log"):
            for record in (record for batch in form["batches"] for record in batch["records"]):
                key = TRANSACTIONS.decode_key(bytes.fromhex(record["key"]))
                value = TRANSACTIONS.decode_value(key, bytes.fromhex(record["value"]))
                stamp = (value.producer_id, value.producer_epoch)
                state = states.NAMES[value.transaction_status]
                found[key.transactional_id] = (state, stamp, value.transaction_timeout_ms)
    return found


def test_transactions_are_described(told, name):
    expected = transactions_of(name)
    assert set(expected) == {"tx-1", "tx-2", "tx-offsets", OPEN}
    answer = told.ask(DescribeTransactionsRequest(transactional_ids=sorted(expected)), 0)
    described = {
        row.transactional_id: (
            row.transaction_state,
            (row.producer_id, row.producer_epoch),
            row.transaction_timeout_ms,
        )
        for row in answer.transaction_states
    }
    state, (producer, epoch), timeout_ms = described.pop(OPEN)
    was = expected.pop(OPEN)
    assert described == expected
    assert (producer, timeout_ms) == (was[1][0], was[2])
    assert (state, epoch) == (was[0], was[1][1]) or (state.endswith("Abort") and epoch == was[1][1] + 1)


def test_transactions_are_listed(told, name):
    expected = {key: (row[1][0], row[0]) for key, row in transactions_of(name).items()}
    rows = told.ask(ListTransactionsRequest(), 0).transaction_states
    listed = {row.transactional_id: (row.producer_id, row.transaction_state) for row in rows}
    assert listed.keys() == expected.keys()
    assert {key: row for key, row in listed.items() if key != OPEN} == {
        key: row for key, row in expected.items() if key != OPEN
    }
