"""Share groups beside groups of the other kinds: an id names one group, and who comes with another protocol is told."""

import pytest

from consumer_kit import ConsumerStory
from group_kit import code_name
from manager_kit import layers
from odradek.coordinator.group.consumer.requests import Caller
from odradek.coordinator.group.core import GroupCore
from odradek.coordinator.group.share.config import ShareConfig
from odradek.protocol.errors import CoordinatorNotAvailable
from odradek.protocol.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest

JOIN, LEAVE = 0, -1
SHARE_CONFIGS = {"group_share_max_size": 2, "group_share_assignment_interval_ms": 0}


class ShareStory(ConsumerStory):
    """Members subscribe to a topic that is not there: nothing has to be set up at the share coordinator."""

    def _new_core(self):
        return GroupCore(
            self.config,
            self.release,
            self._uuid,
            consumer_config=self.consumer_config,
            share_config=ShareConfig(
                layers("4.3", group_share_max_size=2, group_share_assignment_interval_ms=0).config
            ),
            topics=self.topics,
        )

    def share_beat(self, member, epoch):
        """The member's epoch, or the name of the error."""
        request = ShareGroupHeartbeatRequest(
            group_id="g", member_id=member, member_epoch=epoch, subscribed_topic_names=["missing"]
        )
        caller = Caller("client", "/127.0.0.1")
        response = self.event(lambda core: core.shares.heartbeat(self.now, request, caller))
        return code_name(response.error_code) if response.error_code else response.member_epoch


@pytest.fixture
def story():
    return ShareStory()


def test_a_classic_member_does_not_replace_a_share_group_even_when_that_is_empty(story):
    """Its state at the share coordinator would be left behind."""
    assert story.share_beat("s1", JOIN) == 2
    assert code_name(story.join("c").error_code) == "INCONSISTENT_GROUP_PROTOCOL"
    story.share_beat("s1", LEAVE)
    assert code_name(story.join("c again").error_code) == "INCONSISTENT_GROUP_PROTOCOL"
    assert list(story.core.shares.groups) == ["g"]
    assert not story.core.classic.groups


def test_members_of_other_kinds_are_told_that_there_is_a_share_group(story):
    story.share_beat("s1", JOIN)
    assert story.joins("k1") == "GROUP_ID_NOT_FOUND"
    assert story.commit(1) == "GROUP_ID_NOT_FOUND"


def test_a_share_member_is_told_that_there_is_a_group_of_another_kind(story):
    story.joins("k1")
    assert story.share_beat("s1", JOIN) == "GROUP_ID_NOT_FOUND"


def test_a_member_is_known_by_its_epoch_and_by_the_one_before(story):
    story.share_beat("s1", JOIN)
    assert story.share_beat("s2", 2) == "UNKNOWN_MEMBER_ID"
    assert story.share_beat("s2", JOIN) == 3
    assert story.share_beat("s1", 2) == 3
    assert story.share_beat("s1", 2) == 3, "the answer may have been lost"
    assert story.share_beat("s1", 1) == story.share_beat("s1", 4) == "FENCED_MEMBER_EPOCH"


def test_a_group_has_room_for_as_many_as_the_config_says(story):
    story.share_beat("s1", JOIN)
    story.share_beat("s2", JOIN)
    assert story.share_beat("s3", JOIN) == "GROUP_MAX_SIZE_REACHED"
    assert story.share_beat("s2", JOIN) == 3, "who is in it may join again"


def test_a_member_whose_end_could_not_be_written_is_tried_again(story):
    story.share_beat("s1", JOIN)
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.advance(45_000)
    assert story.core.shares.has_members("g")
    story.refusal = None
    story.advance(1000)
    assert not story.core.shares.has_members("g")


def test_a_loaded_group_is_what_its_records_say_and_its_members_have_a_session(story):
    story.share_beat("s1", JOIN)
    story.share_beat("s2", JOIN)
    story.reload()
    group = story.core.shares.group("g")
    assert (group.epoch, group.target_epoch, list(group.members)) == (3, 3, ["s1", "s2"])
    story.advance(45_000)
    assert not story.core.shares.has_members("g")
