"""A member of a classic group: every transition of its table, and every error to every request."""

import pytest

from member_kit import HEARTBEAT_MS, MAX_POLL_MS, SESSION_MS, classic, joined, stable, synced
from odradek.client.consumer.subscription import decode_assignment, decode_subscription, encode_subscription, owned_in
from odradek.protocol import errors
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupResponseMember
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k13_leave_group import LeaveGroupRequest, LeaveGroupResponse
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)


def beaten(error=errors.KafkaError):
    return HeartbeatResponse(error_code=0 if error is errors.KafkaError else error.code)


def said(request):
    return decode_subscription(bytes(request.protocols[0].metadata))


# Joining


def test_it_joins_syncs_and_owns():
    story = classic()
    request = story.answer(joined(generation=4))
    assert isinstance(request, JoinGroupRequest) and request.member_id == "" and said(request).topics == ["t"]
    request = story.answer(synced(T0))
    assert (request.member_id, request.generation_id, request.protocol_name) == ("me", 4, "range")
    assert request.assignments == []
    assert story.do("assign") == [[T0]]
    assert story.core.owned == {T0} and story.core.identity()[:2] == ("me", 4)


@pytest.mark.contract("B19")
def test_it_names_its_assignors_in_the_order_of_its_preference():
    for names in (["range", "cooperative-sticky"], ["cooperative-sticky", "range", "roundrobin"]):
        request = classic(*names).take(JoinGroupRequest).request
        assert [each.name for each in request.protocols] == names


def test_it_comes_again_at_once_with_the_id_that_it_is_given():
    story = classic()
    story.answer(joined("given", error=errors.MemberIdRequired.code))
    assert story.take(JoinGroupRequest).request.member_id == "given"


def test_a_static_member_says_its_instance_id_everywhere():
    story = classic(instance="i")
    assert story.answer(joined()).group_instance_id == "i"
    assert story.answer(synced(T0)).group_instance_id == "i"
    story.do("assign")
    story.pass_ms(HEARTBEAT_MS)
    assert story.take(HeartbeatRequest).request.group_instance_id == "i"
    assert story.core.identity().instance_id == "i"


@pytest.mark.contract("B92")
def test_the_leader_deals_out_what_the_metadata_knows():
    story = classic()
    members = [JoinGroupResponseMember(member_id=name, metadata=encode_subscription(["t"])) for name in ("me", "you")]
    story.answer(joined(leader="me", members=members))
    request = story.take(SyncGroupRequest).request
    assert {each.member_id: decode_assignment(each.assignment) for each in request.assignments} == {
        "me": {T0},
        "you": {T1},
    }


def test_the_leader_deals_partitions_to_members_in_a_rack_with_a_replica():
    story = classic()
    story.core.metadata({"t": 2}, {T0: frozenset({"far"}), T1: frozenset({"near"})})
    racks = {"me": "near", "you": "far"}
    members = [
        JoinGroupResponseMember(member_id=name, metadata=encode_subscription(["t"], rack_id=rack))
        for name, rack in racks.items()
    ]
    story.answer(joined(leader="me", members=members))
    request = story.take(SyncGroupRequest).request
    assert {each.member_id: decode_assignment(each.assignment) for each in request.assignments} == {
        "me": {T1},
        "you": {T0},
    }


def test_one_with_an_unreadable_subscription_gets_nothing_and_disturbs_nobody():
    story = classic()
    good = JoinGroupResponseMember(member_id="me", metadata=encode_subscription(["t"]))
    members = [good, *(JoinGroupResponseMember(member_id=f"bad{n}", metadata=b"\0" * n) for n in range(4))]
    story.answer(joined(leader="me", members=members))
    request = story.take(SyncGroupRequest).request
    assert decode_assignment(request.assignments[0].assignment) == {T0, T1}


def test_an_unreadable_assignment_is_the_end():
    story = classic()
    story.answer(joined())
    response = synced()
    response.assignment = b"\0\1\0\0\0\7"
    story.answer(response)
    assert isinstance(story.core.error, errors.InconsistentGroupProtocol)


def test_a_static_leader_that_comes_back_deals_out_nothing_but_watches_the_topics():
    story = classic(instance="i")
    members = [JoinGroupResponseMember(member_id="me", metadata=encode_subscription(["t", "u"]))]
    story.answer(joined(leader="me", members=members, skip_assignment=True))
    assert story.answer(synced(T0)).assignments == []
    story.do("assign")
    assert story.core.watched_topics == {"t", "u"}
    story.core.metadata({"t": 2, "u": 9})
    story.pump()
    assert story.do("revoke") == [[T0]]
    story.take(JoinGroupRequest)


