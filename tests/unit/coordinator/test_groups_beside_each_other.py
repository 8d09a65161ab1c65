"""Groups that read one topic: inside a group it is shared out, between groups it is everybody's."""

import pytest

from consumer_kit import ConsumerStory
from group_kit import GroupStory


@pytest.mark.contract("B84", "K15")
def test_a_topic_is_shared_out_inside_a_group_and_read_by_each_group_as_a_whole():
    """Members of one group are the readers of a queue; groups of one member each are subscribers."""
    story = ConsumerStory()
    for group in ("queue", "subscriber 1", "subscriber 2"):
        assert story.joins("m1", group=group) == "2: a[0 1 2 3]"
    story.joins("m2", group="queue")
    story.says("m1", 2, "a[0 1 2 3]", group="queue")
    story.says("m1", 2, "a[0 1]", group="queue")
    story.says("m2", 3, group="queue")
    assert (story.has("m1", group="queue"), story.has("m2", group="queue")) == ("a[0 1]", "a[2 3]")
    for group in ("subscriber 1", "subscriber 2"):
        assert story.has("m1", group=group) == "a[0 1 2 3]", "a member of another group is none of its business"
        assert story.epochs(group) == "Stable 2/2"


@pytest.mark.contract("B84")
def test_each_group_has_its_own_place_in_a_partition():
    story = GroupStory()
    for group, offset in (("first", 5), ("second", 900)):
        assert story.committed(group=group) is None
        assert story.commit(offset, group=group) == "ok"
    assert (story.committed(group="first"), story.committed(group="second")) == (5, 900)
    story.commit(6, group="first")
    story.reload()
    assert (story.committed(group="first"), story.committed(group="second")) == (6, 900)


@pytest.mark.contract("B76")
def test_a_commit_is_a_sign_of_life():
    story = GroupStory()
    first, second = story.stable_pair()
    for offset in range(10):
        story.advance(6000)  # of a session of 10 s
        assert story.heartbeat(second) == "ok"
        assert story.commit(offset, generation=2, member_id=first) == "ok"
    assert sorted(story.group().members) == sorted([first, second])
    story.advance(6000)
    story.heartbeat(second)
    story.advance(6000)
    assert first not in story.group().members, "without commits it is gone"
