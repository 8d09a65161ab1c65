"""One flipped bit, as a user meets it: the broker starts, says what to do, and loses what is damaged and no more."""

import json
import socket
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from test_kill import Client

import outside
from broker_process import BrokerProcess
from log_kit import batch
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.k35_describe_log_dirs import DescribeLogDirsRequest
from odradek.records.batch import batches

BATCHES = 40
STORAGE_ERROR = errors.KafkaStorageError.code
SETTINGS = (
    "log.initial.task.delay.ms=1",
    "log.flush.offset.checkpoint.interval.ms=100",
    "log.flush.interval.messages=1",
)


class Damaged:
    """Two topics with the same records, stopped; then a bit of `orders` flips in a sealed and in the active segment."""

    def __init__(self, data, how):
        self.data = data
        overrides = [word for setting in SETTINGS for word in ("--override", setting)]
        broker = BrokerProcess("--data", str(data), *overrides).wait_until_ready()
        try:
            self.fill(broker)
        finally:
            status = broker.stop()[0] if how == "stop" else broker.kill()
        assert not status
        self.logs = sorted((data / "orders-0").glob("*.log"))
        assert len(self.logs) >= 3
        self.places = [self.flip(self.logs[1], 2), self.flip(self.logs[-1], 1)]
        self.lost = {offset for _, _, offset in self.places}

    def fill(self, broker):
        client = Client(broker.address)
        for topic in ("orders", "others"):
            configs = [CreatableTopicConfig(name="segment.bytes", value="1048576")]
            creatable = CreatableTopic(name=topic, num_partitions=1, replication_factor=1, configs=configs)
            client.ask(CreateTopicsRequest(topics=[creatable], timeout_ms=10_000), 7)
            for number in range(BATCHES):
                assert produce(client, topic, number) == 0
        client.close()
        wait_for_checkpoint(self.data)

    def flip(self, path, number):
        content = bytearray(path.read_bytes())
        found, at = [], 0
        for one in batches(bytes(content)):
            found.append((at, one.base_offset))
            at += one.size
        position, offset = found[min(number, len(found) - 1)]
        content[position + 200] ^= 16
        path.write_bytes(content)
        return path, position, offset


def wait_for_checkpoint(data):
    """Until the recovery point is that of everything that was acknowledged."""
    deadline = time.monotonic() + 20
    path = data / "recovery-point-offset-checkpoint"
    while not path.exists() or f"orders 0 {BATCHES}" not in path.read_text():
        assert time.monotonic() < deadline, "the recovery point does not move"
        time.sleep(0.05)


def produce(client, topic, number):
    records = batch(b"%d" % number * 60_000, producer=77, sequence=number, timestamp=int(time.time() * 1000))
    partition = PartitionProduceData(index=0, records=bytes(records))
    request = ProduceRequest(
        acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=[partition])]
    )
    return client.ask(request, 9).responses[0].partition_responses[0].error_code


def fetch(client, topic, offset):
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=100, min_bytes=1, max_bytes=1 << 24, topics=[FetchTopic(topic=topic, partitions=[partition])]
    )
    answer = client.ask(request, 11).responses[0].partitions[0]
    return answer.error_code, answer.high_watermark, bytes(answer.records or b"")


def read_all(client, topic):
    """The offsets of the records up to the end, and the error that ended it."""
    found, offset = [], 0
    while True:
        error, end, data = fetch(client, topic, offset)
        if error or offset >= end:
            return found, error
        for one in batches(data):
            found += [record.offset for record in one.records()]
            offset = one.last_offset + 1


def list_offsets(client, topic):
    asked = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    answer = client.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), 5)
    return answer.topics[0].partitions[0].error_code


