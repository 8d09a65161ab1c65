"""The group APIs in all their versions, on a whole broker in simulation."""

import pytest

from broker_kit import SimBroker, SimClient
from odradek.protocol import releases
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest
from odradek.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from odradek.protocol.messages.k16_list_groups import ListGroupsRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from odradek.protocol.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from odradek.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.sim.world import World

PROPERTIES = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3"}


class Rig:
    def __init__(self, release="4.3", **properties):
        self.release = releases.by_name(release)
        self.world = World(1)
        self.broker = SimBroker(self.world, release=release, properties={**PROPERTIES, **properties})
        self.broker.wait_until_ready()
        self.client = SimClient(self.world, "client", self.broker.address)
        self.ask = self.client.ask
        self.topic_id = self.create("t", 2)

    def create(self, name, partitions):
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        made = self.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7).topics[0]
        assert made.error_code == 0
        self.world.run_for(1000)
        return made.topic_id

    def find(self, *keys, key_type=0, version=4):
        return self.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys)), version).coordinators

    def ready(self):
        """The coordinator is there and has loaded."""
        self.find("g")
        self.client.ask_until(
            DescribeGroupsRequest(groups=["g", "h"]), 0, lambda told: all(not group.error_code for group in told.groups)
        )
        return self

    def commit(self, version, offset, *, group="g", topic="t", index=0, **fields):
        partition = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        partition.committed_metadata = f"v{version}"
        wanted = OffsetCommitRequestTopic(partitions=[partition])
        if version >= 10:
            wanted.topic_id = fields.pop("topic_id", self.topic_id)
        else:
            wanted.name = topic
        request = OffsetCommitRequest(group_id=group, topics=[wanted], **fields)
        return self.ask(request, version).topics[0].partitions[0].error_code

    def fetch(self, version, *, group="g", topic="t", index=0):
        """(offset, metadata, error code)"""
        if version < 8:
            topics = [OffsetFetchRequestTopic(name=topic, partition_indexes=[index])]
            answer = self.ask(OffsetFetchRequest(group_id=group, topics=topics), version)
        else:
            wanted = OffsetFetchRequestTopics(partition_indexes=[index])
            if version >= 10:
                wanted.topic_id = self.topic_id
            else:
                wanted.name = topic
            asked = OffsetFetchRequestGroup(group_id=group, topics=[wanted])
            answer = self.ask(OffsetFetchRequest(groups=[asked]), version).groups[0]
        partition = answer.topics[0].partitions[0]
        return partition.committed_offset, partition.metadata, partition.error_code

    def versions(self, key):
        low, high = self.release.api_versions(releases.BROKER)[key]
        return range(low, high + 1)


@pytest.fixture(scope="module", params=["4.3", "3.3"])
def rig(request):
    return Rig(request.param).ready()


def test_the_offsets_topic_is_made_when_it_is_first_asked_for():
    rig = Rig()
    (answer,) = rig.find("g")
    assert answer.error_code == 15, "it is being made"
    rig.world.run_for(1000)
    (answer,) = rig.find("g")
    assert (answer.error_code, answer.node_id) == (0, 1)
    configs = rig.ask(
        DescribeConfigsRequest(
            resources=[DescribeConfigsResource(resource_type=2, resource_name="__consumer_offsets")]
        ),
        1,
    ).results[0]
    values = {config.name: config.value for config in configs.configs}
    assert (values["cleanup.policy"], values["segment.bytes"]) == ("compact", "104857600")
    assert values["compression.type"] == "producer"


def test_without_the_topic_nobody_coordinates():
    rig = Rig()
    assert rig.fetch(1) == (-1, "", 16)
    assert rig.ask(ListGroupsRequest(), 4).groups == []


def test_find_coordinator_in_every_version(rig):
    for version in rig.versions(10):
        if version >= 4:
            found = rig.find("g", "", version=version)
            assert [(each.key, each.error_code, each.node_id) for each in found] == [("g", 0, 1), ("", 0, 1)]
        else:
            found = rig.ask(FindCoordinatorRequest(key="g"), version)
            assert (found.error_code, found.node_id) == (0, 1)
    assert rig.find("x", key_type=9)[0].error_code == 42


