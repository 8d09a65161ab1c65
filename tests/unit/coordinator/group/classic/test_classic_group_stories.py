"""The life of classic groups, one situation per story."""

import pytest

from group_kit import GroupStory, subscription
from odradek.protocol.errors import CoordinatorNotAvailable


@pytest.fixture
def story():
    return GroupStory()


# Joining


def test_a_new_member_is_given_an_id_and_has_to_come_again_with_it(story):
    response = story.join("first")
    assert story.answer("first") == "MEMBER_ID_REQUIRED"
    assert response.member_id == "client-1"
    assert story.state() == "Empty", "nobody has joined yet"
    assert story.group().pending_members == {"client-1"}
    story.join("second", "client-1")
    story.advance(0)
    assert story.answers["second"].member_id == "client-1"


def test_a_member_of_an_old_version_joins_in_one_step(story):
    story.join("m", version=3)
    story.advance(0)
    assert story.answers["m"].generation_id == 1
    assert story.answers["m"].leader == story.answers["m"].member_id == "client-1"


def test_an_id_that_is_not_used_in_time_is_forgotten(story):
    story.join("m", session_ms=5000)
    story.advance(4999)
    assert story.group().pending_members
    story.advance(1)
    assert not story.group().pending_members
    story.join("late", "client-1")
    assert story.answer("late") == "UNKNOWN_MEMBER_ID"


def test_a_pending_member_holds_up_a_rebalance_until_its_session_ends(story):
    a, b = story.stable_pair()
    story.join("c: id", session_ms=5000)
    story.join("a rejoins", a)
    story.join("b rejoins", b)
    assert story.answer("a rejoins") == "held", "the third has been given an id and will come"
    story.advance(5000)
    assert story.answer("a rejoins") == story.answer("b rejoins") == "ok"


@pytest.mark.parametrize("session_ms", [999, 1_800_001])
def test_a_session_timeout_out_of_bounds_makes_no_group(story, session_ms):
    story.join("m", session_ms=session_ms)
    assert story.answer("m") == "INVALID_SESSION_TIMEOUT"
    assert story.state() == "Dead"


def test_no_protocols_are_inconsistent(story):
    story.join("none", protocols={})
    story.join("no type", protocol_type="")
    assert (story.answer("none"), story.answer("no type")) == ("INCONSISTENT_GROUP_PROTOCOL",) * 2
    assert story.state() == "Empty", "the group is there all the same, as it is with Kafka"


def test_protocols_have_to_fit_the_other_members(story):
    story.stable_pair()
    story.join("other type", protocol_type="connect")
    story.join("other protocol", protocols={"sticky": b""})
    assert (story.answer("other type"), story.answer("other protocol")) == ("INCONSISTENT_GROUP_PROTOCOL",) * 2


def test_the_protocol_with_the_most_votes_wins(story):
    every = {"range": b"r", "roundrobin": b"rr", "sticky": b"s"}
    story.join("a", version=3, protocols=every)
    story.join("b", version=3, protocols={"sticky": b"s", "roundrobin": b"rr"})
    story.join("c", version=3, protocols={"sticky": b"s2", "roundrobin": b"rr2"})
    story.advance(0)
    assert story.answers["a"].protocol_name == "sticky", "range is not known to all, and two of three prefer sticky"
    assert [member.metadata for member in story.answers["a"].members] == [b"s", b"s", b"s2"]
    assert story.answers["b"].members == [], "only the leader is told who is there"


def test_an_unknown_member_id_is_refused(story):
    story.join("nobody", "client-99")
    assert story.answer("nobody") == "UNKNOWN_MEMBER_ID"
    story.stable_pair()
    story.join("still nobody", "client-99")
    assert story.answer("still nobody") == "UNKNOWN_MEMBER_ID"


def test_a_group_may_be_full():
    story = GroupStory(group_max_size=2)
    first, _ = story.stable_pair()
    story.join("third")
    assert story.answer("third") == "GROUP_MAX_SIZE_REACHED"
    story.join("member", first)
    assert story.answer("member") == "held", "who is in may join again"


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_who_is_turned_away_no_longer_holds_up_those_who_have_joined(release):
    story = GroupStory(release, group_max_size=3)
    first, second = story.stable_pair()
    third, fourth = (story.join(name).member_id for name in ("c: id", "d: id"))
    story.join("c", third)
    story.join("a rejoins", first)
    story.join("b rejoins", second)
    assert story.answer("c") == "held", "the fourth has an id, and might come"
    story.join("d", fourth)
    assert story.answer("d") == "GROUP_MAX_SIZE_REACHED"
    assert [story.answer(ticket) for ticket in ("a rejoins", "b rejoins", "c")] == ["ok"] * 3


# The first rebalance waits


def test_the_first_rebalance_waits_for_more_members_but_not_for_ever():
    story = GroupStory(group_initial_rebalance_delay_ms=3000)
    story.join("a", version=3, rebalance_ms=7000)
    story.advance(2999)
    story.join("b", version=3, rebalance_ms=7000)
    story.advance(1)
    assert story.answer("a") == "held", "somebody came: it waits once more"
    story.advance(2999)
    story.join("c", version=3, rebalance_ms=7000)
    story.advance(1)
    assert story.answer("a") == "held"
    story.advance(1000)
    assert [story.answer(ticket) for ticket in "abc"] == ["ok"] * 3, "7 s is what a member will wait at most"
    assert story.generation() == 1


