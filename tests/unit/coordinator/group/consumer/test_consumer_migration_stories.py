"""A group changes between the classic and the consumer protocol while it works, both ways."""

import pytest

from consumer_kit import LEAVE, LEAVE_STATIC, ConsumerStory
from odradek.coordinator.group.deadlines import JOIN, SYNC
from odradek.protocol.messages.consumer_offsets import GroupMetadataKey


@pytest.fixture
def story():
    return ConsumerStory()


def rejoin(story, ticket, member, *, owned=(), generation=-1, **options):
    metadata = story.classic("a", owned=owned, generation=generation)
    return story.join(ticket, member, protocols={"range": metadata}, **options)


# Upwards


def test_a_consumer_member_takes_a_classic_group_along(story):
    member = story.stable_classic()
    story.commit(5, topic="a", generation=1, member_id=member, version=8)
    assert story.joins("k1") == "2:"
    assert "g" not in story.core.classic.groups
    assert story.epochs() == "Reconciling 2/2"
    assert story.has(member) == "a[0 1 2 3]"
    types = {each.member_id: each.member_type for each in story.described().members}
    assert types == {member: 0, "k1": 1}
    assert story.committed(topic="a") == 5


def test_the_classic_member_reconciles_by_joining_again(story):
    member = story.stable_classic()
    story.joins("k1")
    first, second = sorted([story.target(member), story.target("k1")])
    assert (first, second) == ("a[0 1]", "a[2 3]")
    mine = [0, 1] if story.target(member) == "a[0 1]" else [2, 3]
    assert story.heartbeat(member, generation=1) == "REBALANCE_IN_PROGRESS"
    response = rejoin(story, "r1", member, owned=[("a", range(4))], generation=1)
    assert (response.error_code, response.generation_id, response.leader) == (0, 1, ""), "it has to give back first"
    story.sync("s1", member, generation=1)
    assert story.synced("s1") == story.target(member)
    assert story.heartbeat(member, generation=1) == "REBALANCE_IN_PROGRESS"
    assert rejoin(story, "r2", member, owned=[("a", mine)], generation=1).generation_id == 2
    story.sync("s2", member, generation=2)
    assert story.synced("s2") == story.target(member)
    assert story.heartbeat(member, generation=2) == "ok"
    assert story.says("k1", 2) == f"2: {story.target('k1')}"
    assert story.epochs() == "Stable 2/2"


def test_an_eager_member_owns_nothing_when_it_joins_again(story):
    member = story.stable_classic()
    story.joins("k1")
    assert rejoin(story, "r1", member).generation_id == 2
    assert story.says("k1", 2) == f"2: {story.target('k1')}"


def test_who_waits_in_a_rebalance_is_told_to_join_again(story):
    member = story.stable_classic()
    second = story.join("d: id", protocols={"range": story.classic("a")}).member_id
    story.join("d", second, protocols={"range": story.classic("a")})
    assert story.answer("d") == "held"
    story.joins("k1")
    assert story.answer("d") == "REBALANCE_IN_PROGRESS"
    assert set(story.consumer_group().members) == {member, second, "k1"}


def test_classic_members_keep_their_own_session(story):
    member = story.stable_classic(session_ms=10_000)
    story.joins("k1")
    story.advance(10_000)
    assert list(story.consumer_group().members) == ["k1"]
    assert story.heartbeat(member, generation=1) == "UNKNOWN_MEMBER_ID"


def test_a_classic_member_that_does_not_join_again_is_removed(story):
    member = story.stable_classic(session_ms=30_000, rebalance_ms=12_000)
    story.joins("k1")
    for _ in range(2):
        assert story.heartbeat(member, generation=1) == "REBALANCE_IN_PROGRESS"
        story.advance(6_000)
    assert list(story.consumer_group().members) == ["k1"]


def test_a_classic_member_that_does_not_sync_is_removed(story):
    member = story.stable_classic(session_ms=30_000, rebalance_ms=12_000)
    story.joins("k1")
    rejoin(story, "r1", member, rebalance_ms=12_000, session_ms=30_000)
    story.advance(12_000)
    assert list(story.consumer_group().members) == ["k1"]


def test_new_classic_members_may_join_a_consumer_group(story):
    story.joins("k1")
    handshake = story.join("c: id", protocols={"range": story.classic("a")})
    assert story.answer("c: id") == "MEMBER_ID_REQUIRED"
    response = rejoin(story, "c", handshake.member_id)
    assert (response.generation_id, response.protocol_name, response.members) == (3, "range", [])
    story.sync("c sync", handshake.member_id, generation=3)
    assert story.synced("c sync") == "", "its share is still with the other"
    assert story.heartbeat(handshake.member_id, generation=3) == "ok"
    share = story.target("k1")
    assert story.says("k1", 2, share) == f"3: {share}"
    assert story.heartbeat(handshake.member_id, generation=3) == "REBALANCE_IN_PROGRESS", "now it is free"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"protocol_type": "connect"}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocols": {}}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocols": {"range": b"\xff\xff"}, "version": 3}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"session_ms": 1}, "INVALID_SESSION_TIMEOUT"),
    ],
)
def test_classic_joins_that_do_not_fit(story, options, error):
    story.joins("k1")
    story.join("c", **options)
    assert story.answer("c") == error


