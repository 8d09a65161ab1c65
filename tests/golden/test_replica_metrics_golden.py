"""The data plane has the metrics of its parts that a 4.3.0 has, under its names."""

import gzip
import json
from pathlib import Path

import pytest

from replica_kit import SimPlane

DATA = Path(__file__).parent / "data" / "metrics.json.gz"
PARTS = (
    "kafka.server:type=BrokerTopicMetrics,",
    "kafka.server:type=ReplicaManager,",
    "kafka.server:type=FetchSessionCache,",
    "kafka.server:type=DelayedFetchMetrics,",
    "kafka.cluster:type=Partition,",
)
# Of parts that are not there: share groups. Followers have their own counters when there are some.
ABSENT = ("Share",)


def catalogue():
    with gzip.open(DATA) as file:
        names = [bean["name"] for bean in json.load(file)["4.3.0"]]
    return sorted(name for name in names if name.startswith(PARTS) and not any(word in name for word in ABSENT))


@pytest.fixture(scope="module")
def present():
    plane = SimPlane()
    plane.create_topic("t")
    plane.produce("a")
    found = set()
    for name, _ in plane.metrics:
        tags = "".join(
            f",{key}={{{key}}}" if key in ("topic", "partition") else f",{key}={value}" for key, value in name.tags
        )
        found.add(f"{name.group}:type={name.type},name={name.name}{tags}")
    return found


@pytest.mark.parametrize("name", catalogue())
def test_is_there(present, name):
    assert name in present
