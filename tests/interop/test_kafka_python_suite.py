"""kafka-python's own integration tests reach against our broker what they reach against Apache Kafka."""

import sys
from pathlib import Path

import kafka_python_suite
import pytest
from fetching import Unavailable

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from suites import free_address, properties

from odradek.testing import Broker

# By release: what the clients are told of the broker, and what Apache Kafka 3.3.2 and 4.3.0 score.
KAFKA = {"3.3": ("3.3.1", 51, 5), "4.3": ("4.3", 55, 1)}


@pytest.fixture(scope="module", autouse=True)
def suite():
    try:
        return kafka_python_suite.directory()
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("release", KAFKA)
def test_as_many_pass_as_with_kafka(release, tmp_path):
    kafka_version, passed, skipped = KAFKA[release]
    address, log = free_address(), tmp_path / "server.log"
    with Broker(release, listen=address, config=properties(release, address), log=log):
        outcome = kafka_python_suite.run(address, kafka_version, tmp_path)
    assert outcome == (passed, skipped, []), (tmp_path / "suite.log").read_text()[-5000:]
    assert [line for line in log.read_text().splitlines() if " ERROR " in line or "Traceback" in line] == []