def test_classic_requests_of_the_wrong_member_or_generation(story):
    member = story.stable_classic()
    story.joins("k1")
    assert story.heartbeat(member, generation=9) == "ILLEGAL_GENERATION"
    assert story.heartbeat("k1", generation=2) == "UNKNOWN_MEMBER_ID"
    story.sync("s", member, generation=9)
    assert story.answer("s") == "ILLEGAL_GENERATION"
    assert story.commit(1, topic="a", generation=9, member_id=member, version=8) == "ILLEGAL_GENERATION"
    assert story.commit(1, topic="a", generation=1, member_id=member, version=8) == "ok"


def test_a_group_of_another_kind_is_not_upgraded(story):
    story.join_new("w", protocol_type="connect", protocols={"x": b""})
    response = story.beat("k1", 0, "", names="a", timeout_ms=1)
    assert response.error_message == (
        "Cannot upgrade classic group g to consumer group because the group does not use the consumer embedded "
        "protocol."
    )


def test_a_custom_assignor_that_tells_its_members_more_is_not_upgraded(story):
    story.stable_classic(user_data=b"x")
    assert story.joins("k1") == "GROUP_ID_NOT_FOUND"
    assert story.state() == "Stable"


@pytest.mark.parametrize("is_synced", [True, False])
def test_what_members_tell_a_sticky_assignor_is_no_obstacle(story, is_synced):
    """Java's cooperative-sticky always has user data in its subscriptions."""
    story.join_new("w", protocols={"cooperative-sticky": story.classic("a", user_data=b"generation")})
    story.advance(0)
    member = story.answers["w"].member_id
    if is_synced:
        story.sync("s", member, {member: story.assignment(a=range(4))})
    assert story.joins("k1").startswith("2:")
    assert story.epochs() == "Reconciling 2/2" if is_synced else story.epochs().endswith(" 2/2")


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_the_policy_may_forbid_the_way_up(policy):
    story = ConsumerStory(group_consumer_migration_policy=policy)
    story.stable_classic()
    assert story.joins("k1") == "GROUP_ID_NOT_FOUND"


def test_an_empty_classic_group_is_simply_replaced(story):
    member = story.stable_classic()
    story.commit(5, topic="a", generation=1, member_id=member, version=8)
    story.leave(member)
    assert story.state() == "Empty"
    assert story.joins("k1") == "2: a[0 1 2 3]"
    assert story.committed(topic="a") == 5
    story.reload()
    assert "g" not in story.core.classic.groups
    assert story.epochs() == "Stable 2/2"


def test_a_group_that_only_kept_offsets_is_simply_replaced(story):
    story.commit(5, topic="a", generation=-1)
    assert story.joins("k1") == "2: a[0 1 2 3]"
    story.reload()
    assert story.committed(topic="a") == 5
    assert "g" not in story.core.classic.groups


# Downwards


def downgraded(story):
    member = story.stable_classic()
    story.joins("k1")
    rejoin(story, "r1", member)
    story.sync("s1", member, generation=2)
    assert story.says("k1", LEAVE) == "-1"
    return member


def test_the_last_consumer_member_leaves_a_classic_group(story):
    member = downgraded(story)
    assert "g" not in story.core.consumers.groups
    assert story.state() == "PreparingRebalance"
    assert story.generation() == 2
    assert story.heartbeat(member, generation=2) == "REBALANCE_IN_PROGRESS"
    response = rejoin(story, "r2", member)
    assert (response.generation_id, response.leader) == (3, member)


def test_a_downgraded_group_is_loaded_as_a_classic_one(story):
    """And goes on with the rebalance: what the last consumer member had has no owner."""
    member = downgraded(story)
    story.reload()
    assert "g" not in story.core.consumers.groups
    assert story.state() == "PreparingRebalance"
    assert list(story.group().members) == [member]
    assert story.group().members[member].assignment == story.assignment(a=[0, 1])
    assert story.heartbeat(member, generation=2) == "REBALANCE_IN_PROGRESS"
    assert rejoin(story, "r2", member).leader == member
    story.sync("s2", member, {member: story.assignment(a=range(4))}, generation=3)
    story.reload()
    assert story.state() == "Stable"


def test_an_expired_consumer_member_downgrades_too(story):
    member = story.stable_classic(session_ms=60_000)
    story.joins("k1")
    rejoin(story, "r1", member, session_ms=60_000)
    story.sync("s1", member, generation=2)
    story.advance(45_000)
    assert story.state() == "PreparingRebalance"


