"""One Spark session per process, one broker per module. Spark's own Kafka connector is on the session's class path."""

import itertools
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))

import connector
from fetching import Unavailable

import spark_kit
from odradek.testing import Broker

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def _connector():
    """Its jars, or why there are none."""
    try:
        return connector.jars(), None
    except Unavailable as reason:
        return [], reason


@pytest.fixture(scope="session")
def connector_jars(_connector):
    """For tests that need `format("kafka")`."""
    jars, reason = _connector
    if reason is not None:
        pytest.skip(str(reason))
    return jars


@pytest.fixture(scope="session")
def spark(tmp_path_factory, _connector):
    running = spark_kit.start(tmp_path_factory.mktemp("spark"), **{"spark.jars": ",".join(_connector[0])})
    yield running
    running.stop()


@pytest.fixture(scope="module")
def broker():
    """Which keeps records however old they say they are."""
    with Broker(config={"auto.create.topics.enable": "false", "log.retention.ms": -1}) as running:
        yield running


@pytest.fixture
def new_topic(broker):
    """Makes a topic of a name that no other test has, and returns the name."""

    def make(partitions=1, **config):
        name = f"topic-{next(_numbers)}"
        named = {key.replace("_", "."): value for key, value in config.items()}
        broker.create_topic(name, partitions=partitions, config=named)
        return name

    return make


@pytest.fixture
def admin(broker):
    with spark_kit.admin(broker.bootstrap) as client:
        yield client
