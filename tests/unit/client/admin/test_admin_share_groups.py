"""Share groups, and where they begin."""

import pytest
from admin_kit import kinds, told, until

from odradek import TopicPartition, errors
from odradek.client.admin.share_groups import SharePartitionOffset
from odradek.protocol.messages.k76_share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from odradek.protocol.uuids import format_uuid

FIRST, SECOND, MISSING = (TopicPartition("shared", number) for number in (0, 1, 9))
NODE = 1


@pytest.fixture(scope="module", autouse=True)
def topic(admin):
    admin.create_topic("shared", partitions=2)


def beat(admin, group, member_id, epoch):
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id=member_id, member_epoch=epoch, subscribed_topic_names=["shared"]
    )
    response = told(admin, request, ShareGroupHeartbeatResponse)
    assert response.error_code == 0, response
    return response.member_epoch


@pytest.fixture
def member(admin):
    """A group with one member."""
    admin.describe_share_groups(["with-a-member"])  # its coordinator is there then
    member_id = format_uuid(b"member of a grp.")
    epoch = beat(admin, "with-a-member", member_id, 0)
    yield member_id, epoch
    beat(admin, "with-a-member", member_id, -1)


def test_a_group_with_its_member(admin, member):
    member_id, epoch = member

    def described():
        beat(admin, "with-a-member", member_id, epoch)
        return admin.describe_share_groups(["with-a-member"])["with-a-member"]

    found = until(described, lambda group: group.members[0].assignment)
    assert (found.group_id, found.state, found.coordinator) == ("with-a-member", "Stable", NODE)
    assert found.assignor == "simple" and found.authorized_operations is None
    assert found.group_epoch == found.assignment_epoch > 0
    (described,) = found.members
    assert described.member_id == member_id and described.epoch > 0
    assert described.subscription == ("shared",)
    assert described.assignment == {FIRST, SECOND}
    assert (described.host, described.client_id) == ("/127.0.0.1", "the-admin")


def test_each_group_has_an_outcome_of_its_own(admin, member):
    found = admin.describe_share_groups(["with-a-member", "nobody"], include_authorized_operations=True)
    assert kinds(found) == {"nobody": errors.GroupIdNotFound}
    assert found["with-a-member"].authorized_operations


def test_a_group_with_members_keeps_its_offsets(admin, member):
    assert kinds(admin.alter_share_group_offsets("with-a-member", {FIRST: 0})) == {FIRST: errors.NonEmptyGroup}
    assert kinds(admin.delete_share_group_offsets("with-a-member", ["shared"])) == {"shared": errors.NonEmptyGroup}


def test_offsets_are_set_told_and_deleted(admin):
    altered = admin.alter_share_group_offsets("empty", {FIRST: 0, MISSING: 1})
    assert altered[FIRST] is None
    assert kinds(altered) == {MISSING: errors.UnknownTopicOrPartition}

    everything = admin.list_share_group_offsets({"empty": None})["empty"]
    assert dict(everything) == {FIRST: SharePartitionOffset(start_offset=0, leader_epoch=0, lag=0)}
    some = admin.list_share_group_offsets({"empty": [FIRST, SECOND]})["empty"]
    assert dict(some) == {**everything, SECOND: None}

    deleted = admin.delete_share_group_offsets("empty", ["shared", "nothing"])
    assert deleted["shared"] is None
    assert kinds(deleted) == {"nothing": errors.UnknownTopicOrPartition}
    assert dict(admin.list_share_group_offsets({"empty": None})["empty"]) == {}


def test_a_share_group_is_deleted_as_any_group(admin):
    admin.alter_share_group_offsets("to-go", {FIRST: 0}).raise_any()
    assert admin.describe_share_groups(["to-go"])["to-go"].state == "Empty"
    assert admin.delete_groups(["to-go"])["to-go"] is None
    assert kinds(admin.describe_share_groups(["to-go"])) == {"to-go": errors.GroupIdNotFound}


def test_the_error_of_a_group_is_its_own(admin, broker):
    with broker.faults.on("DescribeShareGroupOffsets").error("GROUP_AUTHORIZATION_FAILED"):
        assert kinds(admin.list_share_group_offsets({"empty": None})) == {"empty": errors.GroupAuthorizationFailed}