def test_the_policy_may_forbid_the_way_down():
    story = ConsumerStory(group_consumer_migration_policy="upgrade")
    member = downgraded(story)
    assert story.epochs().startswith("Reconciling") or story.epochs().startswith("Assigning")
    assert list(story.consumer_group().members) == [member]


def test_an_empty_consumer_group_becomes_classic_with_the_next_join(story):
    story.joins("k1")
    story.says("k1", LEAVE)
    member = story.stable_classic()
    assert "g" not in story.core.consumers.groups
    assert story.generation() == 1
    assert list(story.group().members) == [member]


def classic_records(story):
    """Values of the group's own records in the log; None for a tombstone."""
    return [record.value for record, _ in story.log if type(record.key) is GroupMetadataKey]


def test_a_consumer_group_ends_the_empty_classic_one_that_it_replaces(story):
    member = story.stable_classic()
    story.leave(member)
    assert classic_records(story)[-1].members == []
    story.joins("k1")
    assert classic_records(story)[-1] is None
    story.reload()
    assert (list(story.core.consumers.groups), list(story.core.classic.groups)) == (["g"], [])


def test_a_group_that_only_kept_offsets_was_never_written_and_need_not_be_ended(story):
    story.commit(7)
    story.joins("k1")
    assert classic_records(story) == []
    assert story.committed() == 7


def test_nothing_is_waited_for_any_more_of_a_rebalance_that_an_upgrade_ends(story):
    story.stable_classic("c1")
    story.join_new("c2", protocols={"range": story.classic("a")})
    assert story.core.deadlines.get((JOIN, "g", "")) is not None
    story.joins("k1")
    assert [story.core.deadlines.get((kind, "g", "")) for kind in (JOIN, SYNC)] == [None, None]


def test_a_downgrade_whose_append_fails_changes_nothing(story):
    from odradek.protocol.errors import CoordinatorNotAvailable

    member = story.stable_classic()
    story.joins("k1")
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.says("k1", LEAVE)
    story.refusal = None
    story._follow_up()
    assert set(story.consumer_group().members) == {member, "k1"}
    assert "g" not in story.core.classic.groups


# Static members


def test_a_static_member_comes_back_with_the_other_protocol_and_all_it_had(story):
    old = story.stable_classic(instance="i1")
    assert story.joins("k1", instance="i1") == "1: a[0 1 2 3]"
    assert story.epochs() == "Stable 1/1"
    assert story.heartbeat(old, generation=1, instance="i1") == "FENCED_INSTANCE_ID"
    story.says("k1", LEAVE_STATIC, instance="i1")
    response = story.join("back", instance="i1", protocols={"range": story.classic("a")})
    assert (response.error_code, response.generation_id) == (0, 1)
    assert story.state() == "Stable", "nobody is left that speaks the consumer protocol, and nothing has to move"
    assert story.group().members[response.member_id].assignment == story.assignment(a=range(4))


def test_a_static_member_takes_over_a_cooperative_group_between_two_rounds(story):
    """What one member has given back and the next round was to deal out goes to somebody."""
    member = story.stable_classic(instance="i1")
    story.join("j2", instance="i2", protocols={"range": story.classic("a")})
    rejoin(story, "r1", member, owned=[("a", range(4))], generation=1, instance="i1")
    second = story.answers["j2"].member_id
    shares = {member: story.assignment(a=[0, 1]), second: story.assignment()}
    story.sync("s1", member, shares, generation=2, instance="i1")
    story.sync("s2", second, generation=2, instance="i2")
    rejoin(story, "r2", member, owned=[("a", [0, 1])], generation=2, instance="i1")
    assert story.answer("r2") == "held", "the second round has begun"
    assert story.joins("k2", instance="i2") == "3: a[2 3]"
    assert (story.target(member), story.target("k2")) == ("a[0 1]", "a[2 3]")


def test_a_static_member_that_tells_its_id_must_be_the_one_in_that_place(story):
    """A zombie of the classic protocol takes nobody's place; what is expected is what a Kafka 4.3.0 answered."""
    story.joins("k1")
    member = story.join("s", instance="i1", protocols={"range": story.classic("a")}).member_id
    for ticket, claims, instance in (("zombie", "z", "i1"), ("stranger", "z", "i2"), ("elsewhere", member, "i2")):
        rejoin(story, ticket, claims, instance=instance)
    assert story.answer("zombie") == "FENCED_INSTANCE_ID"
    assert story.answer("stranger") == story.answer("elsewhere") == "UNKNOWN_MEMBER_ID"
    assert story.answers["zombie"].member_id == story.answers["stranger"].member_id == ""
    assert set(story.consumer_group().members) == {"k1", member}
    assert rejoin(story, "itself", member, instance="i1").error_code == 0
