"""What an answer says of the leader of a partition that is not led here."""

from types import SimpleNamespace

import pytest

from handler_kit import LISTENER, broker
from odradek.handlers.leader_hints import LeaderHints
from replica_kit import SimPlane


@pytest.fixture
def plane():
    made = SimPlane()
    made.apply([broker(2, rack="r")])
    made.create_topic(replicas=(2,), leader=2, leader_epoch=4)
    return made


@pytest.fixture
def hints(plane):
    return LeaderHints(SimpleNamespace(services=plane.services, listener=LISTENER))


def test_a_leader_is_told_by_name_and_by_id_and_its_endpoint_once(plane, hints):
    for topic in ("t", bytes(plane.topic_ids["t"])):
        assert hints.leader_of(topic, 0) == (2, 4)
    assert hints.endpoints() == [(2, "host2", 9002, "r")]


def test_what_nobody_knows_has_no_leader_and_no_endpoint(plane, hints):
    """A topic may be gone between the refusal and the hint."""
    for place in (("t", 9), ("other", 0), (b"?" * 16, 0)):
        assert hints.leader_of(*place) == (-1, -1)
    assert hints.endpoints() == []
