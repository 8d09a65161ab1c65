"""A member of a consumer group: every transition of its table, and every error."""

import pytest

from member_kit import BACKOFF_MS, HEARTBEAT_MS, MAX_POLL_MS, SERVER_SESSION_MS, consumer
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k68_consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)


def told(epoch, *places, has_assignment=True, error=None):
    """An answer; `has_assignment=False` for one that says nothing of it."""
    if error is not None:
        return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message="because")
    topics = {}
    for topic, number in places:
        topics.setdefault(topic.encode() * 16, []).append(number)
    assignment = Assignment(
        topic_partitions=[
            ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=Uuid(topic), partitions=numbers)
            for topic, numbers in topics.items()
        ]
    )
    return ConsumerGroupHeartbeatResponse(
        member_id="me",
        member_epoch=epoch,
        heartbeat_interval_ms=HEARTBEAT_MS,
        assignment=assignment if has_assignment else None,
    )


def owns(request):
    if request.topic_partitions is None:
        return None
    return [
        (chr(bytes(topic.topic_id)[0]), number) for topic in request.topic_partitions for number in topic.partitions
    ]


def settled(*places, **options):
    """A member that owns these, and has said so."""
    story = consumer(**options)
    story.answer(told(5, *places))
    if places:
        story.do("assign")
        story.answer(told(5, has_assignment=False))
    assert story.core.state == "STABLE"
    return story


def test_it_joins_with_everything():
    story = consumer(("t", "u"))
    request = story.answer(told(1))
    assert (request.member_id, request.member_epoch, owns(request)) == ("me", 0, [])
    assert request.subscribed_topic_names == ["t", "u"] and request.rebalance_timeout_ms == MAX_POLL_MS
    assert request.subscribed_topic_regex is None


def test_it_tells_at_once_what_it_has_taken_and_then_only_that_it_lives():
    story = consumer()
    story.answer(told(5, T0))
    assert story.core.state == "RECONCILING" and story.do("assign") == [[T0]]
    request = story.answer(told(5, has_assignment=False))
    assert (request.member_epoch, owns(request)) == (5, [T0])
    assert request.subscribed_topic_names is None and request.rebalance_timeout_ms == -1
    assert story.core.state == "STABLE" and story.sent == []
    story.pass_ms(HEARTBEAT_MS)
    assert owns(story.answer(told(5, has_assignment=False))) is None


def test_it_gives_back_before_it_says_so_and_before_it_takes():
    story = settled(T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(5, T1))
    assert story.core.owned == {T0}
    story.pass_ms(HEARTBEAT_MS)
    assert owns(story.answer(told(5, has_assignment=False))) is None, "it has not given anything back"
    assert story.do("revoke", "assign") == [[T0], [T1]]
    assert owns(story.answer(told(6, has_assignment=False))) == [T1]


def test_what_comes_while_it_gives_back_waits():
    story = settled(T0, T1)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(5, T0))
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(5, U0))
    assert story.do("revoke", "revoke", "assign") == [[T1], [T0], [U0]]
    assert owns(story.take().request) == [U0]


def test_after_a_lost_heartbeat_it_tells_everything():
    story = settled(T0)
    story.pass_ms(HEARTBEAT_MS)
    story.lose()
    story.pass_ms(100)
    request = story.take().request
    assert (request.member_epoch, owns(request), request.subscribed_topic_names) == (5, [T0], ["t"])
    assert story.core.owned == {T0}


def test_a_lost_heartbeat_says_what_it_still_owns_while_it_gives_back():
    story = settled(T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(5))
    story.pass_ms(HEARTBEAT_MS)
    story.lose()
    story.pass_ms(100)
    assert owns(story.take().request) == [T0]


def test_a_topic_that_the_metadata_does_not_know_waits_for_it():
    story = consumer()
    story.core.metadata({"t": b"t" * 16})
    story.answer(told(5, U0))
    assert story.core.change is None and story.core.needs_metadata
    story.core.metadata({"t": b"t" * 16, "u": b"u" * 16})
    story.do("assign")
    assert owns(story.take().request) == [U0]


def test_what_it_owns_of_a_deleted_topic_can_still_be_said_and_given_back():
    story = settled(T0)
    story.core.metadata({})
    story.pass_ms(HEARTBEAT_MS)
    story.lose()
    story.pass_ms(100)
    assert owns(story.answer(told(6))) == [T0]
    assert story.do("revoke") == [[T0]]
    assert owns(story.take().request) == []


@pytest.mark.parametrize("error", [errors.FencedMemberEpoch, errors.UnknownMemberId])
def test_a_fenced_member_loses_everything_and_joins_again_with_its_id(error):
    story = settled(T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(0, error=error))
    assert story.core.state == "FENCED" and story.assurance.assured(story.now_ms) == set() and story.sent == []
    assert story.core.identity() is None
    assert story.do("lose") == [[T0]]
    request = story.take().request
    assert (request.member_id, request.member_epoch, owns(request)) == ("me", 0, [])


def test_a_fenced_member_that_owns_nothing_joins_at_once():
    story = settled()
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(0, error=errors.FencedMemberEpoch))
    assert story.take().request.member_epoch == 0


def test_being_fenced_overtakes_what_it_was_about_to_give_back():
    story = settled(T0, T1)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(5, T0))
    revoke = story.core.change
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(0, error=errors.FencedMemberEpoch))
    story.core.done(revoke, story.now_ms)
    assert story.do("lose") == [[T0, T1]]


