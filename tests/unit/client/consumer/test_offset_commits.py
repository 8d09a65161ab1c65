"""Commits and fetches of offsets: every error, and what is sent again in whose name."""

import pytest

from member_kit import BACKOFF_MS, VERSIONS, MemberStory
from odradek.client.consumer.commit_calls import ALWAYS, IN_PLACE, ONCE
from odradek.client.consumer.commits import OffsetCommits
from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.errors import CommitFailed, RetriableCommitFailed
from odradek.client.consumer.ownership import Identity
from odradek.client.core import Backoff
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol import errors
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from odradek.protocol.messages.k10_find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.topic_partition import TopicPartition

T0, T1 = ("t", 0), ("t", 1)


class CommitStory(MemberStory):
    def __init__(self, versions=VERSIONS):
        lookup = CoordinatorLookup("g", versions, Backoff(BACKOFF_MS, BACKOFF_MS))
        self.who = Identity("me", 3, None, speaks_epochs=True)
        self.heard = []
        core = OffsetCommits(
            "g",
            lambda: self.who,
            lookup,
            versions,
            Backoff(BACKOFF_MS, BACKOFF_MS),
            on_refusal=lambda code, now_ms: self.heard.append(errors.by_code(code)),
        )
        super().__init__(core, lookup)

    def commit(self, **offsets):
        self.core.commit({("t", int(name[1:])): offset for name, offset in offsets.items()})
        self.pump()

    def answer_commit(self, *codes):
        send = self.take(OffsetCommitRequest)
        places = [(t.name, p.partition_index) for t in send.request.topics for p in t.partitions]
        partitions = [
            OffsetCommitResponsePartition(partition_index=index, error_code=0 if error is None else error.code)
            for (_, index), error in zip(places, codes, strict=True)
        ]
        topic = OffsetCommitResponseTopic(name="t", partitions=partitions)
        self.core.answered(send.token, OffsetCommitResponse(topics=[topic]), self.now_ms)
        self.pump()
        return send.request


@pytest.fixture
def story():
    return CommitStory()


def offsets(request):
    return {(t.name, p.partition_index): p.committed_offset for t in request.topics for p in t.partitions}


def fetched(*partitions, error=0):
    found = [
        OffsetFetchResponsePartitions(partition_index=index, committed_offset=offset, error_code=code)
        for index, offset, code in partitions
    ]
    topics = [OffsetFetchResponseTopics(name="t", partitions=found)] if found else []
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=topics, error_code=error)])


def test_a_commit_goes_out_in_the_members_name(story):
    story.commit(t0=7, t1=9)
    request = story.answer_commit(None, None)
    assert (request.group_id, request.member_id, request.generation_id_or_member_epoch) == ("g", "me", 3)
    assert offsets(request) == {T0: 7, T1: 9} == story.core.committed


def test_one_is_on_its_way_at_a_time_and_later_ones_are_sent_together(story):
    story.commit(t0=1)
    story.commit(t0=2)
    story.commit(t0=3, t1=1)
    assert len(story.sent) == 1
    story.answer_commit(None)
    assert offsets(story.answer_commit(None, None)) == {T0: 3, T1: 1}
    assert story.sent == []


@pytest.mark.contract("B74")
def test_commits_that_wait_for_one_lookup_keep_their_order():
    story = CommitStory()
    story.knows_coordinator = False
    for offset in (3, 1, 2):
        story.commit(t0=offset)
    story.commit(t1=9)
    assert [type(send.request) for send in story.sent] == [FindCoordinatorRequest], "one is looked for at a time"
    found = Coordinator(key="g", node_id=1, host="h", port=1)
    story.answer(FindCoordinatorResponse(coordinators=[found]))
    assert offsets(story.answer_commit(None, None)) == {T0: 2, T1: 9}, "the last one counts, not the greatest"


def test_a_lost_one_is_sent_again_unless_there_is_a_later_one(story):
    story.commit(t0=1, t1=1)
    story.commit(t0=2)
    story.lose()
    story.pass_ms(BACKOFF_MS)
    assert offsets(story.answer_commit(None, None)) == {T0: 2, T1: 1}


