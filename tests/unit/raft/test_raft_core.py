"""Each role told as a story: what happens, and everything that is asked for in answer."""

import pytest

from odradek.protocol import errors
from odradek.raft.core import effects, events
from odradek.raft.core.following import QuorumViolation
from odradek.raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from odradek.raft.election_state import ElectionState
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey
from raft_kit import NOW, new_core

FENCED = errors.FencedLeaderEpoch.code
UNKNOWN_EPOCH = errors.UnknownLeaderEpoch.code
NOT_LEADER = errors.NotLeaderOrFollower.code
INVALID = errors.InvalidRequest.code


def step(core, event, now=NOW):
    found = core.step(event, now)
    core.validate()
    return found


def of(kind, found):
    return [each for each in found if type(each) is kind]


def vote(core, candidate=2, epoch=1, last=(0, 0), pre_vote=False, voter=None, now=NOW):
    event = events.VoteRequested("asker", ReplicaKey(candidate), epoch, OffsetAndEpoch(*last), pre_vote, voter)
    found = step(core, event, now)
    (answer,) = of(effects.Answer, found)
    return answer, found


def granted(core, voter, *, pre_vote=False, epoch=None, now=NOW):
    asked = core.epoch if epoch is None else epoch
    return step(core, events.VoteAnswered(voter, asked, pre_vote, 0, None, asked, True), now)


def rejected(core, voter, *, pre_vote=False, now=NOW):
    return step(core, events.VoteAnswered(voter, core.epoch, pre_vote, 0, None, core.epoch, False), now)


def timeout(core):
    return step(core, events.TimePassed(), core.next_deadline_ms())


def candidate(**options):
    core = new_core(**options)
    timeout(core)
    granted(core, 2, pre_vote=True)
    assert isinstance(core.role, Candidate)
    return core


def leader(**options):
    core = candidate(**options)
    found = granted(core, 2)
    assert isinstance(core.role, Leader)
    core.log.append(core.epoch)
    return core, found


def follower(leader_id=2, epoch=1, **options):
    core = new_core(**options)
    found = step(core, events.BeginQuorumEpochRequested("asker", leader_id, epoch))
    assert isinstance(core.role, Follower)
    return core, found


def fetch(core, replica=2, offset=0, last_epoch=0, epoch=None, now=NOW):
    event = events.FetchRequested("f", ReplicaKey(replica), core.epoch if epoch is None else epoch, offset, last_epoch)
    return step(core, event, now)


def fetched(core, records=b"", high_watermark=0, diverging=None, snapshot=None, error=0, leader_id=2, now=NOW):
    event = events.FetchAnswered(
        core.role.fetch_id, error, leader_id, core.epoch, high_watermark, diverging, snapshot, records
    )
    return step(core, event, now)


def until_it_resigns(core):
    """When that is, and what is done then."""
    for _ in range(20):
        now = core.next_deadline_ms()
        found = step(core, events.TimePassed(), now)
        if not isinstance(core.role, Leader):
            return now, found
    pytest.fail("it goes on leading without a majority")


