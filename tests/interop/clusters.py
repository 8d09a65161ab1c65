"""The whole brokers that a suite of a client runs against: ours at both releases, Apache Kafka of the same two."""

import contextlib

import kafka_tools
import pytest
from kafka_server import kafka
from test_kafka_on_our_dir import Directory

from started import broker

KINDS = ["ours 3.3", "ours 4.3", "kafka 3.3", "kafka 4.3"]
KAFKA = {"3.3": "3.3.2", "4.3": "4.3.0"}
KEEPS = {"log.retention.ms": "-1"}  # records that are years old, as tests write them, go half a minute after the start


@contextlib.contextmanager
def cluster_of(kind, path, properties=None):
    """The address of a broker of one of the KINDS, with these configs besides; `path` is where it may put its dir."""
    who, release = kind.split()
    properties = {**KEEPS, **(properties or {})}
    with _ours(release, properties) if who == "ours" else _apache(release, path, properties) as bootstrap:
        yield bootstrap


@contextlib.contextmanager
def _ours(release, properties):
    with broker(release, properties=properties) as (host, port):
        yield f"{host}:{port}"


@contextlib.contextmanager
def _apache(release, path, properties):
    try:
        kafka_tools.jars(KAFKA[release])
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))
    directory = Directory(path, release)
    with directory.properties.open("a") as file:
        file.writelines(f"{name}={value}\n" for name, value in (properties or {}).items())
    with broker(release, config=directory.properties, data=directory.data):
        pass  # it formats the directory
    with kafka(KAFKA[release], directory.properties, directory.ports[0]):
        yield f"127.0.0.1:{directory.ports[0]}"