def test_commit_and_fetch_in_every_version(rig):
    for at, version in enumerate(rig.versions(8)):
        expected = 35 if version == 0 else 0
        assert rig.commit(version, at) == expected
        if not expected:
            assert rig.fetch(5) == (at, f"v{version}", 0)
    newest = (rig.versions(8)[-1] - rig.versions(8)[0], f"v{rig.versions(8)[-1]}", 0)
    for version in rig.versions(9):
        assert rig.fetch(version) == ((-1, "", 35) if version == 0 else newest)
    assert rig.fetch(7, index=1) == (-1, "", 0)


def test_all_topics_of_a_group(rig):
    rig.commit(5, 7, group="h")
    answer = rig.ask(OffsetFetchRequest(group_id="h", topics=None), 2)
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == [("t", 1)]
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("h", "none")]
    told = rig.ask(OffsetFetchRequest(groups=groups), 8).groups
    assert [(group.group_id, len(group.topics), group.error_code) for group in told] == [("h", 1, 0), ("none", 0, 0)]
    if rig.release.name == "4.3":
        told = rig.ask(OffsetFetchRequest(groups=groups[:1]), 10).groups
        assert told[0].topics[0].topic_id == rig.topic_id


def test_the_id_of_the_topic_is_kept_whether_the_request_has_named_it_or_not(rig):
    before = offset_records(rig)
    rig.commit(5, 11, group="ids")
    after = offset_records(rig)
    added = b"".join(after[index][len(before[index]) :] for index in after)
    assert b"ids" in added
    assert (bytes(rig.topic_id) in added) == (rig.release.name == "4.3")


def offset_records(rig):
    wanted = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in range(3)]
    topics = [FetchTopic(topic="__consumer_offsets", partitions=wanted)]
    told = rig.ask(FetchRequest(max_bytes=1 << 20, topics=topics), 12).responses[0].partitions
    return {partition.partition_index: bytes(partition.records or b"") for partition in told}


def test_commits_for_what_is_not_there(rig):
    assert rig.commit(5, 1, topic="none") == 3
    assert rig.commit(5, 1, index=9) == 3
    if rig.release.name == "4.3":
        assert rig.commit(10, 1, topic_id=b"?" * 16) == 100
    assert rig.commit(5, 1, generation_id_or_member_epoch=3, member_id="m", group="nobody") == 22


def life(rig, version, group):
    """A member that joins, syncs, lives and leaves, with the newest versions up to `version`."""
    joins = min(version, rig.versions(11)[-1])
    fields = {"group_id": group, "session_timeout_ms": 10_000, "protocol_type": "consumer"}
    if joins >= 1:
        fields["rebalance_timeout_ms"] = 10_000
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"m")]
    joined = rig.ask(JoinGroupRequest(member_id="", protocols=protocols, **fields), joins)
    if joins >= 4:
        assert joined.error_code == 79
        joined = rig.ask(JoinGroupRequest(member_id=joined.member_id, protocols=protocols, **fields), joins)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert [member.metadata for member in joined.members] == [b"m"]
    member_id = joined.member_id
    syncs = min(version, 5)
    sync = SyncGroupRequest(
        group_id=group,
        generation_id=1,
        member_id=member_id,
        assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"A")],
    )
    if syncs >= 5:
        sync.protocol_type, sync.protocol_name = "consumer", "range"
    assert rig.ask(sync, syncs).assignment == b"A"
    beats = min(version, 4)
    assert rig.ask(HeartbeatRequest(group_id=group, generation_id=1, member_id=member_id), beats).error_code == 0
    described = rig.ask(DescribeGroupsRequest(groups=[group]), min(version, 5)).groups[0]
    assert (described.group_state, described.protocol_data) == ("Stable", "range")
    leaves = min(version, 5)
    if leaves >= 3:
        left = rig.ask(LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id)]), leaves)
        assert [member.error_code for member in left.members] == [0]
    else:
        assert rig.ask(LeaveGroupRequest(group_id=group, member_id=member_id), leaves).error_code == 0
        assert rig.ask(LeaveGroupRequest(group_id=group, member_id=member_id), leaves).error_code == 25
    listed = rig.ask(ListGroupsRequest(), min(version, 4)).groups
    assert group in [each.group_id for each in listed]
    deleted = rig.ask(DeleteGroupsRequest(groups_names=[group, "never"]), min(version, 2)).results
    assert [result.error_code for result in deleted] == [0, 69]


