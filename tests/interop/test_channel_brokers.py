"""The channel against whole brokers, on real sockets: ours on all four kinds of listeners, and Apache Kafka.

A topic is made, a record goes to the leader of its partition and is read back, and the coordinator of a group says that
it does not know a member.
"""

import time

import four_listeners
import kafka_tools
import pytest
from kafka_server import kafka
from test_kafka_on_our_dir import Directory

from log_kit import batch
from odradek.channel.channel import Channel
from odradek.channel.client_connection import PLAINTEXT, ChannelSecurity
from odradek.channel.config import ChannelConfig
from odradek.channel.core import ANY_BROKER, coordinator, leader
from odradek.channel.errors import SslAuthenticationFailed
from odradek.channel.sasl_client import PlainSaslClient
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.reactor.adapters import system_ports
from odradek.reactor.adapters.tls import tls_context
from odradek.reactor.loop import Loop
from odradek.reactor.tls_settings import TlsSettings
from odradek.records.batch import batches
from started import broker

SECONDS_MAX = 30


class Client:
    """A channel on a loop of its own; `ask` waits for the answer."""

    def __init__(self, address, security=PLAINTEXT):
        host, port = address.rsplit(":", 1)
        self.ports = system_ports(threads=1)
        self.loop = Loop(self.ports)
        self.channel = Channel(self.loop, ChannelConfig(client_id="test"), [(host, int(port))], security=security)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        self.ports.executor.close()
        self.loop.close()

    def ask(self, destination, request, **options):
        asked = self.channel.send(destination, request, **options)
        asked.is_observed = True
        deadline = time.monotonic() + SECONDS_MAX
        while not asked.is_done:
            assert time.monotonic() < deadline, f"no answer to {request}"
            self.loop.turn(100)
        return asked.value()

    def until(self, question, is_good):
        deadline = time.monotonic() + SECONDS_MAX
        while not is_good(answer := question()):
            assert time.monotonic() < deadline, f"still {answer}"
        return answer


def conversation(client, topic):
    made = client.ask(
        ANY_BROKER, CreateTopicsRequest(topics=[CreatableTopic(name=topic, num_partitions=2, replication_factor=1)])
    )
    assert made.topics[0].error_code == 0
    offset = client.until(lambda: written(client, topic), lambda told: told is not None)
    assert offset == 0
    assert read(client, topic) == [b"value"]
    found = client.until(
        lambda: client.ask(ANY_BROKER, FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])).coordinators[0],
        lambda one: one.error_code == 0,
    )
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="nobody")
    # a Kafka that still loads the group answers 0
    passing = (0, errors.CoordinatorLoadInProgress.code, errors.NotCoordinator.code)
    told = client.until(
        lambda: client.ask(coordinator(0, "g", found.node_id), heartbeat).error_code, lambda code: code not in passing
    )
    assert told == errors.UnknownMemberId.code


def written(client, topic):
    """The offset, None while the leader does not know that it is the one."""
    data = PartitionProduceData(index=1, records=bytes(batch(b"value", timestamp=int(time.time() * 1000))))
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    answer = client.ask(leader(topic, 1), request, version=9).responses[0].partition_responses[0]
    assert answer.error_code == 0 or errors.by_code(answer.error_code).retriable
    return None if answer.error_code else answer.base_offset


def read(client, topic):
    wanted = FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic=topic, partitions=[wanted])]
    request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=topics)
    answer = client.ask(leader(topic, 1), request, version=12).responses[0].partitions[0]
    assert answer.error_code == 0
    return [bytes(record.value) for each in batches(bytes(answer.records)) for record in each.records()]


def security(listener, authority, password="alice-secret"):
    tls = TlsSettings(is_server=False, truststore_path=authority)
    return ChannelSecurity(
        tls=tls_context(tls) if "ssl" in listener else None,
        sasl=(lambda: PlainSaslClient("alice", password)) if "sasl" in listener else None,
    )


@pytest.fixture(scope="module", params=["3.3", "4.3"])
def ours(request, tmp_path_factory):
    with four_listeners.broker(tmp_path_factory.mktemp("channel"), request.param) as told:
        yield told


@pytest.mark.parametrize("listener", four_listeners.LISTENERS)
def test_ours_on_every_listener(ours, listener):
    with Client(ours[listener], security(listener, ours["ca"])) as client:
        conversation(client, f"channel-{listener}")


@pytest.mark.parametrize("listener", ["sasl", "sasl_ssl"])
def test_a_wrong_password_is_refused_by_ours(ours, listener):
    refused = pytest.raises(errors.SaslAuthenticationFailed, match="Invalid username or password")
    with Client(ours[listener], security(listener, ours["ca"], password="guess")) as client, refused:
        client.ask(ANY_BROKER, HeartbeatRequest(group_id="g", member_id="m"))


def test_an_authority_that_the_client_does_not_know_is_refused(ours, tmp_path):
    text = (four_listeners.TLS / "client.pem").read_text()
    other = tmp_path / "other.pem"
    other.write_text(text[text.index("-----BEGIN CERTIFICATE") :])
    with Client(ours["ssl"], security("ssl", str(other))) as client, pytest.raises(SslAuthenticationFailed):
        client.ask(ANY_BROKER, HeartbeatRequest(group_id="g", member_id="m"))


@pytest.mark.parametrize(("release", "version"), [("3.3", "3.3.2"), ("4.3", "4.3.0")])
def test_apache_kafka(release, version, tmp_path):
    try:
        kafka_tools.jars(version)
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))
    directory = Directory(tmp_path / "dir", release)
    with broker(release, config=directory.properties, data=directory.data):
        pass  # it formats the directory
    address = f"127.0.0.1:{directory.ports[0]}"
    with kafka(version, directory.properties, directory.ports[0]), Client(address) as client:
        conversation(client, "channel")
