"""Fetches that do not wait, however long they could, and those that do."""

import pytest

from odradek.reactor.pending import Pending
from replica_kit import SimPlane

WAIT = {"max_wait_ms": 60_000}


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic("empty")
    made.create_topic("full", leader_epoch=3)
    made.produce("a", topic="full")
    return made


def is_answered_at_once(plane, *wanted, **fields):
    request = plane.fetch_request(*wanted, **{**WAIT, **fields})
    return not isinstance(plane.on_reactor(lambda: plane.send(request, 12)), Pending)


@pytest.mark.contract("E74")
@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        pytest.param([("empty", 0, 0)], {"max_wait_ms": 0}, id="no wait is wanted"),
        pytest.param([("empty", 0, 0)], {"min_bytes": 0}, id="nothing is enough"),
        pytest.param([], {}, id="nothing is asked for"),
        pytest.param([("full", 0, 0)], {}, id="enough is there"),
        pytest.param([("empty", 0, 7)], {}, id="an offset that is out of range"),
        pytest.param([("nowhere", 0, 0)], {}, id="a topic that is not there"),
        pytest.param([("empty", 0, 0), ("nowhere", 0, 0)], {}, id="an error beside a partition that has nothing"),
    ],
)
def test_it_is_answered_at_once(plane, wanted, fields):
    assert is_answered_at_once(plane, *wanted, **fields)


@pytest.mark.contract("E74")
def test_a_diverging_epoch_is_told_at_once(plane):
    """The reader has records of epoch 3 up to offset 5; here it has ended at 1."""
    partition = plane.partition("full")
    partition.log.assign_epoch_start_offset(6, 1)
    partition.leader_epoch = partition.leader.epoch = partition.leader.isr.leader_epoch = 6
    plane.produce("b", topic="full")
    assert is_answered_at_once(plane, ("full", 0, 2), last_fetched_epoch=3)
    assert not is_answered_at_once(plane, ("full", 0, 2), last_fetched_epoch=6)


@pytest.mark.contract("E75")
@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        pytest.param([("empty", 0, 0)], {}, id="nothing is there"),
        pytest.param([("full", 0, 1)], {}, id="everything was read"),
        pytest.param([("full", 0, 0)], {"min_bytes": 100_000}, id="too little is there"),
    ],
)
def test_it_waits(plane, wanted, fields):
    assert not is_answered_at_once(plane, *wanted, **fields)