# Rebalances


@pytest.mark.contract("B89")
def test_an_eager_member_gives_everything_back_before_it_joins():
    story = stable(classic(), T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(beaten(errors.RebalanceInProgress))
    assert story.sent == [] and story.core.owned == {T0}, "it has not given back yet"
    assert story.core.identity() is not None, "and may still commit"
    story.do("revoke")
    assert owned_in(said(story.take(JoinGroupRequest).request)) == []
    assert story.core.owned == set() and story.core.identity() is None


@pytest.mark.contract("B86")
def test_heartbeats_go_on_while_the_consumer_gives_back():
    story = stable(classic(), T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(beaten(errors.RebalanceInProgress))
    story.pass_ms(HEARTBEAT_MS)
    story.take(HeartbeatRequest)


def test_a_cooperative_member_keeps_what_it_has_and_says_so():
    story = stable(classic("cooperative-sticky"), T0, T1, protocol="cooperative-sticky", generation=3)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(beaten(errors.RebalanceInProgress))
    assert story.core.change is None
    request = story.answer(joined(generation=4, protocol="cooperative-sticky"))
    assert owned_in(said(request)) == [T0, T1] and said(request).generation_id == 3
    story.answer(synced(T0))
    assert story.core.owned == {T0, T1}, "until the consumer has given it back"
    assert story.do("revoke") == [[T1]]
    request = story.take(JoinGroupRequest).request
    assert owned_in(said(request)) == [T0] and said(request).generation_id == 4, "the second round"


@pytest.mark.contract("B89")
def test_a_cooperative_member_gives_back_before_it_takes():
    story = stable(classic("cooperative-sticky"), T0, protocol="cooperative-sticky")
    story.pass_ms(HEARTBEAT_MS)
    story.answer(beaten(errors.RebalanceInProgress))
    story.answer(joined(generation=2, protocol="cooperative-sticky"))
    story.answer(synced(T1))
    assert story.do("revoke", "assign") == [[T0], [T1]]
    assert story.core.owned == {T1}


def test_it_is_eager_unless_all_its_assignors_are_cooperative():
    assert not classic("range", "cooperative-sticky").core.is_cooperative
    assert classic("cooperative-sticky").core.is_cooperative


@pytest.mark.parametrize("phase", [JoinGroupRequest, SyncGroupRequest])
@pytest.mark.parametrize("is_lost", [True, False])
def test_one_that_was_overtaken_gives_up_what_it_kept(phase, is_lost):
    """A claim of an older generation counts for less: somebody else may have been given the same (G1)."""
    story = stable(classic("cooperative-sticky"), T0, protocol="cooperative-sticky")
    story.pass_ms(HEARTBEAT_MS)
    story.answer(beaten(errors.RebalanceInProgress))
    if phase is SyncGroupRequest:
        story.answer(joined(generation=2, protocol="cooperative-sticky"))
    code = errors.RebalanceInProgress.code
    refusal = joined(error=code) if phase is JoinGroupRequest else synced(error=code)
    story.lose(phase) if is_lost else story.answer(refusal, phase)
    assert story.assurance.assured(story.now_ms) == set()
    story.do("lose")
    story.pass_ms(100)
    request = story.take(JoinGroupRequest).request
    assert request.member_id == "me" and owned_in(said(request)) == []


def test_another_subscription_is_a_reason_to_join_again():
    story = stable(classic(), T0)
    story.core.subscribe(["t", "u"])
    story.pump()
    story.do("revoke")
    assert said(story.answer(joined(generation=2))).topics == ["t", "u"]
    story.answer(synced(T0, U0))
    story.do("assign")
    story.pass_ms(2 * HEARTBEAT_MS)
    assert [type(send.request) for send in story.sent] == [HeartbeatRequest], "once is enough"


def test_a_subscription_that_changes_while_it_joins_is_not_forgotten():
    story = classic()
    story.core.subscribe(["u"])
    stable(story)
    assert said(story.take(JoinGroupRequest).request).topics == ["u"]


@pytest.mark.contract("B43", "B92")
def test_a_leader_joins_again_when_the_partitions_change_and_a_follower_does_not():
    members = [JoinGroupResponseMember(member_id="me", metadata=encode_subscription(["t"]))]
    leads, follows = classic(), classic()
    leads.answer(joined(leader="me", members=members))
    follows.answer(joined())
    for story in (leads, follows):
        story.answer(synced(T0))
        story.do("assign")
        story.core.metadata({"t": 3, "other": 1})
        story.pump()
    assert leads.core.change is not None and follows.core.change is None
    leads.core.metadata({"t": 3, "other": 2})


# Errors

EVERY = [
    ("join", JoinGroupRequest, lambda error: joined(error=error.code)),
    ("sync", SyncGroupRequest, lambda error: synced(error=error.code)),
    ("heartbeat", HeartbeatRequest, beaten),
]


def at(phase):
    """A member whose request of this phase is out; it owns something if it can."""
    if phase == "heartbeat":
        return stable(classic(), T0).pass_ms(HEARTBEAT_MS)
    story = classic()
    story.answer(joined("me", error=errors.MemberIdRequired.code))
    if phase == "sync":
        story.answer(joined())
    return story


@pytest.mark.parametrize("error", [errors.NotCoordinator, errors.CoordinatorNotAvailable])
@pytest.mark.parametrize("phase, kind, refused", EVERY)
def test_another_coordinator_is_looked_up(phase, kind, refused, error):
    story = at(phase)
    before = story.lookups
    story.answer(refused(error), kind)
    story.pass_ms(100)
    assert story.lookups == before + 1
    story.take(HeartbeatRequest if phase == "heartbeat" else JoinGroupRequest)
    assert story.core.error is None


@pytest.mark.parametrize("phase, kind, refused", EVERY)
def test_a_coordinator_that_loads_is_asked_again(phase, kind, refused):
    story = at(phase)
    before = story.lookups
    story.answer(refused(errors.CoordinatorLoadInProgress), kind)
    assert story.sent == []
    story.pass_ms(100)
    assert story.lookups == before
    story.take(HeartbeatRequest if phase == "heartbeat" else JoinGroupRequest)


@pytest.mark.parametrize("phase, kind, refused", EVERY)
def test_an_unknown_member_begins_anew(phase, kind, refused):
    story = at(phase)
    story.answer(refused(errors.UnknownMemberId), kind)
    assert story.assurance.assured(story.now_ms) == set()
    if phase == "heartbeat":
        assert story.do("lose") == [[T0]]
    assert story.take(JoinGroupRequest).request.member_id == ""


@pytest.mark.parametrize("phase, kind, refused", EVERY[1:])
def test_one_of_another_generation_keeps_its_id(phase, kind, refused):
    story = at(phase)
    story.answer(refused(errors.IllegalGeneration), kind)
    if phase == "heartbeat":
        story.do("lose")
    assert story.take(JoinGroupRequest).request.member_id == "me"


FATAL = [
    errors.FencedInstanceId,
    errors.GroupAuthorizationFailed,
    errors.InconsistentGroupProtocol,
    errors.InvalidSessionTimeout,
    errors.InvalidGroupId,
    errors.GroupMaxSizeReached,
    errors.UnsupportedVersion,
    errors.UnknownServerError,
]


@pytest.mark.parametrize("error", FATAL)
@pytest.mark.parametrize("phase, kind, refused", EVERY)
def test_what_does_not_pass_is_the_end(phase, kind, refused, error):
    story = at(phase)
    story.answer(refused(error), kind)
    assert isinstance(story.core.error, error)
    assert story.assurance.assured(story.now_ms) == set()
    story.pass_ms(MAX_POLL_MS * 2)
    assert story.sent == [] and story.core.deadline() is None


def test_a_heartbeat_that_speaks_of_an_older_generation_changes_nothing():
    story = stable(classic(), T0)
    story.pass_ms(HEARTBEAT_MS)
    late = story.take(HeartbeatRequest)
    story.core.subscribe(["u"])
    story.pump()
    story.do("revoke")
    stable(story, U0, generation=2)
    story.core.answered(late.token, beaten(errors.IllegalGeneration), story.now_ms)
    assert story.core.owned == {U0} and story.core.identity() is not None


def test_a_lost_heartbeat_is_sent_again():
    story = stable(classic(), T0)
    story.pass_ms(HEARTBEAT_MS)
    story.lose(HeartbeatRequest)
    story.pass_ms(100)
    story.take(HeartbeatRequest)
    assert story.core.owned == {T0}


def test_an_answer_to_a_request_that_is_over_changes_nothing():
    story = classic()
    late = story.take(JoinGroupRequest)
    story.core.failed(late.token, story.now_ms)
    story.core.answered(late.token, joined(generation=7), story.now_ms)
    assert story.core.generation == -1


def test_a_session_timeout_that_is_refused_is_told_with_its_limits():
    story = classic()
    story.answer(joined(error=errors.InvalidSessionTimeout.code), JoinGroupRequest)
    told = str(story.core.error)
    assert f"session.timeout.ms is {SESSION_MS}" in told
    assert "group.min.session.timeout.ms, by default 6000," in told and "1800000" in told


# Time


def test_what_is_surely_its_own_ends_with_its_session():
    """Counted from when it sent the last request that was answered: the coordinator counts from later."""
    story = stable(classic(), T0)
    story.pass_ms(HEARTBEAT_MS)
    sent_ms = story.now_ms
    story.now_ms += 500
    story.answer(beaten())
    assert story.assurance.assured(sent_ms + SESSION_MS - 1) == {T0}
    assert story.assurance.assured(sent_ms + SESSION_MS) == set()


def test_a_rebalance_that_it_was_told_of_takes_no_longer_than_its_rebalance_timeout():
    story = stable(classic(), T0)
    quiet_ms = story.now_ms
    while story.now_ms < quiet_ms + MAX_POLL_MS - HEARTBEAT_MS:
        story.core.polled(story.now_ms)
        story.pass_ms(HEARTBEAT_MS)
        story.answer(beaten(errors.RebalanceInProgress), HeartbeatRequest)
    assert story.assurance.assured(quiet_ms + MAX_POLL_MS - 1) == {T0}
    assert story.assurance.assured(quiet_ms + MAX_POLL_MS) == set()


@pytest.mark.contract("B87")
def test_one_whose_application_does_not_poll_leaves_and_joins_again_at_a_poll():
    story = stable(classic(), T0)
    for _ in range(MAX_POLL_MS // HEARTBEAT_MS - 1):
        story.pass_ms(HEARTBEAT_MS)
        story.answer(beaten(), HeartbeatRequest)
    story.pass_ms(HEARTBEAT_MS)
    assert story.take(LeaveGroupRequest).request.members[0].member_id == "me"
    story.do("lose")
    story.pass_ms(MAX_POLL_MS)
    assert [send for send in story.sent if isinstance(send.request, JoinGroupRequest)] == []
    story.core.polled(story.now_ms)
    story.pump()
    assert story.take(JoinGroupRequest).request.member_id == ""


def test_leaving_gives_back_and_says_so():
    story = stable(classic(), T0)
    story.core.leave(story.now_ms)
    story.pump()
    assert story.sent == []
    story.do("revoke")
    assert story.take(LeaveGroupRequest).request.members[0].member_id == "me"
    story.pass_ms(MAX_POLL_MS)
    assert story.sent == [] and story.core.state == "LEFT"


def test_a_static_member_does_not_say_that_it_goes():
    story = stable(classic(instance="i"), T0)
    story.core.leave(story.now_ms)
    story.do("revoke")
    assert story.sent == [] and story.core.state == "LEFT"


def test_a_task_that_was_overtaken_is_of_no_effect():
    story = stable(classic(), T0)
    story.pass_ms(HEARTBEAT_MS)
    story.answer(beaten(errors.RebalanceInProgress))
    revoke = story.core.change
    story.pass_ms(HEARTBEAT_MS)
    story.answer(beaten(errors.UnknownMemberId), HeartbeatRequest)
    story.core.done(revoke, story.now_ms)
    assert story.core.change.kind == "lose" and story.core.owned == {T0}


def test_who_leaves_before_it_knows_its_id_leaves_when_it_is_told():
    """Else the group would wait for the member that was given the id, as long as a session lasts."""
    story = classic()
    story.core.leave(story.now_ms)
    story.pump()
    assert not story.core.has_said_goodbye
    story.answer(joined(member="named", error=errors.MemberIdRequired.code), JoinGroupRequest)
    leave = story.take(LeaveGroupRequest)
    assert [member.member_id for member in leave.request.members] == ["named"]
    story.core.answered(leave.token, LeaveGroupResponse(), story.now_ms)
    assert story.core.has_said_goodbye and story.core.state == "LEFT" and story.sent == []