def test_without_another_member_it_waits_once():
    story = GroupStory(group_initial_rebalance_delay_ms=3000)
    story.join("a", version=3)
    story.advance(2999)
    assert story.answer("a") == "held"
    story.advance(1)
    assert story.answer("a") == "ok"


# Rebalances


def test_a_second_member_makes_the_first_join_again(story):
    first = story.join_new("a")
    story.advance(0)
    story.sync("a sync", first, {first: b"all"})
    assert story.answers["a sync"].assignment == b"all"
    second = story.join_new("b")
    assert story.state() == "PreparingRebalance"
    assert story.heartbeat(first) == "REBALANCE_IN_PROGRESS"
    story.join("a again", first)
    assert (story.answer("a again"), story.answer("b")) == ("ok", "ok")
    assert story.generation() == 2
    assert [member.member_id for member in story.answers["a again"].members] == [first, second]
    assert story.heartbeat(first, generation=1) == "ILLEGAL_GENERATION"


def test_assignments_are_held_until_the_leader_has_made_them(story):
    first = story.join_new("a")
    story.advance(0)
    second = story.join_new("b")
    story.join("a again", first)
    story.sync("b sync", second)
    assert story.answer("b sync") == "held"
    story.sync("a sync", first, {first: b"A", second: b"B", "made-up": b"X"})
    assert story.answers["a sync"].assignment == b"A"
    assert story.answers["b sync"].assignment == b"B"
    assert story.sync("b asks again", second).assignment == b"B", "a stable group just tells"


def test_a_member_that_the_leader_forgot_gets_nothing(story):
    first = story.join_new("a")
    story.advance(0)
    second = story.join_new("b")
    story.join("a again", first)
    story.sync("a sync", first, {first: b"A"})
    assert story.sync("b sync", second).assignment == b""


def test_a_follower_that_missed_its_answer_gets_it_again(story):
    _, second = story.stable_pair()
    again = story.join("b again", second)
    assert (again.generation_id, again.members) == (story.generation(), [])
    assert story.state() == "Stable", "nothing has changed"


def test_a_leader_that_joins_again_wants_everything_assigned_anew(story):
    first, _ = story.stable_pair()
    story.join("a again", first)
    assert story.state() == "PreparingRebalance"


def test_a_follower_with_new_metadata_starts_a_rebalance(story):
    _, second = story.stable_pair()
    story.join("b again", second, protocols={"range": subscription("t", "u")})
    assert story.state() == "PreparingRebalance"


def test_a_join_between_the_phases_cancels_the_syncs(story):
    first = story.join_new("a")
    story.advance(0)
    second = story.join_new("b")
    story.join("a again", first)
    story.sync("b sync", second)
    story.join_new("c")
    assert story.answer("b sync") == "REBALANCE_IN_PROGRESS"
    assert story.sync("a sync", first, {first: b"A"}).error_code == 27


def test_a_member_that_does_not_come_again_is_out(story):
    first, second = story.stable_pair()
    story.join("a again", first, rebalance_ms=20_000)
    for _ in range(12):
        story.heartbeat(second)
        story.advance(5000)
    assert story.answer("a again") == "ok", "the longest rebalance timeout is over"
    assert [member.member_id for member in story.answers["a again"].members] == [first]
    assert story.heartbeat(second) == "UNKNOWN_MEMBER_ID"


def test_the_lead_goes_to_somebody_who_is_there(story):
    first, second = story.stable_pair()
    story.join("b again", second, protocols={"range": subscription("u")})
    story.leave(first)
    assert story.answers["b again"].leader == second


def test_who_never_syncs_is_out(story):
    first = story.join_new("a", rebalance_ms=30_000)
    story.advance(0)
    second = story.join_new("b", rebalance_ms=30_000)
    story.join("a again", first, rebalance_ms=30_000)
    story.sync("a sync", first, {first: b"A"})
    for _ in range(6):
        story.heartbeat(first)
        story.heartbeat(second)
        story.advance(5000)
    assert story.state() == "PreparingRebalance"
    assert story.heartbeat(second) == "UNKNOWN_MEMBER_ID"
    assert story.heartbeat(first) == "REBALANCE_IN_PROGRESS"


def test_an_older_attempt_of_the_same_member_is_let_go(story):
    first, _ = story.stable_pair()
    story.join("one", first)
    story.join("two", first)
    assert (story.answer("one"), story.answer("two")) == ("REBALANCE_IN_PROGRESS", "held")


# Sessions


@pytest.mark.contract("B86")
def test_a_member_that_is_silent_is_expired(story):
    first, second = story.stable_pair()
    story.advance(9000)
    assert story.heartbeat(first) == "ok"
    story.advance(1000)
    assert story.heartbeat(first) == "REBALANCE_IN_PROGRESS", "the second has been silent for 10 s"
    assert story.heartbeat(second) == "UNKNOWN_MEMBER_ID"