def test_nothing_goes_out_while_there_is_no_member(story):
    story.who = None
    story.commit(t0=1)
    story.pass_ms(10_000)
    assert story.sent == []
    story.who = Identity("me", 4)
    story.pump()
    assert story.answer_commit(None).generation_id_or_member_epoch == 4


@pytest.mark.parametrize("error", [errors.StaleMemberEpoch, errors.RebalanceInProgress])
def test_one_of_an_epoch_that_is_over_is_sent_again_with_the_next(story, error):
    story.commit(t0=1)
    story.answer_commit(error)
    story.pass_ms(10_000)
    assert story.sent == [] and not story.core.is_idle
    story.who = story.who._replace(epoch=4)
    story.pump()
    assert story.answer_commit(None).generation_id_or_member_epoch == 4
    assert story.core.committed == {T0: 1} and story.core.is_idle


@pytest.mark.parametrize("error", [errors.IllegalGeneration, errors.UnknownMemberId, errors.FencedInstanceId])
def test_the_membership_hears_that_it_is_over(story, error):
    story.commit(t0=1)
    story.answer_commit(error)
    assert story.heard == [error] and isinstance(
        story.core.refused[T0], error if error is errors.FencedInstanceId else CommitFailed
    )
    assert story.sent == [] and story.core.is_idle


@pytest.mark.parametrize("error", [errors.OffsetMetadataTooLarge, errors.TopicAuthorizationFailed])
def test_one_partition_may_be_refused_and_another_not(story, error):
    story.commit(t0=1, t1=2)
    story.answer_commit(error, None)
    assert story.core.committed == {T1: 2} and isinstance(story.core.refused[T0], error) and story.sent == []


@pytest.mark.parametrize(
    "error",
    [errors.CoordinatorLoadInProgress, errors.NotCoordinator, errors.RequestTimedOut, errors.UnknownTopicOrPartition],
)
def test_what_passes_is_sent_again_after_a_while(story, error):
    story.commit(t0=1)
    story.answer_commit(error)
    assert story.sent == []
    story.pass_ms(BACKOFF_MS)
    assert story.lookups == (2 if error is errors.NotCoordinator else 1)
    story.answer_commit(None)


def test_what_was_given_back_is_never_sent_again(story):
    story.commit(t0=1, t1=1)
    story.core.drop([T0])
    story.lose()
    story.pass_ms(BACKOFF_MS)
    assert offsets(story.answer_commit(None)) == {T1: 1}
    story.commit(t0=2)
    story.core.drop([T0])
    story.answer_commit(errors.CoordinatorLoadInProgress)
    story.pass_ms(BACKOFF_MS)
    assert story.sent == []


def test_offsets_are_fetched_with_the_members_epoch(story):
    story.core.fetch([T0, T1])
    story.pump()
    request = story.answer(fetched((0, 5, 0), (1, -1, 0)))
    assert isinstance(request, OffsetFetchRequest) and request.require_stable
    assert (request.groups[0].member_id, request.groups[0].member_epoch) == ("me", 3)
    assert story.core.fetched == {T0: OffsetAndMetadata(5), T1: None} and story.sent == []


@pytest.mark.parametrize("is_stable", [False, True])
def test_who_reads_what_is_uncommitted_may_still_ask_for_what_is_stable(story, is_stable):
    story.core._require_stable = False
    story.core.fetch([T0]).is_stable = is_stable
    story.pump()
    assert story.answer(fetched((0, 5, 0))).require_stable is is_stable


def test_a_classic_member_does_not_say_who_fetches(story):
    story.who = Identity("me", 3)
    story.core.fetch([T0])
    story.pump()
    assert story.take().request.groups[0].member_id is None


def test_an_older_broker_is_asked_for_one_group():
    story = CommitStory({**VERSIONS, 9: 7})
    story.core.fetch([T0])
    story.pump()
    request = story.take().request
    assert request.group_id == "g" and [topic.name for topic in request.topics] == ["t"]


