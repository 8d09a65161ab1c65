"""Until when the offsets of a group with epochs are kept."""

import pytest

from consumer_kit import LEAVE, ConsumerStory
from odradek.protocol.messages.consumer_groups import ConsumerGroupMetadataKey
from odradek.protocol.messages.consumer_offsets import OffsetCommitKey

WEEK_MS = 7 * 24 * 3_600_000


@pytest.fixture
def story():
    story = ConsumerStory()
    story.joins("m1")
    return story


def commit(story, topic, **options):
    assert story.commit(1, topic=topic, member_id="m1", generation=2, version=9, **options) == "ok"


def expired(story, after_ms):
    """What the check would write so long from now, as the kinds of the keys and the topics."""
    records = story.core.consumers.expired("g", story.now.wall_ms + after_ms)
    return [record.key.topic if type(record.key) is OffsetCommitKey else type(record.key) for record, _ in records]


def test_offsets_go_when_nobody_reads_their_topic_for_as_long_as_the_config_says(story):
    commit(story, "a")
    commit(story, "old")
    assert expired(story, WEEK_MS - 1) == []
    assert expired(story, WEEK_MS) == ["old"], "the group reads a"


def test_a_commit_may_bring_a_time_of_its_own(story):
    commit(story, "old", retention_ms=1000)
    assert expired(story, 999) == []
    assert expired(story, 1000) == ["old"]


def test_what_an_open_transaction_may_change_is_kept(story):
    commit(story, "old")
    commit(story, "old", producer=5)
    assert expired(story, WEEK_MS) == []
    story.end_transaction(5, is_commit=False)
    assert expired(story, WEEK_MS) == ["old"]


def test_a_group_goes_with_its_last_offset_and_not_before(story):
    commit(story, "old")
    commit(story, "new", producer=5)
    story.says("m1", LEAVE)
    assert expired(story, WEEK_MS) == ["old"], "a transaction is open"
    assert story.core.consumers.expired("h", 0) == [], "there is no such group"
    story.end_transaction(5, is_commit=False)
    *others, last = expired(story, WEEK_MS)
    assert others[0] == "old"
    assert last is ConsumerGroupMetadataKey
