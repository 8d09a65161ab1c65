"""The straight way of a fetch says what the long one says, byte for byte, and counts what it counts."""

from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from log_kit import NOW, append_as_leader, batch, marker
from odradek.handlers import k01_fetch
from odradek.log.append import COORDINATOR
from odradek.metrics.registry import Registry
from odradek.reactor.file_range import FileRange
from odradek.reactor.pending import Pending
from odradek.replica.roles import DIR_FAILED
from odradek.security import acl
from replica_kit import SimPlane

LARGE = b"x" * (200 << 10)  # stays in its file


class Rights:
    def __init__(self, is_allowed):
        self.is_allowed = is_allowed

    def authorize(self, call, operation, resource_type, name):
        assert (operation, resource_type) == (acl.READ, acl.TOPIC)
        return self.is_allowed


@pytest.fixture(scope="module")
def plane():
    """Five topics: with transactions, with a follower that lags, led elsewhere, offline, empty."""
    made = SimPlane()
    for name, fields in (
        ("t", {"leader_epoch": 3}),
        ("lagging", {"replicas": (1, 2)}),
        ("elsewhere", {"replicas": (1, 2), "leader": 2}),
        ("offline", {}),
        ("empty", {}),
    ):
        made.create_topic(name, **fields)
    made.on_reactor(lambda: fill(made))
    made.produce("a", "b", topic="lagging", acks=1)
    made.on_reactor(lambda: made.partition("offline").go_offline(DIR_FAILED))
    return made


def fill(plane):
    """Offsets 0 to 8: data, an aborted and a committed transaction, much data, and one that is still open."""
    log = plane.log("t")
    append_as_leader(log, batch(b"a", b"b"), 3, NOW)
    append_as_leader(log, batch(b"c", producer=7, transactional=True), 3, NOW)
    append_as_leader(log, marker(7, commit=False), 3, NOW, origin=COORDINATOR)
    append_as_leader(log, batch(b"d", producer=8, transactional=True), 3, NOW)
    append_as_leader(log, marker(8, commit=True), 3, NOW, origin=COORDINATOR)
    append_as_leader(log, batch(LARGE), 3, NOW)
    append_as_leader(log, batch(b"e", producer=9, transactional=True), 3, NOW)
    append_as_leader(log, batch(b"f"), 3, NOW)
    plane.partition("t").leader.log_end_moved()


bytes_wanted = st.sampled_from([-1, 0, 1, 80, 150, 1000, 1 << 20, 1 << 24])
asked = st.fixed_dictionaries(
    {
        "topic": st.sampled_from(["t"] * 6 + ["lagging", "elsewhere", "offline", "empty", "nowhere"]),
        "index": st.sampled_from([0] * 8 + [1, -1]),
        "offset": st.integers(-1, 10),
        "room": bytes_wanted,
        "max_bytes": bytes_wanted,
        "min_bytes": st.sampled_from([-1, 0, 1, 100, 1 << 21]),
        "max_wait_ms": st.sampled_from([0, 0, 1]),
        "isolation_level": st.sampled_from([0, 1, 1, 2]),
        "version": st.integers(10, 18),
    },
    optional={
        "current_leader_epoch": st.sampled_from([-1, 0, 2, 3, 4]),
        "last_fetched_epoch": st.sampled_from([-1, 0, 3]),
        "session": st.sampled_from([(0, -1), (0, 0), (5, -1), (5, 1)]),
    },
)


def answer(plane, request, version):
    """Sessions get an id at random: it stands in another place in every answer."""
    answered = plane.on_reactor(lambda: plane.send(request, version))
    parts = plane.wait(answered) if isinstance(answered, Pending) else answered
    is_file = [isinstance(part, FileRange) for part in parts]
    response = plane.decode(parts, request, version)
    has_session, response.session_id = response.session_id > 0, 0
    return is_file, has_session, response


def counts(plane):
    topics = plane.replicas.topics
    codes = plane.services.error_counts
    codes._hand_in_plain()
    told = {key: {code: each for code, each in found.items() if each} for key, found in codes._by_key.items()}
    codes.hand_in(Registry(lambda: 0))
    per_topic = [counter.count for topic in topics.values() for counter in topic.counters._counts()]
    metrics = plane.replicas.metrics
    return told, [*per_topic, metrics.failed_fetches.count, metrics.all_topics.fetches.count]


def outcome(plane, request, version):
    """The answer, which error codes it counted, and by how much it moved the other counters."""
    _, before = counts(plane)
    answered = answer(plane, request, version)
    told, after = counts(plane)
    assert not plane.unexpected
    users = [segment.file and segment.file._users for segment in plane.log("t").segments]
    return answered, told, [now - was for now, was in zip(after, before, strict=True)], users


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked, st.sampled_from([None, None, True, False]))
def test_the_straight_way_says_what_the_long_one_says(plane, wanted, is_allowed):
    plane.unexpected.clear()
    plane.services.authorizer = None if is_allowed is None else Rights(is_allowed)
    wanted = dict(wanted)
    version = wanted.pop("version")
    if version < 12:
        wanted.pop("last_fetched_epoch", None)
    place = [wanted.pop(key) for key in ("topic", "index", "offset", "room")]
    request = plane.fetch_request(tuple(place), version=version, **wanted)
    fast = outcome(plane, request, version)
    with mock.patch.object(k01_fetch, "fetch_at_once", lambda *_: None):
        slow = outcome(plane, request, version)
    assert fast == slow
