"""States, pauses and addresses of nodes, with a clock that is a number."""

import pytest

from odradek.channel.backoff import Backoff
from odradek.channel.connection_states import ConnectionStates, State
from odradek.channel.node import NO_NODE, Node, coordinator_connection
from odradek.protocol.errors import SaslAuthenticationFailed

NODE = Node(1, "host", 9092)


class Middle:
    """Chance that is none: the middle of every range."""

    def __init__(self, fraction=0.5):
        self.value = fraction

    def fraction(self):
        return self.value


def made(fraction=0.5):
    chance = Middle(fraction)
    return ConnectionStates(Backoff(50, 1000, chance), Backoff(10_000, 30_000, chance))


def fail(states, now_ms):
    states.connecting(NODE, now_ms)
    states.disconnected(1, now_ms)


def test_a_node_that_nobody_has_tried_may_be_connected_to_at_once():
    states = made()
    assert states.state(1) is State.DISCONNECTED
    assert states.can_connect(1, 0)
    assert states.connection_delay_ms(1, 0) == 0
    assert not states.is_ready(1, 0)
    assert not states.is_blacked_out(1, 0)


@pytest.mark.contract("A28", "C2")
def test_each_failure_doubles_the_pause_and_being_ready_forgets_them():
    states = made()
    pauses = []
    for _ in range(7):
        fail(states, 0)
        pauses.append(states.connection_delay_ms(1, 0))
    assert pauses == [50, 100, 200, 400, 800, 1000, 1000]
    states.connecting(NODE, 5000)
    states.checking_api_versions(1)
    states.ready(1)
    states.disconnected(1, 6000)
    assert states.connection_delay_ms(1, 6000) == 50


@pytest.mark.parametrize(("fraction", "pauses"), [(0.0, [40, 80, 160]), (0.999, [59, 119, 239])])
def test_chance_moves_a_pause_by_a_fifth(fraction, pauses):
    states = made(fraction)
    for pause in pauses:
        fail(states, 0)
        assert states.connection_delay_ms(1, 0) == pause


def test_a_pause_never_passes_its_limit():
    assert Backoff(50, 1000, Middle(0.999)).after(20) == 1000
    assert Backoff(50, 20, Middle(0.999)).after(20) == 50  # a limit below the first pause is none


@pytest.mark.contract("A30", "C2")
def test_each_failed_set_up_gets_twice_the_time_and_a_connection_forgets_that():
    states = made()
    limits = []
    for _ in range(4):
        states.connecting(NODE, 0)
        limits.append(states.next_setup_deadline_ms())
        states.disconnected(1, 0)
    assert limits == [10_000, 20_000, 30_000, 30_000]
    states.connecting(NODE, 0)
    states.checking_api_versions(1)
    assert states.next_setup_deadline_ms() is None
    states.disconnected(1, 0)
    states.connecting(NODE, 0)
    assert states.next_setup_deadline_ms() == 10_000


def test_a_set_up_is_late_at_its_deadline_and_not_before():
    states = made()
    states.connecting(NODE, 100)
    assert states.connection_delay_ms(1, 100) == 10_000
    assert states.setups_expired(10_099) == []
    assert states.setups_expired(10_100) == [1]


def test_addresses_are_taken_one_after_the_other_then_resolved_again():
    states = made()
    known = states.connecting(NODE, 0)
    assert known.addresses == []
    known.addresses = [("a", 1), ("b", 1)]
    states.disconnected(1, 0)
    assert states.connecting(NODE, 0).addresses == [("b", 1)]
    states.disconnected(1, 0)
    assert states.connecting(NODE, 0).addresses == []


def test_after_a_connection_was_up_all_addresses_are_forgotten():
    states = made()
    states.connecting(NODE, 0).addresses = [("a", 1), ("b", 1)]
    states.checking_api_versions(1)
    states.ready(1)
    states.disconnected(1, 0)
    assert states.connecting(NODE, 0).addresses == []


def test_a_node_that_has_moved_begins_anew():
    states = made()
    fail(states, 0)
    fail(states, 0)
    moved = states.connecting(Node(1, "elsewhere", 9092), 0)
    states.disconnected(1, 0)
    assert moved.backoff_ms == 50


def test_refused_credentials_are_kept_until_they_are_taken():
    states = made()
    states.connecting(NODE, 0)
    error = SaslAuthenticationFailed("no")
    states.authentication_failed(1, 0, error)
    assert states.state(1) is State.AUTHENTICATION_FAILED
    assert states.get(1).authentication_error is error
    assert states.is_blacked_out(1, 49)
    assert states.can_connect(1, 50)
    states.connecting(NODE, 50)
    states.checking_api_versions(1)
    states.ready(1)
    assert states.get(1).authentication_error is None


@pytest.mark.contract("C15")
def test_a_throttled_node_is_not_ready_and_says_for_how_long():
    states = made()
    states.connecting(NODE, 0)
    states.ready(1)
    states.throttle(1, 300)
    states.throttle(1, 200)  # a shorter one changes nothing
    assert not states.is_ready(1, 299)
    assert states.is_ready(1, 300)
    assert states.poll_delay_ms(1, 100) == 200
    assert states.poll_delay_ms(1, 300) is None
    states.disconnected(1, 100)
    assert states.throttle_delay_ms(1, 100) == 0


@pytest.mark.contract("A42")
def test_there_is_a_node_that_stands_for_none():
    assert (NO_NODE.id, NO_NODE.host, NO_NODE.port) == (-1, "", -1)
    assert NO_NODE.is_empty
    assert not NODE.is_empty
    assert str(Node(3, "h", 1, "r")) == "node 3 at h:1 (rack r)"


def test_a_coordinator_has_a_connection_of_its_own():
    assert coordinator_connection(NODE) == Node(2**31 - 2, "host", 9092)
