"""Memory after a rush of connections: it goes back, and a second rush leaves no more than the first.

Python's allocator gives a megabyte back only when nothing at all is left in it, so what is asserted is not the size of
before, but that little is kept and that it does not add up.
"""

import resource

import pytest

import hostile_peers as hostile
from broker_process import BrokerProcess
from hostile_peers import MB, until

CONNECTIONS = 4000
KEPT_BYTES_MAX = 9 * MB  # of some 10 MB at the height
ADDED_BYTES_MAX = 3 * MB
SECONDS_MAX = 60


@pytest.fixture
def broker(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with BrokerProcess("--data", str(tmp_path / "data"), "--log", str(tmp_path / "server.log")) as started:
        hostile.garbage_bodies(started.address)  # so that every handler has been imported
        hostile.many_connections(started.address, 10)
        yield started
        assert started.stop() == (0, "")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def rush(broker):
    assert hostile.many_connections(broker.address, CONNECTIONS) == CONNECTIONS
    hostile.connect_and_leave(broker.address, CONNECTIONS)


def test_a_second_rush_of_connections_takes_no_more_than_the_first(broker):
    before = broker.resident_bytes()
    rush(broker)
    until(lambda: broker.resident_bytes() <= before + KEPT_BYTES_MAX, SECONDS_MAX)
    after_one = broker.resident_bytes()
    for _ in range(2):
        rush(broker)
    until(lambda: broker.resident_bytes() <= after_one + ADDED_BYTES_MAX, SECONDS_MAX)


def test_answers_that_nobody_took_are_not_kept(broker):
    before = broker.resident_bytes()
    hostile.pipelined(broker.address, 10**7, 100)
    until(lambda: broker.resident_bytes() <= before + KEPT_BYTES_MAX, SECONDS_MAX)