def test_an_offset_that_a_transaction_may_change_is_asked_for_again(story):
    story.core.fetch([T0, T1])
    story.pump()
    story.answer(fetched((0, 5, 0), (1, -1, errors.UnstableOffsetCommit.code)))
    story.pass_ms(BACKOFF_MS)
    request = story.answer(fetched((1, 6, 0)))
    assert request.groups[0].topics[0].partition_indexes == [1]
    assert story.core.fetched == {T0: OffsetAndMetadata(5), T1: OffsetAndMetadata(6)}


@pytest.mark.parametrize("error", [errors.StaleMemberEpoch, errors.UnknownMemberId])
def test_a_fetch_of_an_epoch_that_is_over_waits_for_the_next(story, error):
    story.core.fetch([T0])
    story.pump()
    story.answer(fetched(error=error.code))
    story.pass_ms(10_000)
    assert story.sent == []
    story.who = story.who._replace(epoch=4)
    story.pump()
    story.take(OffsetFetchRequest)


def test_a_fetch_that_is_not_allowed_is_told(story):
    call = story.core.fetch([T0])
    story.pump()
    story.answer(fetched(error=errors.GroupAuthorizationFailed.code))
    assert isinstance(call.error, errors.GroupAuthorizationFailed) and call.is_done
    assert story.core.error is None and story.core.is_idle, "the next one may be allowed"


def test_commits_go_before_fetches(story):
    story.commit(t0=1)
    story.core.fetch([T0])
    story.commit(t1=1)
    story.answer_commit(None)
    story.answer_commit(None)
    story.take(OffsetFetchRequest)


def test_what_was_given_back_is_not_fetched(story):
    story.core.fetch([T0])
    story.pump()
    story.core.drop([T0])
    story.answer(fetched((0, 5, 0)))
    assert story.core.fetched == {}


