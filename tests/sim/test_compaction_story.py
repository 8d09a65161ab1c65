"""L8 with a whole broker: its cleaner runs, it crashes at any operation of its disk, and no last value is lost.

One client writes a compacted topic with `flush.messages=1`, key by key; everything that it was told must hold for
whoever reads the topic: offsets rise, a record is what was written at its offset, the last value of every key is there,
and none that was written before a deletion has come back.
"""

import os

import pytest

from broker_kit import SimBroker, SimClient
from log_kit import keyed_batch
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.records.batch import batches
from odradek.sim.crash import SimCrash, drawn_profile
from odradek.sim.world import World

SEEDS = int(os.environ.get("ODRADEK_SEEDS", "20"))
KEYS = 6
LIVES = 4
WRITES_PER_LIFE = 40
CONFIGS = {
    "cleanup.policy": "compact",
    "flush.messages": "1",
    "segment.ms": "200",
    "min.cleanable.dirty.ratio": "0.0",
    "delete.retention.ms": "300",
    "file.delete.delay.ms": "100",
}


class CompactionStory:
    def __init__(self, seed):
        self.world = World(seed)
        self.chance = self.world.rng.stream("compaction")
        self.broker = SimBroker(self.world, properties={"log.cleaner.backoff.ms": "50"}).wait_until_ready()
        self.written = {}  # by offset: key and value, as acknowledged
        self.last = {}  # by key: its last offset
        self.unknown = []  # (key, value) that was never answered
        self.dropped = 0
        self.connect()
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        topic.configs = [CreatableTopicConfig(name=name, value=value) for name, value in CONFIGS.items()]
        assert self.client.ask(CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == 0

    def run(self):
        for life in range(LIVES):
            if life:
                self.arm(self.chance.below(300))
            for number in range(WRITES_PER_LIFE):
                self.write(b"k%d" % self.chance.below(KEYS), None if self.chance.below(6) == 0 else b"%d" % number)
                self.world.run_for(self.chance.below(60))
            if life:
                self.crash()
            self.check()
        self.world.run_for(5000)  # the cleaner has all the time it wants
        self.check()

    def connect(self):
        self.client = SimClient(self.world, f"client at {self.world.now_us}", self.broker.address)

    def write(self, key, value):
        if not self.broker.node.is_up:
            return
        records = keyed_batch([(key, value)], timestamp=self.broker.node.loop.ports.clock.wall_ms())
        data = [PartitionProduceData(index=0, records=bytes(records))]
        topics = [TopicProduceData(name="t", partition_data=data)]
        waiting = self.client.send(ProduceRequest(acks=-1, timeout_ms=3000, topic_data=topics), 9)
        self.world.run_until(lambda: waiting.is_done or not self.broker.node.is_up, 5000)
        if not waiting.is_done:
            self.unknown.append((key, value))
            return
        answer = waiting.response.responses[0].partition_responses[0]
        assert answer.error_code == 0
        self.written[answer.base_offset] = (key, value)
        self.last[key] = answer.base_offset

    def arm(self, nth):
        """The disk goes down before its nth operation from now on takes effect."""
        disk, left = self.broker.node.disk, [nth]

        def strike(kind, path):
            left[0] -= 1
            if left[0] == 0:
                disk.is_down = True
                raise SimCrash(f"before {kind} {path}")

        disk.before_operation = strike

    def crash(self):
        if self.broker.node.is_up:
            self.broker.node.crash(drawn_profile(self.chance))
        self.broker.node.disk.before_operation = None
        self.broker.boot()
        self.broker.wait_until_ready()
        self.connect()

    def check(self):
        found = self.read()
        offsets = [offset for offset, _, _ in found]
        assert offsets == sorted(set(offsets)), "L1"
        self.adopt(found)
        for offset, key, value in found:
            assert self.written[offset] == (key, value), f"L8: at {offset} is {key}={value}"
        survivors = {key: offset for offset, key, _ in found}
        for key, offset in self.last.items():
            if self.written[offset][1] is None:
                assert survivors.get(key, offset) == offset, f"L8: {key} was deleted and has come back"
            else:
                assert survivors.get(key) == offset, f"L8: the last value of {key} is lost"
        self.dropped = len(self.written) - len(found)

    def adopt(self, found):
        """A write without an answer may be there: at an offset that nobody was told."""
        for offset, key, value in found:
            if offset not in self.written and (key, value) in self.unknown:
                self.unknown.remove((key, value))
                self.written[offset] = (key, value)
                self.last[key] = max(offset, self.last.get(key, -1))

    def read(self):
        found, offset = [], 0
        while True:
            asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
            request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="t", partitions=[asked])])
            data = self.client.ask_until(request, 12, lambda answer: answer.responses[0].partitions[0].error_code == 0)
            data = data.responses[0].partitions[0]
            read = [each for each in batches(bytes(data.records or b"")) if each.last_offset >= offset]
            if not read:
                return found
            for each in read:
                each.ensure_valid()
                found += [
                    (record.offset, bytes(record.key), None if record.value is None else bytes(record.value))
                    for record in each.records()
                    if record.offset >= offset
                ]
            offset = read[-1].last_offset + 1


@pytest.mark.parametrize("first", range(0, SEEDS, 5))
def test_compaction_loses_no_last_value(first):
    stories = [CompactionStory(seed) for seed in range(first, first + 5)]
    for story in stories:
        story.run()
        assert story.dropped > WRITES_PER_LIFE // 2, "the cleaner has done something"
        assert story.broker.errors == []
    assert sum(len(story.written) for story in stories) > 5 * WRITES_PER_LIFE
