"""Offsets: who may commit them, when they count, and when they go."""

import pytest

from group_kit import GroupStory, subscription
from odradek.coordinator.group.commit_request import Commit, CommitFrom
from odradek.protocol.messages.consumer_offsets import GroupMetadataKey, OffsetCommitValue

DAY_MS = 86_400_000


@pytest.fixture
def story():
    return GroupStory()


# Who may


def test_anybody_may_commit_for_a_group_without_members(story):
    assert story.commit(5) == "ok"
    assert (story.state(), story.group().protocol_type) == ("Empty", None)
    assert story.committed() == 5
    assert story.committed(partition=1) is None


def test_a_generation_of_a_group_that_is_not_there(story):
    assert story.commit(5, generation=5, member_id="m") == "ILLEGAL_GENERATION"
    assert story.commit(5, generation=5, member_id="m", version=9) == "GROUP_ID_NOT_FOUND"
    assert GroupStory("3.3").commit(5, generation=5, member_id="m", version=9) == "ILLEGAL_GENERATION"
    assert story.log == []


def test_only_members_commit_for_a_group_with_members(story):
    first, _ = story.stable_pair()
    assert story.commit(5) == "UNKNOWN_MEMBER_ID"
    assert story.commit(5, generation=2, member_id="other") == "UNKNOWN_MEMBER_ID"
    assert story.commit(5, generation=1, member_id=first) == "ILLEGAL_GENERATION"
    assert story.commit(5, generation=2, member_id=first) == "ok"


def test_commits_are_taken_while_members_join_and_not_before_the_assignment(story):
    first, second = story.stable_pair()
    story.join("b again", second, protocols={"range": subscription("u")})
    assert story.commit(5, generation=2, member_id=first) == "ok", "its heartbeats will tell it"
    story.join("a again", first)
    assert story.commit(6, generation=3, member_id=first) == "REBALANCE_IN_PROGRESS"
    assert story.committed() == 5


def test_metadata_has_a_limit():
    story = GroupStory(offset_metadata_max_bytes=10)
    commits = [Commit("t", 0, 1, metadata="x" * 10), Commit("t", 1, 1, metadata="x" * 11), Commit("t", 2, 1)]
    assert story.event(lambda core: core.commit_offsets(story.now, CommitFrom("g"), commits)) == [0, 12, 0]
    assert [story.committed(partition=index) for index in range(3)] == [1, None, 1]


def test_the_record_is_the_release_profiles():
    for release, has_topic_id in (("3.3", False), ("4.3", True)):
        story = GroupStory(release)
        commits = [Commit("t", 0, 7, 3, "m", topic_id=bytes(range(16)))]
        story.event(lambda core, commits=commits, story=story: core.commit_offsets(story.now, CommitFrom("g"), commits))
        value = story.log[0][0].value
        assert isinstance(value, OffsetCommitValue)
        assert (value.offset, value.leader_epoch, value.metadata) == (7, 3, "m")
        assert (bytes(value.topic_id) == bytes(range(16))) == has_topic_id


# Transactions


def test_an_offset_of_a_transaction_counts_when_it_commits(story):
    story.commit(5)
    story.commit(9, producer=42)
    assert story.committed() == 5
    assert story.committed(require_stable=True) == "UNSTABLE_OFFSET_COMMIT"
    story.end_transaction(42, is_commit=True)
    assert story.committed(require_stable=True) == 9


def test_an_aborted_one_never_does(story):
    story.commit(5)
    story.commit(9, producer=42)
    story.end_transaction(42, is_commit=False)
    assert story.committed(require_stable=True) == 5


def test_an_end_touches_its_own_producer_alone(story):
    story.commit(1, producer=41)
    story.commit(2, producer=42, partition=1)
    story.end_transaction(41, is_commit=True)
    assert story.committed() == 1
    assert story.committed(partition=1, require_stable=True) == "UNSTABLE_OFFSET_COMMIT"


def test_of_two_commits_the_later_one_counts(story):
    story.commit(9, producer=42)
    story.commit(5)
    story.end_transaction(42, is_commit=True)
    assert story.committed() == 5, "the plain commit was written after the one of the transaction"


def test_pending_offsets_survive_the_coordinator(story):
    story.commit(9, producer=42)
    story.reload()
    assert story.committed(require_stable=True) == "UNSTABLE_OFFSET_COMMIT"
    story.end_transaction(42, is_commit=True)
    story.reload()
    assert story.committed() == 9


def test_a_transaction_of_a_member_that_is_gone(story):
    assert story.commit(1, producer=42, generation=3, member_id="m") == "ILLEGAL_GENERATION"
    assert GroupStory("3.3").commit(1, producer=42, generation=3, member_id="m") == "UNKNOWN_MEMBER_ID"
    first, _ = story.stable_pair()
    assert story.commit(1, producer=42) == "ok", "older producers do not tell who they are"
    assert story.commit(1, producer=42, generation=1, member_id=first) == "ILLEGAL_GENERATION"