@pytest.mark.parametrize("error", [errors.NotCoordinator, errors.CoordinatorNotAvailable])
def test_another_coordinator_is_looked_up(error):
    story = settled(T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(0, error=error))
    story.pass_ms(100)
    assert story.lookups == 2 and owns(story.take().request) == [T0]


def test_a_coordinator_that_loads_is_asked_again():
    story = settled(T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(0, error=errors.CoordinatorLoadInProgress))
    assert story.sent == []
    story.pass_ms(100)
    assert story.lookups == 1 and story.take().request.member_epoch == 5


def test_the_pauses_grow_with_failures_in_a_row_and_an_answer_ends_the_row():
    story = settled(T0, backoff_max_ms=8 * BACKOFF_MS)
    story.pass_ms(HEARTBEAT_MS)
    for _ in range(2):
        for pause_ms in (BACKOFF_MS, 2 * BACKOFF_MS, 4 * BACKOFF_MS):
            story.answer(told(0, error=errors.CoordinatorLoadInProgress))
            story.pass_ms(pause_ms - 1)
            assert story.sent == []
            story.pass_ms(1)
            assert len(story.sent) == 1
        story.answer(told(5, has_assignment=False))
        story.pass_ms(HEARTBEAT_MS)


@pytest.mark.parametrize(
    "error",
    [
        errors.UnreleasedInstanceId,
        errors.FencedInstanceId,
        errors.InvalidRequest,
        errors.GroupMaxSizeReached,
        errors.UnsupportedAssignor,
        errors.UnsupportedVersion,
        errors.GroupAuthorizationFailed,
        errors.InvalidRegularExpression,
        errors.GroupIdNotFound,
        errors.UnknownServerError,
    ],
)
def test_what_does_not_pass_is_the_end(error):
    story = settled(T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(0, error=error))
    assert isinstance(story.core.error, error) and story.core.error.message == "because"
    assert story.core.state == "FATAL" and story.do("lose") == [[T0]]
    story.pass_ms(MAX_POLL_MS)
    assert story.sent == [] and story.core.deadline() is None


@pytest.mark.parametrize("instance, epoch", [(None, -1), ("i", -2)])
def test_it_gives_back_and_says_goodbye(instance, epoch):
    story = settled(T0, instance=instance)
    story.core.leave(story.now_ms)
    story.do("revoke")
    request = story.take().request
    assert (request.member_epoch, request.instance_id) == (epoch, instance)
    story.pass_ms(MAX_POLL_MS)
    assert story.sent == [] and story.core.state == "UNSUBSCRIBED"
    story.core.subscribe(["u"])
    story.core.polled(story.now_ms)
    story.pump()
    assert story.take().request.member_epoch == 0


def test_one_that_never_joined_goes_without_a_word():
    story = consumer()
    story.knows_coordinator = False
    story.core.leave(story.now_ms)
    assert story.core.state == "UNSUBSCRIBED"


@pytest.mark.contract("B87")
@pytest.mark.parametrize("instance, epoch", [(None, -1), ("i", -2)])
def test_one_whose_application_does_not_poll_leaves_and_joins_again_at_a_poll(instance, epoch):
    story = settled(T0, instance=instance)
    while story.core.state != "STALE":
        story.pass_ms(HEARTBEAT_MS)
        if story.sent[-1].request.member_epoch > 0:
            story.answer(told(5, has_assignment=False))
    assert story.take().request.member_epoch == epoch
    assert story.do("lose") == [[T0]]
    story.pass_ms(MAX_POLL_MS)
    assert story.sent == []
    story.core.polled(story.now_ms)
    story.pump()
    assert story.take().request.member_epoch == 0


def test_a_regular_expression_is_told_and_taken_back():
    story = consumer((), regex="t.*")
    request = story.answer(told(1))
    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == ([], "t.*")
    story.core.subscribe(["u"])
    story.pass_ms(HEARTBEAT_MS)
    request = story.answer(told(1, has_assignment=False))
    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == (["u"], "")


def test_another_subscription_is_told_with_the_next_heartbeat():
    story = settled(T0)
    story.core.subscribe(["u"])
    story.pass_ms(HEARTBEAT_MS)
    request = story.take().request
    assert request.subscribed_topic_names == ["u"] and owns(request) is None


def test_what_is_surely_its_own_ends_with_the_servers_session():
    story = settled(T0)
    story.pass_ms(HEARTBEAT_MS)
    sent_ms = story.now_ms
    story.now_ms += 700
    story.answer(told(5, has_assignment=False))
    assert story.assurance.assured(sent_ms + SERVER_SESSION_MS - 1) == {T0}
    assert story.assurance.assured(sent_ms + SERVER_SESSION_MS) == set()


def test_what_it_was_told_to_give_back_is_its_own_for_its_rebalance_timeout():
    story = settled(T0)
    story.core.polled(story.now_ms)
    quiet_ms = story.now_ms
    while story.now_ms < quiet_ms + MAX_POLL_MS - 2 * HEARTBEAT_MS:
        story.pass_ms(HEARTBEAT_MS)
        story.core.polled(story.now_ms)
        story.answer(told(5))
    assert story.assurance.assured(quiet_ms + MAX_POLL_MS - 1) == {T0}
    assert story.assurance.assured(quiet_ms + MAX_POLL_MS) == set()


def test_a_refused_commit_makes_it_ask_at_once():
    story = settled(T0)
    story.core.refused_commit(errors.StaleMemberEpoch.code, story.now_ms)
    story.pump()
    assert story.take().request.member_epoch == 5
