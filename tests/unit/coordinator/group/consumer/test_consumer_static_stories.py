"""Static members of consumer groups: known by their instance id, and expected back."""

import pytest

from consumer_kit import JOIN, LEAVE, LEAVE_STATIC, ConsumerStory


@pytest.fixture
def story():
    told = ConsumerStory()
    told.joins("s1", instance="i1")
    told.joins("s2", instance="i2")
    assert told.says("s1", 2, "a[0 1 2 3]", instance="i1") == "2: a[0 1]"
    assert told.says("s1", 2, "a[0 1]", instance="i1") == "3"
    assert told.says("s2", 3, instance="i2") == "3: a[2 3]"
    return told


def test_an_instance_id_in_use_is_not_given_away(story):
    assert story.joins("s3", instance="i1") == "UNRELEASED_INSTANCE_ID"
    assert story.epochs() == "Stable 3/3"


def test_who_comes_back_gets_what_it_had_without_a_rebalance(story):
    assert story.says("s1", LEAVE_STATIC, instance="i1") == "-2"
    assert story.epochs() == "Reconciling 3/3"
    assert story.has("s1") == "a[0 1]", "it is kept for it"
    assert story.joins("s4", instance="i1") == "3: a[0 1]"
    assert story.epochs() == "Stable 3/3", "the same epoch: nobody else has noticed"
    assert story.says("s1", 3, instance="i1") == "FENCED_INSTANCE_ID"
    assert story.says("s1", LEAVE, instance="i1") == "FENCED_INSTANCE_ID"
    assert story.says("s4", 3, "a[0 1]", instance="i1") == "3"
    story.reload()
    assert story.says("s4", 3, "a[0 1]", instance="i1") == "3"
    assert "s1" not in story.consumer_group().members


def test_who_comes_back_under_its_own_id(story):
    story.says("s1", LEAVE_STATIC, instance="i1")
    assert story.joins("s1", instance="i1") == "3: a[0 1]"


def test_who_comes_back_with_another_subscription_moves_the_group(story):
    story.says("s1", LEAVE_STATIC, instance="i1")
    assert story.joins("s5", "a b", instance="i1") == "4: a[0] b[0 1]"
    assert story.target("s2") == "a[1 2 3]"


def test_who_is_away_is_fenced_until_it_joins(story):
    story.says("s1", LEAVE_STATIC, instance="i1")
    assert story.says("s1", 3, instance="i1") == "FENCED_MEMBER_EPOCH"
    code = story.commit(1, topic="a", generation=3, member_id="s1", instance_id="i1", version=9)
    assert code == "STALE_MEMBER_EPOCH"


def test_who_does_not_come_back_in_time_is_gone(story):
    story.says("s1", LEAVE_STATIC, instance="i1")
    story.advance(30_000)
    assert story.says("s2", 3, instance="i2") == "3"
    story.advance(15_000)
    assert story.says("s2", 3, instance="i2") == "4: a[0 1 2 3]"
    assert story.joins("s6", instance="i1") == "5:", "the instance id is free again"


def test_a_static_member_may_leave_for_good(story):
    assert story.says("s1", LEAVE, instance="i1") == "-1"
    assert story.says("s2", 3, instance="i2") == "4: a[0 1 2 3]"


def test_unknown_instance_ids(story):
    assert story.says("s1", 3, instance="i9") == "UNKNOWN_MEMBER_ID"
    assert story.says("s1", LEAVE_STATIC, instance="i9") == "UNKNOWN_MEMBER_ID"
    assert story.beat("s1", LEAVE_STATIC, instance="i9").error_message == "Instance id i9 is unknown."


def test_an_admin_sends_static_members_away(story):
    assert story.leave("instance:i1", "instance:i9") == ["ok", "UNKNOWN_MEMBER_ID"]
    assert story.says("s1", 3, instance="i1") == "UNKNOWN_MEMBER_ID"
    assert story.says("s2", 3, instance="i2") == "4: a[0 1 2 3]"


def test_a_static_member_that_had_to_give_back_comes_back_without(story):
    story.joins("s3", instance="i3")
    told = story.says("s2", 3, "a[2 3]", instance="i2")
    assert told == "3: a[2]", "it is told to give one back"
    story.says("s2", LEAVE_STATIC, instance="i2")
    assert story.beat("s2b", JOIN, "", names="a", timeout_ms=1, instance="i2").member_epoch == 4
    assert story.has("s2b") == "a[2]"
    assert story.says("s3", 4, instance="i3") == "4: a[3]"