class TestUnattached:
    def test_begins_in_epoch_0_and_stands_after_the_election_timeout(self):
        core = new_core()
        assert isinstance(core.role, Unattached)
        assert core.start(NOW) == [effects.Persist(ElectionState(0)), effects.LeaderChanged(None, 0)]
        assert NOW + 1000 <= core.next_deadline_ms() < NOW + 2000
        assert step(core, events.TimePassed(), core.next_deadline_ms() - 1) == []
        found = timeout(core)
        assert isinstance(core.role, Prospective)
        assert of(effects.SendVote, found) == [
            effects.SendVote(to, 0, OffsetAndEpoch(0, 0), is_pre_vote=True) for to in (2, 3)
        ]
        assert not of(effects.Persist, found), "a pre-vote changes no epoch and no vote"

    def test_votes_once_per_epoch_and_persists_it_first(self):
        core = new_core()
        answer, found = vote(core, candidate=2, epoch=3)
        assert answer.is_granted and found[0] == effects.Persist(ElectionState(3, None, ReplicaKey(2)))
        assert found.index(answer) > 0
        assert vote(core, candidate=3, epoch=3)[0].is_granted is False
        again, found = vote(core, candidate=2, epoch=3)
        assert again.is_granted and not of(effects.Persist, found), "the same vote may be asked for twice"
        assert vote(core, candidate=3, epoch=4)[0].is_granted

    @pytest.mark.parametrize(
        ("last", "is_granted"), [((5, 2), True), ((6, 2), True), ((4, 2), False), ((9, 1), False), ((1, 3), True)]
    )
    def test_votes_only_for_a_log_that_holds_all_of_its_own(self, last, is_granted):
        core = new_core(epochs=[1, 1, 2, 2, 2])
        assert vote(core, epoch=5, last=last)[0].is_granted is is_granted
        assert core.epoch == 5

    def test_a_pre_vote_is_granted_to_all_who_ask_and_is_no_vote(self):
        core = new_core()
        assert vote(core, candidate=2, epoch=1, pre_vote=True)[0].is_granted
        assert vote(core, candidate=3, epoch=1, pre_vote=True)[0].is_granted
        assert core.role.voted is None
        longer = new_core(epochs=[1, 1])
        assert vote(longer, candidate=2, epoch=1, last=(1, 1), pre_vote=True)[0].is_granted is False

    def test_a_vote_is_kept_through_a_pre_vote_that_was_lost(self):
        core = new_core()
        vote(core, candidate=2, epoch=3)
        timeout(core)
        rejected(core, 2, pre_vote=True)
        rejected(core, 3, pre_vote=True)
        assert isinstance(core.role, Unattached)
        assert vote(core, candidate=3, epoch=3)[0].is_granted is False

    def test_whoever_it_voted_for_is_remembered_under_its_leader(self):
        core = new_core()
        vote(core, candidate=2, epoch=3)
        found = step(core, events.BeginQuorumEpochRequested("asker", 2, 3))
        assert found[0] == effects.Persist(ElectionState(3, 2, ReplicaKey(2)))

    def test_refuses_an_older_epoch_a_log_that_cannot_be_and_what_was_meant_for_another(self):
        core = new_core(state=ElectionState(5))
        assert vote(core, epoch=4)[0][1:4] == (FENCED, None, 5)
        assert vote(core, epoch=6, last=(3, 6))[0].error_code == INVALID
        assert vote(core, epoch=6, last=(-1, 0))[0].error_code == INVALID
        assert vote(core, epoch=6, voter=ReplicaKey(3))[0].error_code == errors.InvalidVoterKey.code
        assert core.epoch == 5, "a refused request has changed nothing"

    def test_waits_for_another_time_each_time_so_that_not_all_stand_at_once(self):
        core = new_core()
        deadlines = {core.election_deadline_ms() for _ in range(10)}
        assert len(deadlines) > 5 and all(NOW + 1000 <= each < NOW + 2000 for each in deadlines)


