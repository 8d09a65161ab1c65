"""One Spark session per process, one broker per module."""

import itertools

import pytest

import spark_kit
from odradek.testing import Broker

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    running = spark_kit.start(tmp_path_factory.mktemp("spark"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"num.partitions": 1, "auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.fixture
def new_topic(broker):
    """Makes a topic of a name that no other test has, and returns the name."""

    def make(partitions=1, **config):
        name = f"topic-{next(_numbers)}"
        broker.create_topic(
            name, partitions=partitions, config={key.replace("_", "."): value for key, value in config.items()}
        )
        return name

    return make


@pytest.fixture
def admin(broker):
    with spark_kit.admin(broker.bootstrap) as client:
        yield client
