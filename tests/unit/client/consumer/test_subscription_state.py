"""Where a consumer stands: what each call makes of it."""

import pytest

from odradek.client.consumer.offset_reset import EARLIEST, LATEST, NONE, ResetStrategy
from odradek.client.consumer.subscription_state import NotAssigned, SubscriptionState
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def state():
    found = SubscriptionState(EARLIEST)
    found.assign([T0, T1])
    return found


@pytest.mark.contract("B12")
def test_a_new_partition_has_nothing(state):
    assert state.assigned() == {T0, T1}
    assert state.needing_position() == [T0, T1]
    for told in (state.position, state.lag, state.lead, state.high_watermark, state.log_start_offset, state.end_offset):
        assert told(T0) is None
    assert state.positions() == {}
    assert state.paused() == set()


def test_plain_pairs_name_partitions_too():
    state = SubscriptionState()
    state.assign([("t", 0)])
    assert state.assigned() == {T0}
    assert str(state.get(T0).place) == "t-0"


def test_a_partition_that_is_not_assigned_is_a_mistake_of_the_caller(state):
    gone = TopicPartition("u", 7)
    for call in (state.position, state.lag, lambda place: state.seek(place, 1), lambda place: state.pause([place])):
        with pytest.raises(NotAssigned, match="u-7"):
            call(gone)


def test_a_seek_gives_a_position_and_may_have_an_epoch(state):
    state.seek(T0, 5)
    state.seek(T1, OffsetAndMetadata(7, "text", 3))
    assert (state.position(T0), state.position(T1)) == (5, 7)
    assert not state.get(T0).needs_validation
    assert state.get(T1).needs_validation
    assert state.positions() == {T0: OffsetAndMetadata(5), T1: OffsetAndMetadata(7, "", 3)}
    assert state.needing_position() == []


def test_what_was_committed_is_taken_only_by_who_still_needs_it(state):
    state.seek(T0, 5)
    for place in (T0, T1, TopicPartition("u", 0)):
        state.set_position(place, OffsetAndMetadata(9))
    assert (state.position(T0), state.position(T1)) == (5, 9)


def test_a_reset_takes_the_position_away_until_it_is_known(state):
    state.seek(T0, 5)
    state.request_reset([T0], LATEST)
    assert state.position(T0) is None
    assert state.needing_position() == [T1]
    assert T0 not in state.positions()
    state.reset_missing()
    assert state.get(T1).reset == EARLIEST
    assert state.get(T0).reset == LATEST


def test_a_reset_of_nothing_needs_no_policy():
    state = SubscriptionState(NONE)
    state.reset_missing()
    state.request_reset([])


def test_every_change_of_mind_is_a_new_generation(state):
    one = state.get(T0)
    generations = [one.generation]
    for change in (
        lambda: state.seek(T0, 1),
        lambda: state.request_reset([T0], LATEST),
        one.fetch_again,
        lambda: state.assign([T1]),
    ):
        change()
        generations.append(one.generation)
    assert generations == sorted(set(generations))


def test_pausing_and_the_mark_of_a_revocation_are_apart(state):
    state.pause([T0])
    state.mark_revoking([T0, TopicPartition("u", 0)])
    state.resume([T0])
    assert state.paused() == set()
    assert state.get(T0).is_held
    state.unmark_revoking([T0])
    assert not state.get(T0).is_held


def test_a_preferred_replica_expires(state):
    one = state.get(T0)
    one.preferred_replica, one.preferred_until_ms = 3, 100
    assert state.preferred_read_replica(T0, 99) == 3
    assert state.preferred_read_replica(T0, 100) is None
    assert state.preferred_read_replica(T0, 0) is None


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [("earliest", -2), ("LATEST", -1), ("by_duration:P1DT1S", 1_000_000_000 - 86_401_000), ("by_duration:P99999D", 0)],
)
@pytest.mark.contract("B11")
def test_a_strategy_is_read_and_asked_for(text, timestamp):
    assert ResetStrategy.parse(text).timestamp_ms(1_000_000_000) == timestamp


def test_the_strategy_none_is_none():
    assert ResetStrategy.parse("none").is_none
    assert not LATEST.is_none
