"""What the coordinators of a whole broker count, read off its registry after requests have come over the network."""

import pytest

from broker_kit import SimBroker, SimClient
from odradek.metrics.recent_times import WINDOW_MS
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest
from odradek.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from odradek.protocol.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest
from odradek.sim.world import World
from streams_kit import subtopology, topology

SERVER, BEAN = "kafka.server", "group-coordinator-metrics"
MANAGER = ("kafka.coordinator.group", "GroupMetadataManager")


class Watched:
    """A broker, a client of it, and a look at its metrics."""

    def __init__(self):
        properties = {"offsets.topic.num.partitions": "2", "group.initial.rebalance.delay.ms": "0"}
        self.broker = SimBroker(World(seed=3), properties=properties).wait_until_ready()
        self.client = SimClient(self.broker.world, "client", self.broker.address)
        topic = MetadataRequestTopic(name="t")
        self.client.ask(MetadataRequest(topics=[topic], allow_auto_topic_creation=True), 9)
        self.client.ask(FindCoordinatorRequest(key="g", key_type=0), 2)
        self.broker.world.run_for(2000)

    def read(self, group, type_, name, **tags):
        registry = self.broker.server.shared.metrics
        list(registry)  # a scrape
        return registry.find(group, type_, name, tags).read()

    def server(self, name, **tags):
        return self.read(SERVER, BEAN, name, **tags)

    def commit(self, group, offset=1):
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=-1,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])],
        )
        assert self.client.ask(request, 6).topics[0].partitions[0].error_code == 0

    def join(self, group):
        protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined = self.client.ask(request, 3)
        assert joined.error_code == 0
        synced = SyncGroupRequest(group_id=group, generation_id=joined.generation_id, member_id=joined.member_id)
        assert self.client.ask(synced, 2).error_code == 0


@pytest.fixture
def watched():
    return Watched()


def test_offsets_and_their_groups_are_counted(watched):
    assert watched.read(*MANAGER, "NumOffsets") == 0
    for group in ("g", "h", "g"):
        watched.commit(group)
    assert watched.read(*MANAGER, "NumOffsets") == 2
    assert watched.read(*MANAGER, "NumGroups") == 2
    assert watched.read(*MANAGER, "NumGroupsEmpty") == 2
    assert watched.server("group-count", protocol="classic") == 2
    assert watched.server("offset-commit-count") == 3
    assert watched.server("offset-deletion-count") == 0


def test_a_deleted_group_takes_its_offsets_out_of_the_count(watched):
    watched.commit("g")
    assert watched.client.ask(DeleteGroupsRequest(groups_names=["g"]), 1).results[0].error_code == 0
    assert watched.read(*MANAGER, "NumOffsets") == 0
    assert watched.read(*MANAGER, "NumGroups") == 0
    assert watched.server("offset-deletion-count") == 1


def test_a_rebalance_counts_when_its_assignment_is_there(watched):
    watched.join("g")
    assert watched.read(*MANAGER, "NumGroupsStable") == 1
    assert watched.server("group-completed-rebalance-count") == 1
    assert watched.server("consumer-group-rebalance-count") == 0


def test_streams_groups_are_counted_by_state(watched):
    """Of a topic that there is not: the group cannot run."""
    request = StreamsGroupHeartbeatRequest(
        group_id="s",
        member_id="m",
        rebalance_timeout_ms=1000,
        topology=topology(subtopology("0", "nowhere")),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
    )
    assert watched.client.ask(request, 0).error_code == 0
    assert watched.server("group-count", protocol="streams") == 1
    assert watched.server("streams-group-count", state="NotReady") == 1
    assert watched.server("streams-group-count", state="Stable") == 0
    assert watched.server("streams-group-rebalance-count") == 1
    assert watched.read(*MANAGER, "NumGroups") == 0


def test_the_partitions_that_are_led_are_told_by_state(watched):
    assert watched.server("num-partitions", state="active") == 2
    assert watched.server("num-partitions", state="loading") == 0
    assert watched.server("num-partitions", state="failed") == 0


def test_the_time_of_loading_is_forgotten_after_a_while(watched):
    assert watched.server("partition-load-time-max") >= 0
    watched.broker.world.run_for(WINDOW_MS + 1000)
    assert watched.server("partition-load-time-max") is None


def test_no_marker_waits(watched):
    of_markers = ("kafka.coordinator.transaction", "TransactionMarkerChannelManager")
    assert watched.read(*of_markers, "UnknownDestinationQueueSize") == 0
    assert watched.read(*of_markers, "LogAppendRetryQueueSize") == 0
