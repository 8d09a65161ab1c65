"""A member of a share group: every transition of its table, and every error."""

import pytest

from member_kit import BACKOFF_MS, HEARTBEAT_MS, MAX_POLL_MS, share
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k76_share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

T, U = b"t" * 16, b"u" * 16


def told(epoch=1, error=None, **topics):
    """An answer; without topics it says nothing of the assignment."""
    if error is not None:
        return ShareGroupHeartbeatResponse(error_code=error.code, error_message="because")
    found = [
        TopicPartitions(topic_id=Uuid(name.encode() * 16), partitions=list(numbers)) for name, numbers in topics.items()
    ]
    return ShareGroupHeartbeatResponse(
        member_id="me",
        member_epoch=epoch,
        heartbeat_interval_ms=HEARTBEAT_MS,
        assignment=Assignment(topic_partitions=found) if topics else None,
    )


def settled(**topics):
    story = share(tuple(topics) or ("t",))
    story.answer(told(3, **(topics or {"t": [0, 1]})))
    assert story.core.state == "STABLE"
    return story


def assigned(story):
    return {str(place) for place in story.core.assigned.values()}


def test_it_joins_with_its_topics():
    story = share(("u", "t"))
    request = story.answer(told(1, t=[0], u=[2]))
    assert (request.group_id, request.member_id, request.member_epoch) == ("g", "me", 0)
    assert request.subscribed_topic_names == ["t", "u"]
    assert assigned(story) == {"t-0", "u-2"}
    assert story.core.assigned[U, 2] == ("u", 2)


def test_afterwards_it_only_says_that_it_lives():
    story = settled()
    assert story.sent == []
    story.pass_ms(HEARTBEAT_MS)
    request = story.answer(told(3))
    assert (request.member_epoch, request.subscribed_topic_names) == (3, None)
    assert assigned(story) == {"t-0", "t-1"}


def test_an_assignment_is_taken_over_at_once():
    story = settled()
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(4, t=[1]))
    assert assigned(story) == {"t-1"}
    assert (story.core.epoch, story.core.rebalances) == (4, 2)


def test_a_new_subscription_is_told_at_once_and_what_is_not_wanted_is_left_out():
    story = settled()
    story.core.subscribe(["u"], story.now_ms)
    story.pump()
    assert assigned(story) == set(), "the coordinator has not heard of it yet"
    request = story.answer(told(4, u=[0]))
    assert request.subscribed_topic_names == ["u"]
    assert assigned(story) == {"u-0"}


def test_a_subscription_that_changes_meanwhile_is_told_next():
    story = share()
    story.core.subscribe(["u"], story.now_ms)
    story.pump()
    assert story.answer(told(1, t=[0])).subscribed_topic_names == ["t"]
    assert story.answer(told(2, u=[0])).subscribed_topic_names == ["u"]


def test_a_topic_without_a_name_waits_for_it():
    story = share(("t", "v"))
    story.answer(told(1, t=[0], v=[0]))
    assert story.core.needs_metadata
    assert assigned(story) == {"t-0"}
    story.core.metadata({"t": T, "v": b"v" * 16})
    assert not story.core.needs_metadata
    assert assigned(story) == {"t-0", "v-0"}


@pytest.mark.parametrize("error", [errors.FencedMemberEpoch, errors.UnknownMemberId])
def test_one_that_was_put_out_joins_again_with_the_same_id(error):
    story = settled()
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(error=error))
    assert (story.core.state, assigned(story)) == ("JOINING", set())
    request = story.answer(told(5, t=[1]))
    assert (request.member_id, request.member_epoch, request.subscribed_topic_names) == ("me", 0, ["t"])
    assert assigned(story) == {"t-1"}


@pytest.mark.parametrize("error", [errors.NotCoordinator, errors.CoordinatorNotAvailable])
def test_another_coordinator_is_looked_for(error):
    story = settled()
    lookups = story.lookups
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(error=error))
    story.pass_ms(BACKOFF_MS)
    assert story.lookups == lookups + 1
    assert story.answer(told(3)).member_epoch == 3
    assert assigned(story) == {"t-0", "t-1"}, "it is still a member"


def test_a_coordinator_that_loads_is_asked_again():
    story = settled()
    story.pass_ms(HEARTBEAT_MS)
    story.answer(told(error=errors.CoordinatorLoadInProgress))
    assert story.sent == [] and story.core.trouble is not None
    story.pass_ms(BACKOFF_MS)
    story.answer(told(3))
    assert story.core.trouble is None


def test_a_lost_heartbeat_is_said_again_with_everything():
    story = settled()
    story.pass_ms(HEARTBEAT_MS)
    story.lose()
    story.pass_ms(BACKOFF_MS)
    request = story.answer(told(3))
    assert (request.member_epoch, request.subscribed_topic_names) == (3, ["t"])


@pytest.mark.parametrize(
    "error",
    [errors.GroupMaxSizeReached, errors.InvalidRequest, errors.GroupAuthorizationFailed, errors.GroupIdNotFound],
)
def test_what_does_not_pass_is_told_and_ends_it(error):
    story = share()
    story.answer(told(error=error))
    assert isinstance(story.core.error, error)
    assert story.core.state == "FATAL" and story.pass_ms(10 * HEARTBEAT_MS).sent == []


def test_who_subscribes_once_more_tries_anew():
    story = share()
    story.answer(told(error=errors.GroupMaxSizeReached))
    story.core.subscribe(["t"], story.now_ms)
    assert story.core.error is None
    assert story.pump().answer(told(1, t=[0])).member_epoch == 0
    assert assigned(story) == {"t-0"}


def test_a_cluster_without_share_groups_is_told_in_plain_words():
    story = share()
    story.answer(told(error=errors.UnsupportedVersion))
    assert "no share groups" in story.core.error.message


def test_it_leaves():
    story = settled()
    story.core.leave(story.now_ms)
    story.pump()
    assert not story.core.has_said_goodbye
    assert story.answer(told(-1)).member_epoch == -1
    assert story.core.has_said_goodbye
    assert (story.core.state, assigned(story)) == ("UNSUBSCRIBED", set())
    assert story.pass_ms(10 * HEARTBEAT_MS).sent == []


def test_who_never_joined_has_nothing_to_leave():
    story = share()
    story.core.leave(story.now_ms)
    story.pump()
    assert story.core.has_said_goodbye
    story.answer(told(1, t=[0]))
    assert assigned(story) == set(), "the answer comes too late"


def test_a_program_that_does_not_poll_leaves_and_its_next_poll_joins_again():
    story = settled()
    while story.core.state == "STABLE":
        story.pass_ms(HEARTBEAT_MS)
        story.answer(told(3))
    assert story.core.is_expired
    assert story.pass_ms(HEARTBEAT_MS).sent == []
    story.core.polled(story.now_ms)
    story.pump()
    assert story.answer(told(4, t=[0])).member_epoch == 0


def test_who_waits_in_a_poll_is_alive():
    story = settled()
    story.core.is_polling = True
    for _ in range(2 * MAX_POLL_MS // HEARTBEAT_MS):
        story.pass_ms(HEARTBEAT_MS)
        story.answer(told(3))
    assert story.core.state == "STABLE"
    assert story.core.seconds_since_poll(story.now_ms) == 0.0
