"""Streams groups with their topology and tasks."""

import pytest
from admin_kit import kinds, told, until

from odradek import errors
from odradek.client.admin.streams_groups import InternalTopic, StreamsAssignment, Subtopology, _member
from odradek.protocol.messages import k88_streams_group_heartbeat as k88
from odradek.protocol.messages import k89_streams_group_describe as k89

NODE = 1
MEMBER = "a-member"
TOPOLOGY = k88.Topology(
    epoch=3,
    subtopologies=[
        k88.Subtopology(
            subtopology_id="sub",
            source_topics=["read"],
            state_changelog_topics=[
                k88.TopicInfo(
                    name="app-changelog",
                    partitions=0,
                    replication_factor=1,
                    topic_configs=[k88.KeyValue(key="cleanup.policy", value="compact")],
                )
            ],
        )
    ],
)


def beat(admin, epoch, **fields):
    request = k88.StreamsGroupHeartbeatRequest(group_id="app", member_id=MEMBER, member_epoch=epoch, **fields)
    response = told(admin, request, k88.StreamsGroupHeartbeatResponse)
    assert response.error_code == 0, response
    return response


@pytest.fixture(scope="module", autouse=True)
def member(admin):
    admin.create_topic("read", partitions=2)
    assert kinds(admin.describe_streams_groups(["app"])) == {"app": errors.GroupIdNotFound}
    joined = beat(
        admin,
        0,
        rebalance_timeout_ms=60_000,
        topology=TOPOLOGY,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="a-process",
        user_endpoint=k88.Endpoint(host="here", port=99),
        client_tags=[k88.KeyValue(key="zone", value="north")],
    )
    yield joined
    beat(admin, -1)


def test_a_group_with_its_topology(admin):
    found = admin.describe_streams_groups(["app"])["app"]
    assert (found.group_id, found.coordinator, found.topology_epoch) == ("app", NODE, 3)
    changelog = InternalTopic("app-changelog", 0, 1, {"cleanup.policy": "compact"})
    assert found.subtopologies == (Subtopology("sub", ("read",), (), (changelog,), ()),)
    assert found.group_epoch > 0 and found.state and found.authorized_operations is None


def test_its_member_and_what_it_shall_run(admin):
    def described():
        beat(admin, admin.describe_streams_groups(["app"])["app"].members[0].epoch)
        return admin.describe_streams_groups(["app"])["app"].members[0]

    found = until(described, lambda member: member.target.active)
    assert found.target == StreamsAssignment({"sub": (0, 1)}, {}, {})
    assert (found.member_id, found.process_id, found.endpoint) == (MEMBER, "a-process", ("here", 99))
    assert (found.instance_id, found.rack_id, found.topology_epoch) == (None, None, 3)
    assert found.client_tags == {"zone": "north"} and not found.is_classic
    assert found.epoch > 0
    assert (found.host, found.client_id) == ("/127.0.0.1", "the-admin")


def test_what_a_member_has_is_not_what_it_shall_have():
    """While others have not let go of its tasks."""

    def tasks(*numbers):
        return [k89.TaskIds(subtopology_id="sub", partitions=list(numbers))]

    found = _member(
        k89.Member(
            assignment=k89.Assignment(active_tasks=tasks(0), standby_tasks=tasks(1)),
            target_assignment=k89.Assignment(active_tasks=tasks(0, 1), warmup_tasks=tasks(2)),
        )
    )
    assert found.assignment == StreamsAssignment({"sub": (0,)}, {"sub": (1,)}, {})
    assert found.target == StreamsAssignment({"sub": (0, 1)}, {}, {"sub": (2,)})
    assert found.endpoint is None


def test_each_group_has_an_outcome_of_its_own(admin):
    found = admin.describe_streams_groups(["app", "nobody"], include_authorized_operations=True)
    assert kinds(found) == {"nobody": errors.GroupIdNotFound}
    assert found["app"].authorized_operations