class TestRestart:
    def test_as_what_the_file_says(self):
        assert isinstance(new_core(state=ElectionState(4, 1)).role, Resigned)
        assert isinstance(new_core(state=ElectionState(4, 2)).role, Follower)
        core = new_core(state=ElectionState(4, None, ReplicaKey(3)))
        assert isinstance(core.role, Unattached)
        assert vote(core, candidate=2, epoch=4)[0].is_granted is False

    def test_a_candidate_asks_in_a_new_epoch_as_its_log_may_have_lost_its_tail(self):
        core = new_core(state=ElectionState(4, None, ReplicaKey(1)))
        timeout(core)
        found = granted(core, 2, pre_vote=True)
        assert core.epoch == 5 and of(effects.SendVote, found)[0].epoch == 5

    def test_a_log_of_a_later_epoch_goes_before_the_file(self):
        core = new_core(epochs=[1, 7], state=ElectionState(4, 2))
        assert isinstance(core.role, Unattached) and core.epoch == 7

    def test_a_sole_voter_leads_the_next_epoch_at_once(self):
        core = new_core(voters=1, epochs=[1, 1], state=ElectionState(1, 1))
        assert core.start(NOW) == [
            effects.Persist(ElectionState(2, 1)),
            effects.AppendLeaderChange(2, (1,)),
            effects.LeaderChanged(1, 2),
        ]
        core.log.append(2, is_flushed=False)
        assert step(core, events.LogFlushed()) == []
        core.log.flush()
        assert step(core, events.LogFlushed()) == [effects.MoveHighWatermark(3)]
        assert core.next_deadline_ms() is None


class TestProspective:
    def test_a_majority_makes_it_a_candidate_of_the_next_epoch(self):
        core = new_core()
        timeout(core)
        found = granted(core, 3, pre_vote=True)
        assert found[0] == effects.Persist(ElectionState(1, None, ReplicaKey(1)))
        assert of(effects.SendVote, found) == [
            effects.SendVote(to, 1, OffsetAndEpoch(0, 0), is_pre_vote=False) for to in (2, 3)
        ]

    def test_goes_back_to_its_leader_if_the_others_still_hear_it(self):
        core, _ = follower()
        timeout(core)
        assert isinstance(core.role, Prospective) and core.leader_id == 2
        rejected(core, 2, pre_vote=True)
        rejected(core, 3, pre_vote=True)
        assert isinstance(core.role, Follower) and (core.leader_id, core.epoch) == (2, 1)

    def test_an_answer_that_names_the_leader_ends_it(self):
        core = new_core()
        timeout(core)
        step(core, events.VoteAnswered(2, 0, True, 0, 3, 4, False))
        assert isinstance(core.role, Follower) and (core.leader_id, core.epoch) == (3, 4)

    def test_a_voter_too_old_for_a_pre_vote_counts_as_willing(self):
        core = new_core()
        timeout(core)
        step(core, events.VoteAnswered(2, 0, True, errors.UnsupportedVersion.code, None, -1, False))
        assert isinstance(core.role, Candidate)

    def test_still_votes_for_another_candidate(self):
        core = new_core()
        timeout(core)
        assert vote(core, candidate=3, epoch=1)[0].is_granted
        assert isinstance(core.role, Unattached)

    def test_the_leader_it_missed_takes_it_back(self):
        core, _ = follower()
        timeout(core)
        step(core, events.BeginQuorumEpochRequested("asker", 2, 1))
        assert isinstance(core.role, Follower)


class TestCandidate:
    def test_votes_for_nobody_else_in_its_epoch(self):
        core = candidate()
        assert vote(core, candidate=2, epoch=core.epoch)[0].is_granted is False

    def test_old_answers_do_not_count(self):
        core = candidate()
        granted(core, 3, epoch=0)
        granted(core, 2, pre_vote=True)
        assert isinstance(core.role, Candidate)

    def test_of_four_voters_three_must_agree(self):
        core = new_core(voters=4)
        timeout(core)
        granted(core, 2, pre_vote=True)
        assert isinstance(core.role, Prospective), "two of four are no majority"
        granted(core, 3, pre_vote=True)
        granted(core, 2)
        assert isinstance(core.role, Candidate)
        granted(core, 4)
        assert isinstance(core.role, Leader)

    def test_only_voters_have_a_vote(self):
        core = candidate()
        granted(core, 9)
        assert isinstance(core.role, Candidate)

    def test_a_lost_election_is_followed_by_a_pause_and_another_pre_vote(self):
        core = candidate()
        rejected(core, 2)
        before = core.next_deadline_ms()
        rejected(core, 3)
        assert core.next_deadline_ms() <= before
        timeout(core)
        assert isinstance(core.role, Prospective) and core.epoch == 1
        assert core.role.voted == ReplicaKey(1)

    def test_a_lost_request_is_sent_again_an_answered_one_is_not(self):
        core = candidate()
        rejected(core, 3)
        assert of(effects.SendVote, step(core, events.RequestFailed(2, 1, events.VOTE)))
        assert step(core, events.RequestFailed(3, 1, events.VOTE)) == []
        assert step(core, events.RequestFailed(2, 0, events.VOTE)) == []

    def test_without_pre_vote_it_stands_at_once(self):
        core = new_core(has_pre_vote=False)
        timeout(core)
        assert isinstance(core.role, Candidate) and core.epoch == 1


