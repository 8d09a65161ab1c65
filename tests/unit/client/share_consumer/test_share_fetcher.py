"""What is asked of brokers and what their answers mean: epochs of sessions, acknowledgements and their outcomes."""

import pytest

from odradek.channel.errors import Disconnected
from odradek.client.share_consumer.acknowledgement import ACCEPT, RELEASE, RENEW
from odradek.protocol import errors
from odradek.protocol.messages.k78_share_fetch import ShareFetchRequest
from odradek.protocol.messages.k79_share_acknowledge import ShareAcknowledgeRequest
from share_story import A0, A1, B0, LEADERS, ShareStory, acquired, answer, data, refused, settled


def reading(story, *places, count=3):
    """One that has read something of each, and whose sessions are open."""
    story.want(*places)
    for node in sorted({LEADERS[place] for place in places}):
        led = [place for place in places if LEADERS[place] == node]
        story.answer(answer(*(acquired(place, 0, count - 1) for place in led)), place=led[0])
    story.unwant()
    return story


class TestFetching:
    def test_nothing_is_asked_before_somebody_waits(self):
        story = ShareStory().assign(A0)
        assert story.pump().sent == []
        request = story.want().take()
        assert isinstance(request, ShareFetchRequest)
        assert (request.group_id, request.member_id, request.share_session_epoch) == ("g", "me", 0)
        assert (request.max_records, request.batch_size, request.share_acquire_mode) == (500, 500, 0)
        assert story.named(request) == [A0]

    def test_what_was_acquired_is_handed_out_with_its_count(self):
        story = ShareStory()
        story.want(A0)
        story.answer(answer(acquired(A0, 0, 2, count=4)))
        assert story.taken() == [(A0, 0, 4), (A0, 1, 4), (A0, 2, 4)]

    def test_it_asks_until_something_comes_and_then_no_more(self):
        story = ShareStory()
        story.want(A0)
        assert story.answer(answer(data(A0))).share_session_epoch == 0
        assert story.answer(answer(acquired(A0, 0, 0))).share_session_epoch == 1
        assert story.sent == []
        assert story.want().take().share_session_epoch == 2

    def test_every_leader_is_asked(self):
        story = ShareStory()
        story.want(A0, B0)
        assert sorted(story.named(request) for request in story.sent) == [[A0], [B0]]

    def test_with_a_strict_limit_one_leader_at_a_time_in_turn(self):
        story = ShareStory(is_record_limit=True)
        story.want(A0, B0)
        asked = []
        for _ in range(4):
            (request,) = story.sent
            assert request.share_acquire_mode == 1
            asked.append(story.place_of(request))
            story.answer(answer())
        assert {asked[0], asked[1]} == {asked[2], asked[3]} == {1, 2}

    def test_what_is_assigned_anew_and_what_is_not_any_more(self):
        story = reading(ShareStory(), A0)
        story.assign(A1).want()
        request = story.take()
        assert (story.named(request), story.forgotten(request)) == ([A1], [A0])

    def test_a_broker_that_leads_nothing_any_more_hears_of_it_and_holds_nobody_up(self):
        story = reading(ShareStory(), A0)
        story.assign().want()
        request = story.take()
        assert (story.forgotten(request), request.max_wait_ms) == ([A0], 0)

    def test_a_leader_that_moves_is_followed(self):
        story = reading(ShareStory(), A0)
        story.want()
        story.answer(answer(refused(A0, errors.NotLeaderOrFollower)))
        assert story.updates > 0
        story.lead(A0, 2)
        story.pass_ms(1000)
        assert A0 in [place for request in story.sent for place in story.named(request) if story.place_of(request) == 2]

    def test_a_partition_without_a_leader_is_looked_for(self):
        story = ShareStory()
        story.lead(A0, None)
        story.want(A0)
        assert story.sent == [] and story.updates > 0
        story.lead(A0, 1)
        assert story.pass_ms(1000).sent != []

    def test_what_does_not_pass_is_told_with_the_partition(self):
        story = ShareStory()
        story.want(A0)
        story.answer(answer(refused(A0, errors.TopicAuthorizationFailed)))
        (error,) = story.errors
        assert isinstance(error, errors.TopicAuthorizationFailed)
        assert "a-0" in error.message

    def test_a_partition_that_was_refused_is_named_again_after_a_while(self):
        story = ShareStory()
        story.want(A0, A1)
        story.answer(answer(refused(A0, errors.UnknownServerError), data(A1)))
        assert story.sent == []
        request = story.pass_ms(1000).take()
        assert (request.share_session_epoch, story.named(request)) == (1, [A0])

    def test_gaps_are_acknowledged_by_themselves_and_what_was_cut_off_is_released(self):
        story = ShareStory()
        story.want(A0)
        story.answer(answer(acquired(A0, 0, 5, holes={1, 2}, cut=2)))
        assert [offset for _, offset, _ in story.taken()] == [0, 3]
        assert story.said() == {A0: {1: 0, 2: 0, 4: RELEASE, 5: RELEASE}}


