"""kafka-python's own tests of its producer and consumer, run on our clients through the module that has its API."""

import sys
from pathlib import Path

import kafka_python_suite
import pytest
from fetching import Unavailable

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from suites import free_address, properties

from odradek.testing import Broker

# They look at what is inside of kafka-python: its connections, heartbeats and codecs, the version that it has guessed.
INSIDE = {
    "test_consumer",
    "test_group",
    "test_heartbeat_thread",
    "test_kafka_consumer_unsupported_encoding",
    "test_kafka_version_infer",
}
PASSED = {"3.3": 28, "4.3": 28}
KAFKA_VERSION = {"3.3": "3.3.1", "4.3": "4.3"}


@pytest.fixture(scope="module", autouse=True)
def suite():
    try:
        return kafka_python_suite.directory()
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("release", PASSED)
def test_all_pass_that_do_not_look_inside(release, tmp_path):
    address = free_address()
    with Broker(release, listen=address, config=properties(release, address)):
        outcome = kafka_python_suite.run_on_our_clients(address, KAFKA_VERSION[release], tmp_path)
    failed = {name.rpartition("::")[2] for name in outcome.failed}
    assert (failed, outcome.passed) == (INSIDE, PASSED[release]), (tmp_path / "suite.log").read_text()[-5000:]
