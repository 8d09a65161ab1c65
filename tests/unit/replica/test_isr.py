"""The in-sync replicas and the high watermark, as stories of one leader and its followers."""

import pytest

from odradek.broken_rule import BrokenRuleError
from odradek.replica.isr import Isr

LAG_MS = 10_000


class Story:
    """Leader 1 of the replicas 1, 2 and 3."""

    def __init__(self, in_sync=(1, 2, 3), *, start=0, min_in_sync=0, epoch=5):
        self.isr = Isr(
            1,
            (1, 2, 3),
            in_sync,
            leader_epoch=epoch,
            partition_epoch=10,
            epoch_start_offset=start,
            min_in_sync=min_in_sync,
            now_ms=0,
        )
        self.end = start
        self.now_ms = 0
        self.high_watermark = 0

    def append(self, count):
        self.end += count
        return self.advance()

    def fetch(self, replica, offset):
        assert self.isr.follower_fetched(replica, offset, 0, self.end, self.now_ms)
        return self.advance()

    def advance(self):
        self.high_watermark = self.isr.high_watermark(self.high_watermark, self.end, self.now_ms, LAG_MS)
        self.isr.validate()
        return self.high_watermark

    def expand(self, replica):
        return self.isr.maybe_expand(replica, self.high_watermark)

    def shrink(self):
        return self.isr.maybe_shrink(self.end, self.now_ms, LAG_MS)


@pytest.mark.contract("F20")
def test_it_is_committed_when_the_slowest_in_sync_replica_has_it():
    story = Story()
    assert story.append(10) == 0
    assert story.fetch(2, 10) == 0, "3 has not said anything yet"
    assert story.fetch(3, 4) == 4
    assert story.fetch(3, 10) == 10


@pytest.mark.contract("F19")
def test_a_lone_replica_commits_at_once():
    isr = Isr(1, (1,), (1,), leader_epoch=0, partition_epoch=0, epoch_start_offset=0, min_in_sync=1)
    assert isr.is_alone
    assert isr.high_watermark(0, 7, 0, LAG_MS) == 7


def test_within_an_epoch_it_never_goes_back():
    """R3: a follower that lost its disk fetches from 0; what was committed stays so."""
    story = Story()
    story.append(10)
    story.fetch(2, 10)
    story.fetch(3, 10)
    assert story.high_watermark == 10
    assert story.fetch(3, 0) == 10


def test_a_new_leader_tells_the_end_only_from_its_epoch_start_on():
    """R3: it may know less than the leader before it has told."""
    story = Story(start=100)
    assert not story.isr.has_reached_epoch_start(99)
    assert story.isr.has_reached_epoch_start(100)


def test_a_proposed_member_counts_before_the_controller_has_answered():
    """R5: the controller may have taken 3 in already, and elect it: what is committed must be on it."""
    story = Story(in_sync=(1, 2))
    story.now_ms = LAG_MS * 10  # 3 was never in sync, and its time of grace is over
    story.append(10)
    story.fetch(2, 10)
    assert story.high_watermark == 10
    story.fetch(3, 10)
    proposal = story.expand(3)
    assert proposal.isr == (1, 2, 3) and (proposal.leader_epoch, proposal.partition_epoch) == (5, 10)
    assert story.isr.maximal == (1, 2, 3)
    story.append(5)
    story.now_ms += LAG_MS * 2
    assert story.fetch(2, 15) == 10, "3 is at 10"
    assert story.fetch(3, 15) == 15


def test_a_proposal_to_shrink_leaves_the_old_member_in_the_maximum():
    """R5: until the controller has answered, the one that lags may still be in its set."""
    story = Story()
    story.append(10)
    story.fetch(2, 10)
    story.fetch(3, 3)
    story.now_ms = LAG_MS + 1
    story.fetch(2, 10)
    proposal = story.shrink()
    assert proposal.isr == (1, 2)
    assert story.advance() == 3, "3 still counts"
    assert story.isr.committed((1, 2), 11)
    assert story.advance() == 10
    assert story.isr.in_sync == (1, 2) and story.isr.proposed is None


def test_a_refused_proposal_changes_nothing():
    story = Story()
    story.append(1)
    story.now_ms = LAG_MS + 1
    assert story.shrink().isr == (1,)
    story.isr.refused()
    assert story.isr.maximal == (1, 2, 3)


def test_an_unanswered_proposal_is_not_followed_by_another():
    story = Story()
    story.append(1)
    story.now_ms = LAG_MS + 1
    assert story.shrink() is not None
    assert story.shrink() is None and story.expand(2) is None


def test_a_follower_joins_with_all_that_is_committed_and_all_from_before_the_epoch():
    story = Story(in_sync=(1,), start=100)
    story.now_ms = LAG_MS * 10
    story.append(10)
    assert story.high_watermark == 110
    story.fetch(2, 105)
    assert story.expand(2) is None
    story.fetch(2, 110)
    assert story.expand(2).isr == (1, 2)


def test_a_follower_that_keeps_pace_is_in_sync_though_never_at_the_end():
    """The leader's end is always a little ahead; what counts is where it was at the fetch before."""
    story = Story()
    for _ in range(5):
        story.append(10)
        story.now_ms += LAG_MS // 2
        story.fetch(2, story.end - 5)
        story.fetch(3, story.end - 5)
    assert story.shrink() is None


def test_one_that_stops_fetching_leaves():
    story = Story()
    story.append(10)
    story.fetch(2, 10)
    story.fetch(3, 10)
    story.append(1)
    story.now_ms = LAG_MS + 1
    story.fetch(2, 11)
    assert story.shrink().isr == (1, 2)


def test_one_at_the_end_of_a_quiet_log_stays_for_ever():
    story = Story()
    story.append(10)
    story.fetch(2, 10)
    story.fetch(3, 10)
    story.now_ms = LAG_MS * 100
    assert story.shrink() is None


def test_too_few_in_sync_hold_the_high_watermark():
    """R7: with acks=all it would be acknowledged on one replica alone."""
    story = Story(in_sync=(1,), min_in_sync=2)
    story.now_ms = LAG_MS * 10
    assert story.append(10) == 0
    assert not story.isr.has_enough(2)
    story.fetch(2, 10)
    story.expand(2)
    assert story.advance() == 0, "proposed is not confirmed"
    assert not story.isr.has_enough(2)
    story.isr.committed((1, 2), 11)
    assert story.advance() == 10
    assert story.isr.has_enough(2)


def test_an_old_word_of_the_controller_is_ignored():
    story = Story()
    assert story.isr.committed((1, 2), 12)
    assert not story.isr.committed((1, 2, 3), 11)
    assert story.isr.in_sync == (1, 2)


def test_the_low_watermark_is_that_of_the_live_replicas():
    story = Story()
    story.append(10)
    story.isr.follower_fetched(2, 10, 3, 10, 0)
    story.isr.follower_fetched(3, 10, 1, 10, 0)
    assert story.isr.low_watermark(5, [2, 3]) == 1
    assert story.isr.low_watermark(5, [2]) == 3
    assert story.isr.low_watermark(2, []) == 2


def test_a_stranger_is_told_apart():
    assert not Story().isr.follower_fetched(9, 0, 0, 0, 0)


@pytest.mark.parametrize("in_sync", [(1, 4), (1, 2, 3, 4)])
def test_validate_finds_a_member_that_is_no_replica(in_sync):
    with pytest.raises(BrokenRuleError):
        Story(in_sync=in_sync).isr.validate()