class TestLeader:
    def test_begins_with_its_own_record_and_tells_everyone(self):
        _core, found = leader()
        assert found == [
            effects.Persist(ElectionState(1, 1)),
            effects.AppendLeaderChange(1, (1, 2)),
            effects.SendBeginQuorumEpoch(2, 1),
            effects.SendBeginQuorumEpoch(3, 1),
            effects.LeaderChanged(1, 1),
        ]

    def test_commits_what_a_majority_has_on_disk_itself_only_after_its_fsync(self):
        core, _ = leader()
        core.log.append(1, 2, is_flushed=False)  # 3 records, 1 of them durable here
        assert of(effects.MoveHighWatermark, fetch(core, 2, offset=3, last_epoch=1)) == [effects.MoveHighWatermark(1)]
        core.log.flush()
        assert step(core, events.LogFlushed()) == [effects.MoveHighWatermark(3)]

    def test_a_record_of_an_older_epoch_is_committed_only_with_one_of_its_own(self):
        core, _ = leader(epochs=[1, 1, 1], state=ElectionState(1))
        assert of(effects.MoveHighWatermark, fetch(core, 2, offset=3, last_epoch=1)) == []
        assert of(effects.MoveHighWatermark, fetch(core, 3, offset=3, last_epoch=1)) == []
        assert of(effects.MoveHighWatermark, fetch(core, 2, offset=4, last_epoch=2)) == [effects.MoveHighWatermark(4)]

    def test_the_high_watermark_stays_when_a_follower_comes_back_with_less(self):
        core, _ = leader()
        fetch(core, 2, offset=1, last_epoch=1)
        assert of(effects.MoveHighWatermark, fetch(core, 2, offset=0, last_epoch=0)) == []
        assert core.high_watermark == 1

    def test_tells_a_follower_where_their_logs_part(self):
        core, _ = leader(epochs=[1, 1, 3], state=ElectionState(3))  # then the first record of epoch 4
        assert of(effects.Answer, fetch(core, 2, offset=5, last_epoch=5))[0].error_code == INVALID
        (answer,) = of(effects.Answer, fetch(core, 2, offset=5, last_epoch=2))
        assert answer.diverging == OffsetAndEpoch(2, 1)
        (answer,) = of(effects.Answer, fetch(core, 2, offset=4, last_epoch=3))
        assert answer.diverging == OffsetAndEpoch(3, 3)
        assert of(effects.Serve, fetch(core, 2, offset=3, last_epoch=3)) == [effects.Serve("f")]

    def test_sends_one_that_is_too_far_behind_to_the_latest_snapshot(self):
        core, _ = leader()
        core.log.append(1, 9)
        core.log.snapshots = [OffsetAndEpoch(4, 1), OffsetAndEpoch(8, 1)]
        del core.log.epochs[:4]
        core.log.log_start_offset = 4
        (answer,) = of(effects.Answer, fetch(core, 2, offset=0, last_epoch=0))
        assert answer.snapshot_id == OffsetAndEpoch(8, 1) and answer.diverging is None
        (answer,) = of(effects.Answer, fetch(core, 2, offset=2, last_epoch=1))
        assert answer.snapshot_id == OffsetAndEpoch(8, 1), "what it needs next is not in the log any more"
        assert of(effects.Serve, fetch(core, 2, offset=4, last_epoch=1))

    @pytest.mark.parametrize(("offset", "last_epoch"), [(4, 3), (4, 1), (6, 1)])
    def test_sends_one_whose_log_cannot_be_compared_to_the_snapshot(self, offset, last_epoch):
        """The log begins past all that the two may share, so that only the snapshot says where they part."""
        core, _ = leader(epochs=[2, 2, 2, 2], state=ElectionState(3))  # then the first record of epoch 4
        core.log.snapshots = [OffsetAndEpoch(4, 2)]
        del core.log.epochs[:4]
        core.log.log_start_offset = 4
        (answer,) = of(effects.Answer, fetch(core, 2, offset=offset, last_epoch=last_epoch))
        assert answer.snapshot_id == OffsetAndEpoch(4, 2) and answer.diverging is None
        assert of(effects.Serve, fetch(core, 2, offset=4, last_epoch=2))

    def test_refuses_other_epochs_and_nonsense(self):
        core, _ = leader()
        assert of(effects.Answer, fetch(core, epoch=0))[0].error_code == FENCED
        assert of(effects.Answer, fetch(core, epoch=2))[0].error_code == UNKNOWN_EPOCH
        assert of(effects.Answer, fetch(core, offset=-1))[0].error_code == INVALID
        (answer,) = of(effects.Answer, fetch(new_core(), epoch=0))
        assert answer.error_code == NOT_LEADER

    def test_resigns_when_no_majority_fetches_any_more(self):
        core, _ = leader()
        fetch(core, 3, offset=1, last_epoch=1, now=NOW + 2500)
        now, found = until_it_resigns(core)
        assert now == NOW + 2500 + 3000
        assert isinstance(core.role, Resigned) and core.leader_id is None
        assert of(effects.SendEndQuorumEpoch, found) == [effects.SendEndQuorumEpoch(to, 1, (3, 2)) for to in (3, 2)], (
            "the one that has most comes first"
        )

    def test_one_that_fetches_is_no_majority_of_five(self):
        core = new_core(voters=5)
        timeout(core)
        for voter in (2, 3):
            granted(core, voter, pre_vote=True)
        for voter in (2, 3):
            granted(core, voter)
        elected_ms = core.now_ms
        fetch(core, 2, now=elected_ms + 100)
        for later_ms in range(500, 3000, 500):
            fetch(core, 3, now=elected_ms + later_ms)
        now, _ = until_it_resigns(core)
        assert now == elected_ms + 100 + 3000, "since then there were two of five, itself among them"

    def test_gives_way_to_a_later_epoch(self):
        core, _ = leader()
        answer, found = vote(core, candidate=3, epoch=2, last=(1, 1))
        assert answer.is_granted and isinstance(core.role, Unattached)
        assert found[0] == effects.Persist(ElectionState(2, None, ReplicaKey(3)))
        assert found[-1] == effects.LeaderChanged(None, 2)

    def test_is_asked_for_no_pre_vote_while_it_lives(self):
        core, _ = leader()
        assert vote(core, candidate=3, epoch=1, last=(9, 1), pre_vote=True)[0].is_granted is False

    def test_tells_silent_voters_again_until_they_know(self):
        core, _ = leader()
        step(core, events.QuorumEpochAnswered(2, 1, 0, 1, 1))
        assert step(core, events.RequestFailed(2, 1, events.BEGIN_QUORUM_EPOCH)) == []
        assert step(core, events.RequestFailed(3, 1, events.BEGIN_QUORUM_EPOCH)) == [effects.SendBeginQuorumEpoch(3, 1)]

    def test_asks_after_those_that_have_not_fetched_for_a_while(self):
        core, _ = leader()
        fetch(core, 2, offset=1, last_epoch=1, now=NOW + 900)
        found = step(core, events.TimePassed(), core.next_deadline_ms())
        assert found == [effects.SendBeginQuorumEpoch(3, 1)], "the other one has shown that it knows"
        found = step(core, events.TimePassed(), core.next_deadline_ms())
        assert found == [effects.SendBeginQuorumEpoch(to, 1) for to in (2, 3)], "it may have missed a leader since"

    def test_observers_are_known_but_do_not_count_and_have_a_limit(self):
        core, _ = leader()
        for replica in range(100, 2000):
            fetch(core, replica, offset=1, last_epoch=1)
        assert len(core.role.observers) == 1000
        step(core, events.LogFlushed())
        assert core.high_watermark == 0


