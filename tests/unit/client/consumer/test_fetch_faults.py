"""Fetching on a whole channel, from brokers that misbehave: they hang up, say nothing, send half of an answer or
nonsense, forget sessions, lose and win partitions, throttle. Records come in order all the while, none is left out and
none comes twice; and once the faults are over, everything that is there comes soon.
"""

import random
from itertools import pairwise

import pytest

from channel_kit import CLOSE, CONFIG, SILENT, ScriptedBroker, SimOutside, answer_bytes, cluster_of
from fetch_kit import WALL_MS, ModelCluster
from odradek.channel.driver import Driver
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_config import FetchConfig
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.position_resolver import PositionResolver
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.k02_list_offsets import ListOffsetsRequest
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k23_offset_for_leader_epoch import OffsetForLeaderEpochRequest
from odradek.protocol.topic_partition import TopicPartition

PARTITIONS = 4
PLACES = [TopicPartition("t", number) for number in range(PARTITIONS)]
SOON_MS = 5000
HANDED_OUT = FetchConfig(partition_max_bytes=600, buffer_bytes=2000, max_wait_ms=20)
ERRORS = [
    errors.FetchSessionIdNotFound,
    errors.InvalidFetchSessionEpoch,
    errors.FetchSessionTopicIdError,
    errors.UnknownTopicId,
    errors.UnknownServerError,
]


class FaultyCluster:
    """Two brokers of a model cluster, with a fault now and then."""

    def __init__(self, sim, seed):
        self.sim = sim
        self.chance = random.Random(seed)
        self.model = ModelCluster({"t": PARTITIONS}, nodes=2)
        self.is_faulty = True
        self.brokers = [ScriptedBroker(sim, node_id, name=f"broker{node_id}") for node_id in (1, 2)]
        for broker in self.brokers:
            broker.answers(MetadataRequest, self.metadata)
            broker.answers(FetchRequest, lambda asked, broker=broker: self.fetch(broker, asked))
            broker.answers(ListOffsetsRequest, lambda asked: self.model.list_offsets(asked.request, asked.version))
            broker.answers(OffsetForLeaderEpochRequest, lambda asked: self.model.epochs(asked.request))

    def metadata(self, _):
        leaders = [(self.model.leaders[place], self.model.logs[place].epoch) for place in PLACES]
        return cluster_of(*(broker.node for broker in self.brokers), topics=[("t", leaders, self.model.topic_ids["t"])])

    def fetch(self, broker, asked):
        fault = self.chance.randrange(12) if self.is_faulty else -1
        if fault == 0:
            return CLOSE
        if fault == 1:
            return SILENT
        if fault == 2:
            return FetchResponse(error_code=self.chance.choice(ERRORS).code)
        if fault == 3:
            self.model.brokers[broker.node_id].sessions.clear()
        if fault == 4:
            self.model.move(self.chance.choice(PLACES), self.chance.choice([1, 2]))
        if fault == 5:
            return answer_bytes(asked, FetchResponse())[:-1] + b"\xff" * 40  # no frame of ours fits what follows
        answer = self.model.brokers[broker.node_id].fetch(asked.request, asked.version)
        if fault == 6:
            answer.throttle_time_ms = 60
        if fault == 7:
            whole = answer_bytes(asked, answer)
            asked.connection.send(whole[: self.chance.randrange(1, len(whole))])
            return CLOSE
        if fault == 8 and answer.responses:
            answer.responses[0].partitions[0].error_code = errors.UnknownLeaderEpoch.code
            answer.responses[0].partitions[0].records = b""
        return answer


class Reader:
    def __init__(self, sim, cluster):
        self.channel = sim.channel(*cluster.brokers, config=CONFIG._replace(request_timeout_ms=400))
        self.subscriptions = SubscriptionState()
        self.buffer = FetchBuffer()
        metadata = self.channel.metadata
        self.fetcher = Fetcher(self.subscriptions, metadata, self.buffer, HANDED_OUT)
        resolver = PositionResolver(self.subscriptions, metadata, self.buffer, wall_ms=lambda: WALL_MS)
        self.drivers = [Driver(self.channel, core, on_event=self.pump) for core in (resolver, self.fetcher)]
        self.next = dict.fromkeys(PLACES, 0)
        self.subscriptions.assign(PLACES)
        for place in PLACES:
            self.subscriptions.seek(place, 0)
        metadata.add_topic("t", 0)
        self.pump()

    def pump(self):
        for driver in self.drivers:
            driver.pump()

    def take(self, max_records):
        for record in self.buffer.take(max_records):
            place = TopicPartition(record.topic, record.partition)
            assert record.offset == self.next[place]
            self.next[place] += 1
        assert self.fetcher.buffered_bytes + self.fetcher.reserved_bytes <= HANDED_OUT.buffer_bytes
        self.pump()

    def has_all(self, cluster):
        return all(self.next[place] == cluster.model.logs[place].end for place in PLACES)


@pytest.mark.contract("B104")
@pytest.mark.parametrize("seed", range(12))
def test_faults_of_brokers_neither_lose_nor_repeat_a_record(seed):
    sim = SimOutside(seed)
    cluster = FaultyCluster(sim, seed)
    reader = Reader(sim, cluster)
    for _ in range(150):
        cluster.model.logs[cluster.chance.choice(PLACES)].append(cluster.chance.randrange(1, 5), size=30)
        sim.pass_ms(cluster.chance.choice([1, 5, 30, 100]))
        reader.take(cluster.chance.randrange(1, 20))
    cluster.is_faulty = False
    ended_ms = sim.now_ms()
    while not reader.has_all(cluster):
        sim.pass_ms(5)
        reader.take(100)
        assert sim.now_ms() < ended_ms + SOON_MS, (reader.next, list(reader.subscriptions))
    sim.close()


def test_an_idle_reader_asks_no_more_often_than_the_broker_lets_it():
    sim = SimOutside(1)
    cluster = FaultyCluster(sim, 1)
    cluster.is_faulty = False
    waiting = []
    for broker in cluster.brokers:
        broker.answers(FetchRequest, lambda asked: waiting.append(asked) or SILENT)
    Reader(sim, cluster)
    sim.until(lambda: len(waiting) == 2)
    sim.pass_ms(300)
    assert len(waiting) == 2
    sim.close()


def test_a_throttled_reader_waits_and_goes_on():
    sim = SimOutside(2)
    cluster = FaultyCluster(sim, 2)
    cluster.is_faulty = False
    for place in PLACES:
        cluster.model.logs[place].append(3)
    fetch, asked_ms = cluster.fetch, []

    def throttled(broker, asked):
        asked_ms.append((broker.node_id, sim.now_ms()))
        answer = fetch(broker, asked)
        answer.throttle_time_ms = 200
        return answer

    for broker in cluster.brokers:
        broker.answers(FetchRequest, lambda asked, broker=broker: throttled(broker, asked))
    reader, began_ms = Reader(sim, cluster), sim.now_ms()
    while not reader.has_all(cluster):
        sim.pass_ms(5)
        reader.take(100)
        assert sim.now_ms() < began_ms + SOON_MS
    sim.pass_ms(1000)
    times = [at for node_id, at in asked_ms if node_id == 1]
    assert all(later - earlier >= 200 for earlier, later in pairwise(times))
    sim.close()
