"""The network's metrics, under the names of Kafka's catalogue."""

import gzip
import json
import re
from pathlib import Path

import pytest

from network_kit import broker_config, echo, request
from odradek.metrics import Registry
from odradek.metrics.text import prometheus_text
from odradek.network.request_metrics import RequestMetrics

CATALOGUE = Path(__file__).parents[2] / "golden" / "data" / "metrics.json.gz"


def bean(name):
    """As the catalogue writes it, with the values of its tags left out."""
    tags = "".join(f",{key}={{{key}}}" for key, _ in name.tags)
    own = f",name={name.name}" if name.name else ""
    return f"{name.group}:type={name.type}{own}{tags}", name.attribute


def catalogue(version):
    with gzip.open(CATALOGUE, "rt") as file:
        beans = json.load(file)[version]
    return {re.sub(r"request=\w+", "request={request}", entry["name"]): set(entry["attributes"]) for entry in beans}


@pytest.mark.parametrize("version", ["3.3.2", "4.3.0"])
def test_every_name_is_one_of_kafkas(sim_rig, version):
    client = sim_rig.start().connect()
    sim_rig.ask(client, request(1))
    known = catalogue(version)
    names = [name for name, _ in sim_rig.registry]
    assert len(names) > 60
    for name in names:
        found, attribute = bean(name)
        assert found in known, found
        assert not attribute or attribute in known[found], (found, attribute)


@pytest.mark.contract("J4")
def test_requests_are_counted_by_api_and_version(rig):
    client = rig.start().connect()
    rig.ask(client, b"".join(request(number, b"x" * 90) for number in range(50)), count=50)
    rig.ask(client, request(1, b"x" * 990, key=1, version=18))
    rig.ask(client, request(1, key=1, version=12))
    list(rig.registry)

    def find(name, **tags):
        return rig.registry.find("kafka.network", "RequestMetrics", name, tags)

    assert find("RequestsPerSec", request="Metadata", version="12").count == 50
    assert find("RequestsPerSec", request="Fetch", version="18").count == 1
    assert find("RequestsPerSec", request="Fetch", version="12").count == 1
    sizes = find("RequestBytes", request="Metadata")
    assert (sizes.count, sizes.minimum, sizes.maximum) == (50, 100, 100)
    assert find("RequestBytes", request="Fetch").maximum == 1000
    for time in ("LocalTimeMs", "TotalTimeMs", "RemoteTimeMs", "RequestQueueTimeMs", "ResponseSendTimeMs"):
        assert find(time, request="Metadata").count == 50
        assert find(time, request="Fetch").count == 2


@pytest.mark.contract("E56", "J4")
def test_the_time_of_a_parked_request_is_remote(sim_rig):
    pendings = []

    def serve(connection, frame):
        pendings.append((sim_rig.loop.pending(), echo(connection, frame)))
        sim_rig.node.disk.busy_us += 7000
        return pendings[-1][0]

    client = sim_rig.start(serve).connect()
    client.send(request(1))
    sim_rig.until(lambda: pendings)
    sim_rig.pass_ms(100)
    pendings[0][0].resolve(pendings[0][1])
    sim_rig.until(lambda: client.frames())
    list(sim_rig.registry)
    tags = {"request": "Metadata"}
    times = {
        name: sim_rig.registry.find("kafka.network", "RequestMetrics", name, tags)
        for name in ("LocalTimeMs", "RemoteTimeMs", "TotalTimeMs")
    }
    assert times["LocalTimeMs"].maximum == 7
    assert 90 <= times["RemoteTimeMs"].maximum <= 120
    assert times["TotalTimeMs"].maximum >= 97
    assert {histogram.count for histogram in times.values()} == {1}


def test_made_up_apis_take_no_memory():
    registry = Registry()
    metrics = RequestMetrics(registry)
    for number in range(1000):
        metrics.stats(number << 16 | 0xFFFF).count += 1
        metrics.stats((2000 + number) << 16).count += 1
    assert len(metrics.by_key_and_version) == 0
    assert len(registry) == 0


def test_bytes_and_connections_of_a_processor(rig):
    rig.start(overrides={"num.network.threads": "1"})
    client = rig.connect()
    rig.ask(client, request(1, b"x" * 90))
    tags = {"listener": "PLAINTEXT", "networkProcessor": "0"}

    def read(name):
        return rig.registry.find("kafka.server", "socket-server-metrics", name, tags).read()

    assert read("connection-count") == 1
    assert read("incoming-byte-total") == 104
    assert read("outgoing-byte-total") == 98
    client.close()
    rig.until(lambda: not rig.server.connections())
    assert read("connection-count") == 0
    assert read("connection-close-total") == 1
    assert read("incoming-byte-total") == 104


def test_a_processor_that_leaves_takes_no_count_with_it(rig):
    rig.start(overrides={"num.network.threads": "3"})
    clients = [rig.connect() for _ in range(6)]
    rig.until(lambda: len(rig.server.connections()) == 6)
    clients.pop().close()
    rig.until(lambda: len(rig.server.connections()) == 5)

    def total(name):
        tags = [{"listener": "PLAINTEXT", "networkProcessor": str(number)} for number in range(3)]
        found = [rig.registry.find("kafka.server", "socket-server-metrics", name, each) for each in tags]
        return sum(metric.read() for metric in found if metric is not None)

    names = ("connection-creation-total", "connection-close-total", "connection-count")
    before = [total(name) for name in names]
    assert before == [6, 1, 5]
    rig.server.update_config(broker_config({"num.network.threads": "1"}))
    assert [total(name) for name in names] == before


def test_a_name_for_every_connection_does_not_make_a_metric_for_every_one(rig, monkeypatch):
    monkeypatch.setattr("odradek.network.socket_server_metrics.SOFTWARE_KINDS_MAX", 3)
    rig.start(overrides={"num.network.threads": "1"})
    clients = [rig.connect() for _ in range(8)]
    rig.until(lambda: len(rig.server.connections()) == len(clients))
    for number, connection in enumerate(rig.server.connections()):
        connection.client_software_name = f"mine-{number}"
    told = re.findall(
        r'metrics_connections\{clientSoftwareName="([^"]*)"[^\n]* (\d)\n', prometheus_text(rig.registry).decode()
    )
    assert len([name for name, _ in told if name.startswith("mine")]) == 3
    assert sum(int(count) for _, count in told) == 8


def test_connections_are_told_by_the_software_of_the_client(rig):
    rig.start(overrides={"num.network.threads": "1"})
    clients = [rig.connect() for _ in range(3)]
    rig.until(lambda: len(rig.server.connections()) == 3)
    for connection in rig.server.connections()[:2]:
        connection.client_software_name, connection.client_software_version = "librdkafka", "2.16"
    text = prometheus_text(rig.registry).decode()
    assert 'connections{clientSoftwareName="librdkafka",clientSoftwareVersion="2.16"' in text
    assert re.search(r'socket_server_metrics_connections\{clientSoftwareName="librdkafka".*\} 2\n', text)
    rig.server.disconnect()
    assert "librdkafka" not in prometheus_text(rig.registry).decode()
    assert clients