class TestFollower:
    def test_fetches_from_its_leader_at_its_durable_end(self):
        _core, found = follower(epochs=[1, 1])
        assert found == [
            effects.Persist(ElectionState(1, 2)),
            effects.Answer("asker", 0, 2, 1),
            effects.SendFetch(2, 1, 2, 1, 0, 1),
            effects.LeaderChanged(2, 1),
        ]

    def test_a_vote_that_its_leader_asked_for_is_not_given_again(self):
        core = new_core()
        vote(core, candidate=2, epoch=1)
        step(core, events.BeginQuorumEpochRequested("asker", 2, 1))
        for candidate_id in (2, 3):
            answer, _ = vote(core, candidate=candidate_id, epoch=1)
            assert not answer.is_granted and (answer.leader_id, answer.epoch) == (2, 1)
        assert isinstance(core.role, Follower)

    def test_asks_for_more_only_when_what_came_is_durable(self):
        core, _ = follower()
        assert fetched(core, b"records", high_watermark=1) == [effects.AppendRecords(b"records")]
        core.log.append(1, 2, is_flushed=False)
        assert step(core, events.TimePassed()) == []
        assert step(core, events.LogFlushed()) == [], "of something else"
        core.log.flush()
        assert step(core, events.LogFlushed()) == [
            effects.MoveHighWatermark(1),
            effects.SendFetch(2, 1, 2, 1, 1, 2),
        ]

    def test_the_high_watermark_is_at_most_what_is_durable_here(self):
        core, _ = follower(epochs=[1])
        assert of(effects.MoveHighWatermark, fetched(core, high_watermark=10)) == [effects.MoveHighWatermark(1)]

    def test_truncates_where_the_logs_part(self):
        core, _ = follower(epoch=4, epochs=[1, 1, 2, 2, 3])
        found = fetched(core, diverging=OffsetAndEpoch(3, 2))
        assert found == [effects.TruncateTo(3)], "and no Fetch that claims what is about to go"
        core.log.truncate(3)
        (sent,) = step(core, events.LogFlushed())
        assert (sent.offset, sent.last_epoch) == (3, 2)
        assert fetched(core, diverging=OffsetAndEpoch(9, 1)) == [effects.TruncateTo(2)]

    def test_never_truncates_what_was_committed(self):
        core, _ = follower(epochs=[1, 1], epoch=4, high_watermark=2)
        with pytest.raises(QuorumViolation):
            fetched(core, diverging=OffsetAndEpoch(1, 1))

    def test_an_answer_to_an_older_fetch_is_dropped(self):
        core, _ = follower(epochs=[1, 2], epoch=4)
        stale = events.FetchAnswered(core.role.fetch_id, 0, 2, 4, 0, OffsetAndEpoch(0, 0), None, b"")
        core.role.fetch_id = core.next_fetch_id()
        assert step(core, stale) == []

    def test_begins_with_a_snapshot_if_it_must(self):
        core, _ = follower()
        snapshot_id = OffsetAndEpoch(10, 1)
        assert fetched(core, snapshot=snapshot_id) == [effects.FetchSnapshot(2, 1, snapshot_id)]
        assert step(core, events.SnapshotPieceArrived(2, 1), NOW + 1999) == []
        assert core.next_deadline_ms() == NOW + 1999 + 2000, "the leader lives"
        core.log.start_at(snapshot_id)
        assert step(core, events.SnapshotInstalled(snapshot_id)) == [
            effects.MoveHighWatermark(10),
            effects.SendFetch(2, 1, 10, 1, 10, 2),
        ]

    def test_a_snapshot_of_what_it_has_committed_is_not_fetched(self):
        core, _ = follower(epochs=[1, 1, 1], high_watermark=3)
        found = fetched(core, snapshot=OffsetAndEpoch(2, 1))
        assert not of(effects.FetchSnapshot, found) and of(effects.SendFetch, found)

    def test_stands_when_it_hears_nothing_and_grants_pre_votes_only_then(self):
        core, _ = follower()
        fetched(core)
        assert vote(core, candidate=3, epoch=1, pre_vote=True)[0].is_granted is False
        found = timeout(core)
        assert isinstance(core.role, Prospective) and of(effects.SendVote, found)

    def test_a_leader_that_resigns_is_followed_by_the_first_successor_at_once(self):
        core, _ = follower(me=3)
        fetched(core)
        step(core, events.EndQuorumEpochRequested("asker", 2, 1, (3, 1)))
        assert core.next_deadline_ms() == NOW
        assert vote(core, candidate=1, epoch=1, pre_vote=True)[0].is_granted
        other, _ = follower(me=1)
        step(other, events.EndQuorumEpochRequested("asker", 2, 1, (3, 1)))
        assert NOW < other.next_deadline_ms() <= NOW + 1000

    def test_an_older_leader_is_fenced_and_a_second_one_refused(self):
        core, _ = follower(epoch=3)
        for kind in (events.BeginQuorumEpochRequested, lambda *args: events.EndQuorumEpochRequested(*args, ())):
            (answer,) = of(effects.Answer, step(core, kind("asker", 3, 2)))
            assert answer[1:4] == (FENCED, 2, 3)
            (answer,) = of(effects.Answer, step(core, kind("asker", 3, 3)))
            assert answer.error_code == INVALID
            (answer,) = of(effects.Answer, step(core, kind("asker", 99, 4)))
            assert answer.error_code == INVALID
        assert (core.leader_id, core.epoch) == (2, 3)