class TestAcknowledging:
    def test_they_go_with_the_next_fetch(self):
        story = reading(ShareStory(), A0)
        said = story.say(A0, {0: ACCEPT, 1: RELEASE})
        request = story.want().take()
        assert isinstance(request, ShareFetchRequest)
        assert story.acknowledged(request) == {A0: [(0, 1, [ACCEPT, RELEASE])]}
        story.answer_to(request, answer(settled(A0)))
        assert said.is_done and said.error is None and story.outcomes == [said]

    def test_without_a_fetch_they_go_by_themselves(self):
        story = reading(ShareStory(), A0)
        said = story.say(A0, {0: ACCEPT})
        request = story.pump().take()
        assert isinstance(request, ShareAcknowledgeRequest)
        assert (request.share_session_epoch, request.is_renew_ack) == (1, False)
        story.answer_to(request, settled(A0, by_itself=True))
        assert said.is_done and said.error is None
        assert story.want().take().share_session_epoch == 2

    def test_renewals_go_by_themselves_and_before_the_fetch(self):
        story = reading(ShareStory(), A0)
        story.say(A0, {0: RENEW, 1: ACCEPT})
        request = story.want().take()
        assert isinstance(request, ShareAcknowledgeRequest) and request.is_renew_ack
        story.answer_to(request, settled(A0, by_itself=True, lock_ms=77))
        assert story.core.lock_timeout_ms == 77
        assert isinstance(story.take(), ShareFetchRequest)

    def test_they_wait_for_what_is_in_flight(self):
        story = reading(ShareStory(), A0)
        story.want()
        said = story.say(A0, {0: ACCEPT})
        assert len(story.pump().sent) == 1
        story.unwant()
        story.answer(answer(data(A0)))
        story.answer(settled(A0, by_itself=True))
        assert said.is_done

    def test_of_one_offset_one_thing_at_a_time(self):
        story = reading(ShareStory(), A0)
        first, second = story.say(A0, {0: RENEW}), story.say(A0, {0: ACCEPT})
        third = story.say(A0, {1: ACCEPT})
        assert story.acknowledged(story.pump().sent[0]) == {A0: [(0, 1, [RENEW, ACCEPT])]}
        story.answer(settled(A0, by_itself=True))
        assert (first.is_done, second.is_done, third.is_done) == (True, False, True)
        assert story.acknowledged(story.sent[0]) == {A0: [(0, 0, [ACCEPT])]}

    def test_a_refusal_of_one_partition_is_told_of_that(self):
        story = reading(ShareStory(), A0, A1)
        one, other = story.say(A0, {0: ACCEPT}), story.say(A1, {0: ACCEPT})
        story.want()
        story.answer(answer(refused(A0, None, acknowledging=errors.InvalidRecordState), settled(A1)))
        assert isinstance(one.error, errors.InvalidRecordState)
        assert other.is_done and other.error is None

    def test_what_an_answer_does_not_speak_of_was_not_done(self):
        story = reading(ShareStory(), A0)
        said = story.say(A0, {0: ACCEPT})
        story.want()
        story.answer(answer())
        assert isinstance(said.error, errors.InvalidRecordState)

    @pytest.mark.parametrize("error", [errors.ShareSessionNotFound, errors.InvalidShareSessionEpoch])
    def test_a_session_that_is_gone_takes_them_with_it_and_another_begins(self, error):
        story = reading(ShareStory(), A0)
        sent = story.say(A0, {0: ACCEPT})
        story.want()
        waiting = story.say(A0, {1: ACCEPT})
        story.answer(answer(error=error))
        for each in (sent, waiting):
            assert isinstance(each.error, error)
        request = story.pass_ms(1000).take()
        assert (request.share_session_epoch, story.named(request)) == (0, [A0])

    def test_a_broken_connection_too(self):
        story = reading(ShareStory(), A0)
        sent = story.say(A0, {0: ACCEPT})
        story.want()
        waiting = story.say(A0, {1: ACCEPT})
        story.lose(Disconnected("broker 1 has gone"))
        for each in (sent, waiting):
            assert "has gone" in each.error.message
        assert story.pass_ms(1000).take().share_session_epoch == 0

    def test_without_a_session_nothing_can_be_said(self):
        story = reading(ShareStory(), A0)
        story.want()
        story.lose(Disconnected())
        story.unwant()
        said = story.say(A0, {0: ACCEPT})
        story.pass_ms(1000)
        assert isinstance(said.error, errors.ShareSessionNotFound)
        assert "delivered again" in said.error.message

    def test_who_waits_for_it_has_it_tried_again(self):
        story = reading(ShareStory(), A0)
        said = story.say(A0, {0: ACCEPT}, retry_ms=5000)
        story.pump().answer(refused(A0, errors.CoordinatorNotAvailable, by_itself=True))
        assert not said.is_done and story.sent == []
        story.pass_ms(1000).answer(settled(A0, by_itself=True))
        assert said.is_done and said.error is None

    def test_and_who_does_not_is_told_at_once(self):
        story = reading(ShareStory(), A0)
        said = story.say(A0, {0: ACCEPT})
        story.pump().answer(refused(A0, errors.CoordinatorNotAvailable, by_itself=True))
        assert isinstance(said.error, errors.CoordinatorNotAvailable)

    def test_an_error_of_the_whole_request_that_does_not_pass_is_told(self):
        story = ShareStory()
        story.want(A0)
        story.answer(answer(error=errors.GroupAuthorizationFailed))
        assert [type(error) for error in story.errors] == [errors.GroupAuthorizationFailed]