def odradek(*arguments):
    command = [sys.executable, "-m", "odradek", *map(str, arguments)]
    done = outside.run(command, seconds=60)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def snapshot(data):
    files = [path for path in Path(data).rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_flipped_bit_costs_its_batch_and_no_more(tmp_path, how):
    damaged = Damaged(tmp_path / "data", how)
    check_it_is_set_aside(damaged)
    check_dry_run(damaged)
    check_repair(damaged)
    check_all_is_well(damaged)


def check_it_is_set_aside(damaged):
    with socket.create_server(("127.0.0.1", 0)) as free:
        metrics = f"127.0.0.1:{free.getsockname()[1]}"
    broker = BrokerProcess("--data", str(damaged.data), "--metrics", metrics).wait_until_ready()
    client = Client(broker.address)
    refused = Client(broker.address)
    try:
        assert odradek("log", "repair", damaged.data)[0] == 1, "not while a broker is at work"
        assert len(read_all(client, "others")[0]) == BATCHES
        found, error = read_all(client, "orders")
        assert error == STORAGE_ERROR and not damaged.lost & set(found)
        assert produce(refused, "orders", BATCHES) == STORAGE_ERROR
        assert list_offsets(client, "orders") == STORAGE_ERROR
        assert produce(client, "others", BATCHES) == 0
        assert described(client) == {"orders": -1, "others": 0}
        with urlopen(f"http://{metrics}/metrics", timeout=10) as page:
            told = [line for line in page.read().decode().splitlines() if line.startswith("odradek_log")]
    finally:
        client.close()
        refused.close()
        status, log = broker.stop()
    assert status == 0
    (line,) = [line for line in log.splitlines() if "partition orders-0 is set aside" in line]
    assert any(f"({path}, byte {position})" in line for path, position, _ in damaged.places)
    assert "odradek_log_logmanager_damagedpartitioncount 1" in told
    (at,) = [line for line in told if line.startswith("odradek_log_log_damagedatbyte")]
    assert any(f'file="{path}"' in at and at.endswith(f" {position}") for path, position, _ in damaged.places)
    assert f"odradek log repair {damaged.data} --partition orders-0 --dry-run" in line


def described(client):
    (result,) = client.ask(DescribeLogDirsRequest(topics=None), 4).results
    assert result.error_code == 0
    return {topic.name: each.offset_lag for topic in result.topics for each in topic.partitions}


def check_dry_run(damaged):
    before = snapshot(damaged.data)
    status, said, _ = odradek("log", "repair", damaged.data, "--partition", "orders-0", "--dry-run")
    assert status == 1 and snapshot(damaged.data) == before
    for path, position, offset in damaged.places:
        assert f"{path.name}, byte {position}" in said and f"lost      offset {offset}\n" in said
    status, said, _ = odradek("log", "repair", damaged.data / "orders-0", "--dry-run", "--json")
    assert {lost["first"] for lost in json.loads(said)["lost"]} == damaged.lost and status == 1
    assert odradek("log", "repair", damaged.data, "--partition", "others-0", "--dry-run")[0] == 0
    assert odradek("log", "repair", damaged.data, "--partition", "nobody-0")[0] == 2


def check_repair(damaged):
    before = {path: path.read_bytes() for path in damaged.logs}
    assert odradek("log", "repair", damaged.data)[0] == 0
    for path, _, _ in damaged.places:
        assert path.with_name(f"{path.name}.1.damaged").read_bytes() == before[path]
    status, said, _ = odradek("log", "repair", damaged.data)
    assert status == 0 and "nothing is damaged" in said


def check_all_is_well(damaged):
    broker = BrokerProcess("--data", str(damaged.data)).wait_until_ready()
    client = Client(broker.address)
    try:
        expected = [offset for offset in range(BATCHES) if offset not in damaged.lost]
        assert read_all(client, "orders") == (expected, 0)
        assert produce(client, "orders", BATCHES - 1) == 0, "it came before, and is not appended again"
        assert produce(client, "orders", BATCHES) == 0
        assert read_all(client, "orders") == ([*expected, BATCHES], 0)
        assert read_all(client, "others") == ([*range(BATCHES + 1)], 0)
    finally:
        client.close()
        status, log = broker.stop()
    assert status == 0 and "set aside" not in log
    status, said, _ = odradek("log", "check", damaged.data)
    assert status == 0, said