class TestResigned:
    def test_votes_for_nobody_in_its_epoch_and_waits_for_the_next(self):
        core, _ = leader()
        step(core, events.Resign(1))
        assert vote(core, candidate=3, epoch=1, last=(9, 0))[0].is_granted is False
        assert step(core, events.RequestFailed(2, 1, events.END_QUORUM_EPOCH))
        step(core, events.QuorumEpochAnswered(2, 1, 0, None, 1))
        assert step(core, events.RequestFailed(2, 1, events.END_QUORUM_EPOCH)) == []
        found = timeout(core)
        assert isinstance(core.role, Unattached) and found[0] == effects.Persist(ElectionState(2))

    def test_only_the_epoch_that_was_meant_is_given_up(self):
        core, _ = leader()
        assert step(core, events.Resign(0)) == []
        assert isinstance(core.role, Leader)


class TestObserver:
    def test_asks_some_voter_follows_whom_it_is_told_and_never_stands(self):
        core = new_core(me=9)
        (sent,) = of(effects.SendFetch, core.start(NOW))
        assert sent.to in (1, 2, 3) and core.next_deadline_ms() is None
        found = fetched(core, error=NOT_LEADER, leader_id=None)
        assert of(effects.SendFetch, found), "nobody knew: another try"
        step(core, events.FetchAnswered(core.role.fetch_id, NOT_LEADER, 2, 5, -1, None, None, b""))
        assert isinstance(core.role, Follower) and (core.leader_id, core.epoch) == (2, 5)
        timeout(core)
        assert isinstance(core.role, Unattached)