# Deletion


def deleted(story, group="g"):
    return story.event(lambda core: core.delete(group))


def test_only_empty_groups_are_deleted(story):
    assert deleted(story) == 69
    first, second = story.stable_pair()
    story.commit(5, generation=2, member_id=first)
    story.commit(6, producer=42, partition=1)
    assert deleted(story) == 68
    story.leave(first, second)
    assert deleted(story) == 0
    assert story.state() == "Dead"
    story.end_transaction(42, is_commit=True)
    story.reload()
    assert story.state() == "Dead"
    assert story.committed() is None


def delete_offsets(story, *places):
    return story.event(lambda core: core.delete_offsets("g", places))


def test_offsets_of_topics_that_nobody_reads_may_be_deleted(story):
    assert delete_offsets(story, ("t", 0)) == 69
    first, second = story.stable_pair()
    for topic in ("t", "old"):
        story.commit(5, topic=topic, generation=2, member_id=first)
    assert delete_offsets(story, ("t", 0), ("old", 0), ("never", 0)) == [86, 0, 0]
    assert (story.committed(), story.committed(topic="old")) == (5, None)
    story.leave(first, second)
    assert delete_offsets(story, ("t", 0)) == [0]
    assert story.committed() is None


def test_of_a_group_whose_members_cannot_be_understood_none_is_deleted(story):
    story.join("m", version=3, protocol_type="connect", protocols={"x": b""})
    story.advance(0)
    assert delete_offsets(story, ("t", 0)) == 68
    other = GroupStory()
    other.join("m", version=3, protocols={"range": b"\xff"})
    other.advance(0)
    assert delete_offsets(other, ("t", 0)) == [86]


def test_the_offsets_of_a_deleted_topic_go(story):
    story.commit(1)
    story.commit(2, topic="gone")
    story.commit(3, topic="gone", group="h")
    story.event(lambda core: core.topics_deleted(["gone", "never there"]))
    assert story.committed() == 1
    assert story.committed(topic="gone") is story.committed(topic="gone", group="h") is None


# Retention: a week, unless configured


def test_offsets_of_a_group_without_members_expire_after_their_commit(story):
    story.commit(1)
    story.advance(6 * DAY_MS)
    story.commit(2, partition=1)
    story.advance(DAY_MS + 600_000)
    assert (story.committed(), story.committed(partition=1)) == (None, 2)
    story.advance(6 * DAY_MS)
    assert story.state() == "Dead", "nothing was left of it"
    assert isinstance(story.log[-1][0].key, GroupMetadataKey)
    story.reload()
    assert story.state() == "Dead"


def test_offsets_of_a_group_that_had_members_expire_when_it_has_been_empty_for_long(story):
    first, second = story.stable_pair()
    story.commit(1, generation=2, member_id=first)
    keep_alive(story, (first, second), 8 * DAY_MS, step_ms=9000, skip=True)
    assert story.committed() == 1, "a member reads the topic"
    story.leave(first, second)
    story.advance(7 * DAY_MS - 600_000)
    assert story.committed() == 1
    story.advance(2 * 600_000)
    assert story.committed() is None


def keep_alive(story, members, ms, *, step_ms, skip):
    """A week of heartbeats would take long: the sessions are moved instead."""
    assert skip
    for member_id in members:
        assert story.heartbeat(member_id) == "ok"
        member = story.group().members[member_id]
        story.core.classic.begin_session(story.group(), member, story.now, ms + step_ms)
    story.advance(ms)
    for member_id in members:
        assert story.heartbeat(member_id) == "ok"


def test_a_stable_group_loses_offsets_of_topics_that_it_no_longer_reads(story):
    first, second = story.stable_pair()
    story.commit(1, generation=2, member_id=first)
    story.commit(2, topic="old", generation=2, member_id=first)
    keep_alive(story, (first, second), 7 * DAY_MS + 600_000, step_ms=9000, skip=True)
    assert (story.committed(), story.committed(topic="old")) == (1, None)


@pytest.mark.contract("K3")
def test_a_commit_may_bring_its_own_retention(story):
    story.commit(1, retention_ms=60_000)
    story.commit(2, partition=1)
    assert story.log[0][0].value.expire_timestamp > 0
    story.advance(600_000)
    assert (story.committed(), story.committed(partition=1)) == (None, 2)


def test_what_a_transaction_may_still_change_does_not_expire(story):
    story.commit(1)
    story.commit(2, producer=42)
    story.advance(8 * DAY_MS)
    assert story.committed() == 1
    story.end_transaction(42, is_commit=False)
    story.advance(600_000)
    assert story.state() == "Dead"
