"""StreamsGroupHeartbeat and StreamsGroupDescribe over a socket: where they are served, and the topics they make."""

import time

import pytest

from odradek.protocol import errors, whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest
from odradek.protocol.messages.k89_streams_group_describe import StreamsGroupDescribeRequest
from started import broker
from streams_kit import internal, subtopology, topology
from wire_replay import CLOSED, SocketTarget, create_topic

MISSING_INTERNAL_TOPICS = 3
DEADLINE_S = 20
AT_ONCE = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}


def ask(target, request, version=0):
    header = RequestHeader(request_api_key=request.api_key, request_api_version=version, correlation_id=1)
    answer = target.ask("only", b"".join(bytes(part) for part in whole.encode_request(header, request)))
    return answer if answer == CLOSED else whole.decode_response(answer, request.api_key, version)[1]


def joining(runs, group="g"):
    return StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        rebalance_timeout_ms=5000,
        topology=runs,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
    )


def staying(epoch):
    return StreamsGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=epoch)


READS_T = topology(subtopology("0", "t"))


@pytest.fixture
def target(request):
    release, properties = request.param
    with broker(release, properties) as address:
        made = SocketTarget(*address)
        yield made
        made.close()


def until(look):
    deadline = time.monotonic() + DEADLINE_S
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
    return found


def joined(target, runs):
    """Once the offsets topic and its coordinator are there."""
    retriable = (errors.CoordinatorNotAvailable.code, errors.NotCoordinator.code, errors.CoordinatorLoadInProgress.code)

    def once():
        response = ask(target, joining(runs))
        return None if response.error_code in retriable else response

    create_topic(target.ask, "__consumer_offsets")
    return until(once)


@pytest.mark.parametrize("target", [("3.3", {})], indirect=True)
def test_a_3_3_does_not_know_them(target):
    assert ask(target, joining(READS_T)) == CLOSED
    assert ask(target, StreamsGroupDescribeRequest(group_ids=["g"])) == CLOSED


WITHOUT = ("4.3", {"group.coordinator.rebalance.protocols": "classic,consumer"})


@pytest.mark.parametrize("target", [WITHOUT], indirect=True)
def test_a_broker_may_leave_the_protocol_out(target):
    assert ask(target, joining(READS_T)).error_code == errors.UnsupportedVersion.code
    described = ask(target, StreamsGroupDescribeRequest(group_ids=["g"]))
    assert [group.error_code for group in described.groups] == [errors.UnsupportedVersion.code]


@pytest.mark.parametrize("target", [("4.3", AT_ONCE)], indirect=True)
def test_missing_internal_topics_are_made(target):
    create_topic(target.ask, "t")
    runs = topology(
        subtopology("0", "t", changelogs=[internal("c", cleanup_policy="compact"), internal("never", replicas=5)])
    )
    first = joined(target, runs)
    assert first.status[0].status_code == MISSING_INTERNAL_TOPICS
    names = MetadataRequest(topics=[MetadataRequestTopic(name="c")], allow_auto_topic_creation=False)
    made = until(lambda: [topic for topic in ask(target, names, 9).topics if topic.error_code == 0])
    assert [len(topic.partitions) for topic in made] == [1]

    def told():
        detail = ask(target, staying(2)).status[0].status_detail
        return detail if "Creation failed" in detail else None

    assert until(told).startswith("Internal topics are missing: never; Creation failed: never (")
    group = ask(target, StreamsGroupDescribeRequest(group_ids=["g"])).groups[0]
    assert (group.group_state, group.members[0].client_host) == ("NotReady", "/127.0.0.1")


@pytest.mark.parametrize("target", [("4.3", AT_ONCE)], indirect=True)
def test_topics_that_no_topology_may_name(target):
    own = ask(target, joining(topology(subtopology("0", "__consumer_offsets t"))))
    assert own.error_code == errors.StreamsInvalidTopology.code
    assert "internal topics __consumer_offsets in" in own.error_message
    bad = ask(target, joining(topology(subtopology("0", "t", changelogs=[internal("a/b")]))))
    assert (bad.error_code, bad.error_message) == (130, "Topic names a/b are not valid topic names.")
    assert ask(target, joining(READS_T, group="")).error_message == "GroupId can't be empty."
    described = ask(target, StreamsGroupDescribeRequest(group_ids=[""]))
    assert described.groups[0].error_code == errors.InvalidGroupId.code
