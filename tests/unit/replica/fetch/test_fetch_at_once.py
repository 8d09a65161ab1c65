"""The straight way of a fetch says what the long way says, byte for byte, or steps aside and has changed nothing."""

from itertools import product

import pytest

from log_kit import NOW, append_as_leader, batch, marker
from odradek.log.append import COORDINATOR
from odradek.reactor.file_range import FileRange
from odradek.replica.fetch.at_once import VERSION_MIN, fetch_at_once
from odradek.replica.fetch.in_session import fetch_in_session
from odradek.replica.fetch.parameters import FetchParameters
from replica_kit import SimPlane


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic("t", 2)
    made.produce("a", "b")
    log = made.partition("t").log
    append_as_leader(log, batch(b"c", producer=7, sequence=0, transactional=True), 0, NOW)
    append_as_leader(log, marker(7, commit=False), 0, NOW, origin=COORDINATOR)
    made.produce("d" * 400)
    return made


def parts(response, version):
    return [_content(part) for part in response.encode(version)]


def _content(part):
    return part.disk_file.pread(part.size, part.position) if isinstance(part, FileRange) else bytes(part)


def long_way(plane, request, version):
    parameters = FetchParameters(version, -1, -1, request, plane.replicas.config.fetch_max_bytes)
    return fetch_in_session(plane.replicas, request, parameters)


@pytest.mark.parametrize("version", range(VERSION_MIN, 19))
def test_it_says_what_the_long_way_says(plane, version):
    answered = 0
    limits = (0, 1, 100, 1 << 20)
    for offset, room, max_bytes, isolation in product(range(5), limits, limits, (0, 1)):
        request = plane.fetch_request(("t", 0, offset, room), version=version, isolation_level=isolation)
        request.max_bytes = max_bytes
        response = fetch_at_once(plane.replicas, request, version)
        if response is not None:
            answered += 1
            expected = long_way(plane, request, version)
            assert parts(response, version) == parts(expected, version)
    assert answered == 5 * len(limits) ** 2 * 2


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        (("t", 0, 5), {}),  # the end
        (("t", 0, 6), {}),  # past it
        (("t", 0, -1), {}),
        (("t", 9, 0), {}),
        (("nowhere", 0, 0), {}),
        (("t", 0, 0), {"current_leader_epoch": 99}),
        (("t", 0, 0), {"last_fetched_epoch": 0}),
        (("t", 0, 0), {"session": (0, 0)}),
        (("t", 0, 0), {"session": (3, -1)}),
        (("t", 0, 0), {"min_bytes": 1 << 20, "max_wait_ms": 100}),
    ],
)
def test_what_is_unusual_goes_the_long_way(plane, wanted, fields):
    assert fetch_at_once(plane.replicas, plane.fetch_request(wanted, **fields), 12) is None


def test_two_partitions_go_the_long_way(plane):
    assert fetch_at_once(plane.replicas, plane.fetch_request(("t", 0, 0), ("t", 1, 0)), 12) is None


def test_who_would_wait_for_more_than_fits_is_answered(plane):
    """min_bytes beyond max_bytes can never come."""
    request = plane.fetch_request(("t", 0, 0), min_bytes=1 << 20, max_wait_ms=100)
    request.max_bytes = 50
    assert fetch_at_once(plane.replicas, request, 12) is not None


def test_it_counts_what_the_long_way_counts(plane):
    def counted():
        plane.replicas.topics["t"].counters.hand_in(plane.replicas.metrics.all_topics)
        pairs = (plane.replicas.topics["t"].counters, plane.replicas.metrics.all_topics)
        return [count for each in pairs for count in (each.fetches.count, each.bytes_out.count)]

    before = counted()
    assert fetch_at_once(plane.replicas, plane.fetch_request(("t", 0, 0)), 12) is not None
    once = [now - was for now, was in zip(counted(), before, strict=True)]
    long_way(plane, plane.fetch_request(("t", 0, 0)), 12)
    assert [now - was for now, was in zip(counted(), before, strict=True)] == [2 * count for count in once]
    assert once[0] == once[2] == 1 and once[1] == once[3] > 400


class ColdFile:
    """Nothing of it is in the page cache."""

    def __init__(self, file):
        self._file = file

    def pread_nowait(self, size, position):
        return None

    def __getattr__(self, name):
        return getattr(self._file, name)


def test_a_cold_range_goes_the_long_way(plane):
    file = plane.partition("t").log.active.file
    file.disk_file, warm = ColdFile(file.disk_file), file.disk_file
    assert fetch_at_once(plane.replicas, plane.fetch_request(("t", 0, 0)), 12) is None
    file.disk_file = warm
    assert fetch_at_once(plane.replicas, plane.fetch_request(("t", 0, 0)), 12) is not None
