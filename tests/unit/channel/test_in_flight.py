"""Requests on their way, in order."""

from collections import deque

import pytest

from odradek.channel.in_flight import InFlightRequest, InFlightRequests
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest
from odradek.reactor.pending import Pending


def request(number, timeout_ms=100, expects_response=True):
    pending = Pending(deque())
    return InFlightRequest(number, HeartbeatRequest(), 4, 1000, timeout_ms, pending, expects_response=expects_response)


@pytest.mark.contract("C12")
def test_the_oldest_is_answered_first():
    flights = InFlightRequests(5)
    sent = [request(number) for number in range(3)]
    for each in sent:
        flights.add(1, each)
    assert flights.oldest(1) is sent[0]
    assert [flights.complete_oldest(1) for _ in sent] == sent
    assert flights.oldest(1) is None
    assert flights.total == 0
    assert (sent[0].api_key, sent[0].version, sent[0].sent_ms, sent[0].deadline_ms) == (12, 4, 1000, 1100)


@pytest.mark.contract("C13")
def test_the_limit_is_by_node():
    flights = InFlightRequests(2)
    for number in range(2):
        flights.add(1, request(number))
    assert not flights.has_room(1)
    assert flights.has_room(2)
    assert (flights.count(1), flights.count(2), flights.total) == (2, 0, 2)


def test_only_those_without_an_answer_are_over_when_all_has_gone_out():
    flights = InFlightRequests(5)
    sent = [request(0), request(1, expects_response=False), request(2)]
    for each in sent:
        flights.add(1, each)
    assert flights.complete_sent(1) == [sent[1]]
    assert flights.oldest(1) is sent[0]
    assert flights.total == 2
    assert flights.complete_sent(2) == []


def test_any_late_request_makes_its_node_late():
    flights = InFlightRequests(5)
    flights.add(1, request(0, timeout_ms=500))
    flights.add(1, request(1, timeout_ms=100))
    flights.add(2, request(2, timeout_ms=300))
    assert flights.next_deadline_ms() == 1100
    assert flights.expired(1099) == []
    assert flights.expired(1100) == [1]
    assert len(flights.clear(1)) == 2
    assert flights.next_deadline_ms() == 1300
    assert flights.total == 1