@pytest.mark.parametrize("version", range(10))
def test_a_life_in_every_version(rig, version):
    life(rig, version, f"life-{version}")
    assert not rig.broker.errors


def test_list_groups_filters():
    rig = Rig().ready()
    rig.commit(5, 1, group="g1")
    every = rig.ask(ListGroupsRequest(), 5).groups
    assert [(group.group_id, group.group_state, group.group_type) for group in every] == [("g1", "Empty", "classic")]
    for states, types, count in (
        (["empty"], [], 1),
        (["Stable"], [], 0),
        (["Bogus"], [], 0),
        ([], ["Classic"], 1),
        ([], ["consumer"], 0),
    ):
        told = rig.ask(ListGroupsRequest(states_filter=states, types_filter=types), 5).groups
        assert len(told) == count, (states, types)


def test_offsets_are_deleted_by_an_admin_and_with_their_topic():
    rig = Rig().ready()
    rig.create("u", 1)
    rig.commit(5, 1)
    rig.commit(5, 2, topic="u")

    def delete(topic, index=0):
        wanted = OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index)])
        return rig.ask(OffsetDeleteRequest(group_id="g", topics=[wanted]), 0).topics[0].partitions[0].error_code

    assert (delete("t"), delete("none"), delete("t", 9)) == (0, 3, 3)
    assert rig.fetch(5) == (-1, "", 0)
    assert rig.fetch(5, topic="u")[0] == 2
    assert rig.ask(DeleteTopicsRequest(topic_names=["u"], timeout_ms=1000), 3).responses[0].error_code == 0
    rig.world.run_for(1000)
    assert rig.fetch(5, topic="u") == (-1, "", 0)


def test_an_empty_group_id_is_for_offsets_alone(rig):
    assert rig.commit(5, 3, group="") == 0
    assert rig.fetch(5, group="")[0] == 3
    assert rig.ask(HeartbeatRequest(group_id="", generation_id=1, member_id="m"), 0).error_code == 24
    refused = rig.ask(JoinGroupRequest(group_id="", session_timeout_ms=10_000, member_id="", protocol_type="x"), 2)
    assert refused.error_code == 24


@pytest.mark.parametrize("release", ["4.3", "3.3"])
def test_commits_survive_a_restart(release):
    rig = Rig(release).ready()
    assert rig.commit(5, 41) == 0
    rig.broker.stop()
    rig.broker.restart()
    rig.client = SimClient(rig.world, "client", rig.broker.address)
    rig.ask = rig.client.ask
    rig.ready()
    assert rig.fetch(5) == (41, "v5", 0)


def test_a_session_expires_and_a_held_join_goes_on():
    rig = Rig().ready()
    other = SimClient(rig.world, "other", rig.broker.address)
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"m")]
    fields = {"group_id": "g", "session_timeout_ms": 6000, "protocol_type": "consumer", "protocols": protocols}
    first = rig.ask(JoinGroupRequest(member_id="", rebalance_timeout_ms=60_000, **fields), 3)
    held = other.send(JoinGroupRequest(member_id="", rebalance_timeout_ms=60_000, **fields), 3)
    rig.world.run_for(1000)
    assert not held.is_done, "the first member has yet to join again"
    rig.world.run_for(5500)
    assert held.is_done, "its session is over"
    assert held.response.error_code == 0
    assert held.response.leader == held.response.member_id != first.member_id