class TestTheEnd:
    def test_every_session_ends_with_what_is_said(self):
        story = reading(ShareStory(), A0, B0)
        said = story.say(A0, {0: ACCEPT})
        story.core.close()
        story.pump()
        assert sorted(request.share_session_epoch for request in story.sent) == [-1, -1]
        assert {A0: [(0, 0, [ACCEPT])]} in [story.acknowledged(request) for request in story.sent]
        assert not story.core.is_closed
        while story.sent:
            story.answer(settled(A0, by_itself=True))
        assert story.core.is_closed and said.error is None

    def test_what_is_in_flight_is_waited_for(self):
        story = reading(ShareStory(), A0)
        story.want()
        story.core.close()
        assert len(story.pump().sent) == 1 and not story.core.is_closed
        story.answer(answer(acquired(A0, 3, 4)))
        assert story.take().share_session_epoch == -1

    def test_without_a_session_there_is_nothing_to_end(self):
        story = ShareStory().assign(A0)
        story.core.close()
        assert story.pump().sent == [] and story.core.is_closed

    def test_what_nobody_waits_for_any_more_has_an_outcome(self):
        story = reading(ShareStory(), A0)
        sent = story.say(A0, {0: ACCEPT})
        story.pump()
        waiting = story.say(A0, {1: ACCEPT})
        story.core.give_up(errors.RequestTimedOut("too late"))
        assert [each.error.message for each in (sent, waiting)] == ["too late"] * 2
        story.answer(settled(A0, by_itself=True))
        assert story.outcomes.count(sent) == 1, "each is told once"
