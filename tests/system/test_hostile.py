"""Hostile peers against a real broker: the right error or a closed connection, and afterwards it is as it was before.

Timings are not asserted here (`python -m bench hostile` prints them). What is asserted of every attack: the server log
holds no traceback and no line above WARN, memory and descriptors are back where they were, honest clients are served.
"""

import os
import re
import resource

import pytest

import hostile_peers as hostile
from broker_process import BrokerProcess
from hostile_peers import CLOSED, MB, until

RESIDENT_MARGIN_BYTES = 40 * MB  # what the allocator keeps for itself after the worst of them
AFTER_ALL_MARGIN_BYTES = 30 * MB  # and what of it is left for good after all of them, with every handler imported
CONNECTIONS = 5000
UNSUPPORTED_VERSION, UNKNOWN_TOPIC_OR_PARTITION, POLICY_VIOLATION = 35, 3, 44


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with BrokerProcess("--data", str(path / "data"), "--log", str(path / "server.log")) as started:
        started.log = path / "server.log"
        for topic in ("t", "long"):
            hostile.create_topic(started.address, topic)
        hostile.fill(started.address, "long", 120 * MB)
        started.baseline_bytes = started.resident_bytes()
        yield started
        status, error = started.stop()
        assert (status, error) == (0, "")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def unharmed(broker):
    """Checks after the test that the broker is as it was before it."""
    before = state(broker)
    position = broker.log.stat().st_size
    yield broker.address
    until(lambda: state(broker)[0] <= before[0] + 4)
    until(lambda: state(broker)[1] <= before[1] + RESIDENT_MARGIN_BYTES)
    assert hostile.is_served(broker.address)
    assert faults(broker.log.read_bytes()[position:].decode()) == []


def state(broker):
    return len(os.listdir(f"/proc/{broker.process.pid}/fd")), broker.resident_bytes()


def faults(log):
    return [line for line in log.splitlines() if re.search(r"Traceback|\] (ERROR|FATAL) ", line)]


def test_lengths_that_no_frame_has(unharmed):
    assert set(hostile.impossible_lengths(unharmed).values()) == {CLOSED}


def test_a_tls_greeting_on_a_plain_port(unharmed):
    assert hostile.tls_greeting(unharmed) == CLOSED


def test_garbage(unharmed):
    assert set(hostile.garbage(unharmed)) == {CLOSED}


def test_unknown_apis_and_versions(unharmed):
    assert set(hostile.unknown_apis(unharmed).values()) == {CLOSED}
    answer = hostile.unknown_api_versions(unharmed)
    assert int.from_bytes(answer[4:6], "big") == UNSUPPORTED_VERSION


def test_garbage_behind_the_header_of_every_api_and_version(unharmed):
    outcomes = hostile.garbage_bodies(unharmed)
    assert len(outcomes) > 100
    assert all(outcome == CLOSED or len(outcome) >= 4 for each in outcomes.values() for outcome in each)


def test_arrays_beyond_what_the_frame_holds(unharmed):
    assert hostile.array_of_millions(unharmed) == CLOSED


def test_half_frames_at_one_byte_a_second(unharmed, broker):
    before = broker.resident_bytes()
    assert hostile.half_frames(unharmed, connections=200, seconds=2) == 200
    assert broker.resident_bytes() < before + 20 * MB, "90 MB were announced by each"


def test_five_thousand_connections(unharmed):
    assert hostile.many_connections(unharmed, CONNECTIONS) == CONNECTIONS


def test_connections_that_come_and_go(unharmed):
    assert hostile.connect_and_leave(unharmed, 2000) == 2000


def test_peers_that_read_nothing(unharmed, broker):
    before = broker.resident_bytes()
    hostile.deaf_fetchers(unharmed, "long")
    assert broker.resident_bytes() < before + RESIDENT_MARGIN_BYTES, "3,200 MB were asked for"


def test_requests_without_end_whose_answers_nobody_reads(unharmed, broker):
    before = broker.resident_bytes()
    assert hostile.pipelined(unharmed, 100_000) > 1000
    hostile.pipelined(unharmed, 10_000_000, connections=50)
    assert broker.resident_bytes() < before + RESIDENT_MARGIN_BYTES


@pytest.mark.parametrize("version", [4, 12])
def test_long_polls_whose_callers_have_left(unharmed, broker, version):
    before = broker.resident_bytes()
    hostile.abandoned_long_polls(unharmed, "t", 2000, version)
    until(lambda: broker.resident_bytes() < before + 4 * MB)


def test_a_compression_bomb(unharmed, broker):
    """64 MB are less than a broker unpacks at most: they are taken, or refused with an error, and given back."""
    assert hostile.compression_bomb(unharmed, "t") != CLOSED


def test_records_for_ten_thousand_topics_that_are_not_there(unharmed):
    assert hostile.produce_everywhere(unharmed) == {UNKNOWN_TOPIC_OR_PARTITION}


def test_metadata_of_very_many_topics(unharmed):
    assert hostile.giant_metadata(unharmed, 20_000) == {UNKNOWN_TOPIC_OR_PARTITION}
    assert hostile.giant_metadata(unharmed, 1_000_000) == CLOSED


def test_a_fetch_of_very_many_partitions(unharmed):
    assert hostile.giant_fetch(unharmed, "t", 20_000) == {0, UNKNOWN_TOPIC_OR_PARTITION}
    assert hostile.giant_fetch(unharmed, "t", 1_000_000) == CLOSED


def test_a_topic_of_two_billion_partitions(unharmed):
    assert hostile.giant_topic(unharmed) == {POLICY_VIOLATION}


def test_a_hundred_thousand_topics_at_once(unharmed):
    assert hostile.many_topics(unharmed, 20_000) == {POLICY_VIOLATION}
    assert hostile.many_topics(unharmed, 100_000) in (CLOSED, {POLICY_VIOLATION})


def test_a_produce_request_of_nothing_but_empty_partitions(unharmed, broker):
    """90 MB that would be gigabytes of objects."""
    before = broker.resident_bytes()
    assert hostile.empty_partitions(unharmed) == CLOSED
    until(lambda: broker.resident_bytes() < before + RESIDENT_MARGIN_BYTES)


def test_after_all_of_them_memory_is_about_where_it_was(broker):
    """The last test of this file; whatever ran before it has had its effect."""
    until(lambda: broker.resident_bytes() < broker.baseline_bytes + AFTER_ALL_MARGIN_BYTES)