def test_who_waits_for_us_is_not_silent(story):
    first, second = story.stable_pair()
    story.join("b again", second, protocols={"range": subscription("u")})
    for _ in range(4):
        story.heartbeat(first)
        story.advance(5000)
    assert story.answer("b again") == "held"
    story.join("a again", first)
    assert story.answer("b again") == "ok"


def test_a_session_begins_anew_with_the_assignment_that_a_member_waited_for(story):
    """It was over while the member waited, which is passed over: without a new one it would be a member for ever."""
    first = story.join_new("a")
    story.advance(0)
    second = story.join_new("b")
    story.join("a again", first)
    story.sync("b sync", second)
    for _ in range(3):
        story.heartbeat(first)
        story.advance(4000)
    assert story.answer("b sync") == "held", "12 s of a session of 10"
    story.sync("a sync", first, {first: b"A", second: b"B"})
    story.advance(9999)
    assert story.heartbeat(first) == "ok"
    assert second in story.group().members
    story.advance(1)
    assert second not in story.group().members, "silent for 10 s since the answer"


def test_a_new_member_that_waits_is_given_up_after_five_minutes(story):
    first = story.join_new("a", rebalance_ms=1_000_000)
    story.advance(0)
    story.sync("a sync", first, {first: b"A"})
    story.join_new("b", rebalance_ms=1_000_000)
    for _ in range(60):
        story.heartbeat(first)
        story.advance(5000)
    assert story.answer("b") == "UNKNOWN_MEMBER_ID"


def test_a_commit_is_a_sign_of_life(story):
    first, _ = story.stable_pair()
    story.advance(9000)
    assert story.commit(5, member_id=first, generation=story.generation()) == "ok"
    story.advance(9000)
    assert story.heartbeat(first) == "REBALANCE_IN_PROGRESS"


def test_the_last_one_to_go_leaves_an_empty_group(story):
    first, second = story.stable_pair()
    assert story.leave(first, second, "client-99") == ["ok", "ok", "UNKNOWN_MEMBER_ID"]
    assert (story.state(), story.generation()) == ("Empty", 3)
    assert story.group().protocol_type == "consumer"
    assert story.heartbeat(first) == "UNKNOWN_MEMBER_ID"


def test_leaving_while_others_wait_lets_them_go_on(story):
    first, second = story.stable_pair()
    story.join("a again", first)
    assert story.answer("a again") == "held"
    assert story.leave(second) == ["ok"]
    assert story.answer("a again") == "ok"


def test_who_leaves_while_it_waits_is_told(story):
    first, second = story.stable_pair()
    story.join("b again", second, protocols={"range": subscription("u")})
    story.leave(second)
    assert story.answer("b again") == "UNKNOWN_MEMBER_ID"
    assert story.heartbeat(first) == "REBALANCE_IN_PROGRESS"


def test_a_pending_member_may_leave(story):
    story.join("m")
    assert story.leave("client-1") == ["ok"]
    assert story.leave("client-1") == ["UNKNOWN_MEMBER_ID"]


# The log


def test_a_stable_group_survives_its_coordinator(story):
    first, second = story.stable_pair()
    story.reload()
    assert story.state() == "Stable"
    assert story.heartbeat(first) == "ok"
    assert story.sync("b asks", second).assignment == b"B"
    story.advance(10_000)
    assert story.state() == "Empty", "sessions began anew with the load, and ended"


def test_a_rebalance_is_forgotten_with_its_coordinator(story):
    first, _ = story.stable_pair()
    third = story.join_new("c")
    story.reload()
    assert (story.state(), story.generation()) == ("Stable", 2)
    assert story.heartbeat(first) == "ok"
    assert story.heartbeat(third) == "UNKNOWN_MEMBER_ID"


def test_a_sync_that_cannot_be_written_has_changed_nothing(story):
    first = story.join_new("a")
    story.advance(0)
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.sync("a sync", first, {first: b"A"})
    assert story.state() == "CompletingRebalance"
    story.refusal = None
    assert story.sync("a sync again", first, {first: b"A"}).assignment == b"A"


def test_an_empty_group_that_cannot_be_written_is_tried_again(story):
    first = story.join_new("a")
    story.advance(0)
    story.sync("a sync", first, {first: b"A"})
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.leave(first)
    assert story.state() == "PreparingRebalance"
    story.refusal = None
    story.advance(1000)
    assert story.state() == "Empty"


def test_a_3_3_writes_no_empty_group():
    story = GroupStory("3.3")
    story.join("m")
    assert story.log == []
    assert story.state() == "Empty"
    newer = GroupStory("4.3")
    newer.join("m")
    assert len(newer.log) == 1


def test_a_pending_member_that_leaves_no_longer_holds_up_the_others(story):
    first, second = story.stable_pair()
    pending = story.join("c").member_id
    story.join("a again", first)
    story.join("b again", second)
    assert story.answer("a again") == "held"
    assert story.leave(pending) == ["ok"]
    assert story.answer("a again") == story.answer("b again") == "ok"
