"""Static members: known by their instance id, they may be away for a while."""

import pytest

from group_kit import GroupStory, subscription


@pytest.fixture
def story():
    return GroupStory()


def stable(story, **options):
    """A static leader and a dynamic follower."""
    first = story.join("a", instance="i1", **options)
    story.advance(0)
    first = story.answers["a"].member_id
    second = story.join_new("b")
    story.join("a again", first, instance="i1", **options)
    story.sync("a sync", first, {first: b"A", second: b"B"}, instance="i1")
    story.sync("b sync", second)
    return first, second


def test_a_static_member_joins_without_a_handshake(story):
    first, _ = stable(story)
    assert first == "i1-1"
    assert story.answers["a again"].members[0].group_instance_id == "i1"


def test_it_comes_back_without_a_rebalance(story):
    first, second = stable(story)
    back = story.join("a is back", instance="i1", version=8)
    assert story.state() == "Stable"
    assert (back.member_id, back.leader, back.members) == ("i1-3", first, []), "told the old leader: it does not assign"
    assert story.sync("a asks", "i1-3", instance="i1").assignment == b"A"
    assert story.heartbeat(second) == "ok"
    assert story.group().leader == "i1-3"


def test_a_leader_that_can_skip_the_assignment_is_told_that_it_leads(story):
    _, second = stable(story)
    back = story.join("a is back", instance="i1")
    assert back.skip_assignment
    assert (back.leader, [member.member_id for member in back.members]) == ("i1-3", ["i1-3", second])


def test_the_old_one_is_fenced(story):
    first, _ = stable(story)
    story.join("a is back", instance="i1")
    assert story.heartbeat(first, instance="i1") == "FENCED_INSTANCE_ID"
    assert story.heartbeat(first) == "UNKNOWN_MEMBER_ID"
    assert story.sync("old", first, instance="i1").error_code == 82
    story.join("old joins", first, instance="i1")
    assert story.answer("old joins") == "FENCED_INSTANCE_ID"
    assert story.commit(1, member_id=first, instance_id="i1", generation=2) == "FENCED_INSTANCE_ID"


def test_its_new_id_is_in_the_log(story):
    stable(story)
    story.join("a is back", instance="i1")
    story.reload()
    assert story.heartbeat("i1-3", instance="i1") == "ok"
    assert story.sync("a asks", "i1-3", instance="i1").assignment == b"A"


def test_coming_back_with_other_protocols_may_need_a_rebalance(story):
    story.join("a", instance="i1", protocols={"range": b"", "sticky": b""})
    story.advance(0)
    story.sync("a sync", "i1-1", {"i1-1": b"A"}, instance="i1")
    story.join("a is back", instance="i1", protocols={"sticky": b"", "range": b""})
    assert story.answers["a is back"].protocol_name == "sticky"
    assert story.generation() == 2


def test_coming_back_in_the_middle_of_a_rebalance_fences_who_waits(story):
    first, second = stable(story)
    story.join("b again", second, protocols={"range": subscription("u")})
    story.join("a waits", first, instance="i1")
    # the rebalance is complete; the leader is to assign, and is restarted instead
    story.sync("b waits", second)
    story.join("a is back", instance="i1")
    assert story.answer("b waits") == "REBALANCE_IN_PROGRESS", "the leader was told of an id that is gone"
    story.join("b joins", second, protocols={"range": subscription("u")})
    assert story.answer("a is back") == "ok"


def test_a_duplicate_that_waits_is_fenced(story):
    stable(story)
    story.join_new("c")
    story.join("one", instance="i1")
    story.join("two", instance="i1")
    assert (story.answer("one"), story.answer("two")) == ("FENCED_INSTANCE_ID", "held")


def test_it_is_not_out_when_it_misses_a_rebalance(story):
    first, second = stable(story, session_ms=600_000)
    story.join("b again", second, protocols={"range": subscription("u")})
    story.advance(60_000)
    assert story.answer("b again") == "ok"
    assert story.answers["b again"].leader == second, "a leader has to be there"
    assert {member.member_id for member in story.answers["b again"].members} == {first, second}


def test_while_nobody_has_joined_the_rebalance_goes_on(story):
    story.join("a", instance="i1", session_ms=600_000)
    story.advance(0)
    story.sync("a sync", "i1-1", {"i1-1": b"A"}, instance="i1")
    second = story.join_new("b")
    story.leave(second)
    story.advance(60_000)
    assert story.state() == "PreparingRebalance"
    story.advance(600_000)
    assert story.state() == "Empty"


def test_an_admin_removes_it_by_its_instance_id(story):
    _, second = stable(story)
    assert story.leave("instance:i1", "instance:none") == ["ok", "UNKNOWN_MEMBER_ID"]
    assert story.heartbeat(second) == "REBALANCE_IN_PROGRESS"


def test_leaving_with_the_wrong_id_is_fenced(story):
    stable(story)
    from odradek.protocol.messages.k13_leave_group import MemberIdentity

    wrong = MemberIdentity(member_id="other", group_instance_id="i1")
    left = story.event(lambda core: core.leave(story.now, "g", [wrong]))
    assert left.members[0].error_code == 82


def test_an_unknown_instance_is_an_unknown_member(story):
    first, _ = stable(story)
    assert story.heartbeat(first, instance="none") == "UNKNOWN_MEMBER_ID"