class TestOutcomes:
    """Each call has one of its own."""

    def call(self, story, patience, **offsets):
        told = []
        places = {TopicPartition("t", int(name[1:])): offset for name, offset in offsets.items()}
        call = story.core.commit(places, patience, told.append)
        story.pump()
        return call, told

    @pytest.mark.contract("B69")
    def test_nothing_to_commit_is_success(self, story):
        call, told = self.call(story, IN_PLACE)
        assert told == [call] and call.error is None and story.sent == []

    @pytest.mark.contract("B78")
    def test_a_commit_carries_offset_text_and_leader_epoch(self, story):
        self.call(story, IN_PLACE, t0=OffsetAndMetadata(7, "half way", 4))
        sent = story.answer_commit(None).topics[0].partitions[0]
        assert (sent.committed_offset, sent.committed_metadata, sent.committed_leader_epoch) == (7, "half way", 4)

    @pytest.mark.contract("B72")
    @pytest.mark.parametrize(
        "error", [errors.CoordinatorLoadInProgress, errors.NotCoordinator, errors.StaleMemberEpoch]
    )
    def test_what_is_sent_once_is_never_sent_again(self, story, error):
        call, told = self.call(story, ONCE, t0=1)
        story.answer_commit(error)
        assert told == [call] and isinstance(call.error, RetriableCommitFailed)
        story.who = story.who._replace(epoch=4)
        story.pass_ms(10_000)
        assert story.sent == []

    def test_nor_if_its_answer_is_lost(self, story):
        call, _ = self.call(story, ONCE, t0=1)
        story.lose()
        story.pass_ms(10_000)
        assert isinstance(call.error, RetriableCommitFailed) and story.sent == []

    @pytest.mark.contract("B73")
    def test_a_failed_lookup_ends_what_is_sent_once(self):
        story = CommitStory()
        story.knows_coordinator = False
        calls = [self.call(story, ONCE, t0=offset)[0] for offset in (1, 2)]
        kept, _ = self.call(story, IN_PLACE, t0=3)
        story.lose(FindCoordinatorRequest)
        assert [type(call.error) for call in calls] == [RetriableCommitFailed] * 2
        story.knows_coordinator = True
        story.pass_ms(BACKOFF_MS)
        assert offsets(story.answer_commit(None)) == {T0: 3} and kept.is_done and kept.error is None

    @pytest.mark.contract("B72")
    def test_outcomes_come_in_the_order_of_the_calls(self, story):
        told = []
        for number in range(3):
            story.core.commit({TopicPartition("t", 0): number}, ONCE, lambda call: told.append(call.offsets[T0].offset))
            story.pump()
        story.answer_commit(None)
        assert told == [0]
        story.answer_commit(None)
        assert told == [0, 1, 2]

    @pytest.mark.parametrize("patience", [ONCE, IN_PLACE])
    def test_a_rebalance_is_the_outcome_unless_it_is_always_sent_again(self, story, patience):
        call, _ = self.call(story, patience, t0=1)
        story.answer_commit(errors.RebalanceInProgress)
        assert isinstance(call.error, RetriableCommitFailed if patience == ONCE else errors.RebalanceInProgress)
        assert story.core.is_idle and story.heard == [errors.RebalanceInProgress]

    def test_in_place_waits_for_the_next_epoch(self, story):
        call, _ = self.call(story, IN_PLACE, t0=1)
        story.answer_commit(errors.StaleMemberEpoch)
        assert not call.is_done
        story.who = story.who._replace(epoch=4)
        story.pump()
        story.answer_commit(None)
        assert call.is_done and call.error is None

    @pytest.mark.parametrize("patience", [ONCE, IN_PLACE])
    def test_nobody_commits_without_a_place_in_the_group(self, story, patience):
        story.who = None
        call, _ = self.call(story, patience, t0=1)
        assert isinstance(call.error, RetriableCommitFailed if patience == ONCE else errors.RebalanceInProgress)
        assert story.sent == []

    @pytest.mark.contract("B82")
    @pytest.mark.parametrize("error", [errors.IllegalGeneration, errors.UnknownMemberId])
    def test_a_member_that_was_removed_cannot_commit(self, story, error):
        call, _ = self.call(story, IN_PLACE, t0=1, t1=2)
        story.answer_commit(error, error)
        assert isinstance(call.error, CommitFailed) and isinstance(call.error.__cause__, error)

    def test_what_is_given_back_before_it_was_sent_fails(self, story):
        story.who = None
        call, _ = self.call(story, ALWAYS, t0=1)
        story.core.drop([T0])
        assert isinstance(call.error, CommitFailed)

    def test_what_is_withdrawn_is_not_sent(self, story):
        story.who = None
        call, told = self.call(story, ALWAYS, t0=1)
        story.core.withdraw(call)
        story.who = Identity("me", 4)
        story.pump()
        assert story.sent == [] and told == []

    def test_a_partition_that_the_answer_leaves_out_was_not_committed(self, story):
        call, _ = self.call(story, IN_PLACE, t0=1)
        story.answer(OffsetCommitResponse(topics=[]))
        assert isinstance(call.error, errors.UnknownServerError)

    def test_a_group_that_may_not_be_used_is_told_and_may_be_allowed_later(self):
        story = CommitStory()
        story.knows_coordinator = False
        call, _ = self.call(story, IN_PLACE, t0=1)
        refused = Coordinator(key="g", node_id=-1, host="", port=-1, error_code=errors.GroupAuthorizationFailed.code)
        story.answer(FindCoordinatorResponse(coordinators=[refused]))
        assert isinstance(call.error, errors.GroupAuthorizationFailed)
        story.knows_coordinator = True
        call, _ = self.call(story, IN_PLACE, t0=1)
        story.answer_commit(None)
        assert call.is_done and call.error is None


def test_a_member_that_is_still_the_same_by_its_coordinator_sends_again(story):
    story.commit(t0=1)
    story.answer_commit(errors.StaleMemberEpoch)
    story.pass_ms(10_000)
    assert story.sent == []
    story.who = story.who._replace(answers=1)
    story.pump()
    story.answer_commit(None)
    assert story.core.committed == {T0: 1}
