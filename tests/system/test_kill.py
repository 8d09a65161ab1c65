"""`kill -9` of a real broker under load, again and again: nothing that was acknowledged is lost.

The page cache survives a kill, so this shows nothing of durability (the simulated disk does): it shows that a start
after a kill is fast, finds everything, and goes on where the last one stopped.

    ODRADEK_KILLS=50 pytest -s tests/system/test_kill.py         prints how long each start took
"""

import os
import random
import socket
import struct
import threading
import time

import pytest

from broker_process import BrokerProcess
from history import History
from log_kit import batch
from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.records.batch import batches

BEGAN_MS = int(time.time() * 1000)  # of records: older ones would go by retention
KILLS = int(os.environ.get("ODRADEK_KILLS", "12"))
PARTITIONS = 4
PRODUCERS = 3
LOAD_SECONDS = (0.2, 0.6)  # between two kills
WINDOW = 5
RETRIABLE = {3, 5, 6, 7, 9, 14}


class Client:
    """One blocking connection."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=10)
        self.correlation_id = 0

    def send(self, request, version):
        self.correlation_id += 1
        header = RequestHeader(
            request_api_key=request.api_key,
            request_api_version=version,
            correlation_id=self.correlation_id,
            client_id="kill",
        )
        frame = b"".join(whole.encode_request(header, request))
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)
        return request.api_key, version

    def receive(self, sent):
        (size,) = struct.unpack(">i", self._read(4))
        return whole.decode_response(self._read(size), *sent)[1]

    def ask(self, request, version):
        return self.receive(self.send(request, version))

    def _read(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the broker has gone")
            data += piece
        return data

    def close(self):
        self.socket.close()


class Producer(threading.Thread):
    """An idempotent one, for one partition, with five requests in flight; sends again what was not answered."""

    def __init__(self, test, number):
        super().__init__(daemon=True)
        self.test = test
        self.partition = ("t", number % PARTITIONS)
        self.name = f"producer-{number}"
        self.unanswered = []
        self.producer_id = None
        self.sequence = 0
        self.is_known = False  # a leader takes any first batch of a new producer: until one is in, only one is sent
        self.error = None

    def run(self):
        while not self.test.is_ending or self.unanswered:
            try:
                client = Client(self.test.address)
            except OSError:
                time.sleep(0.01)  # it is down just now
                continue
            try:
                self.produce(client)
            except OSError:
                continue
            except BaseException as error:  # noqa: BLE001 - told to the test's own thread
                self.error = error
                return
            finally:
                client.close()

    def produce(self, client):
        if self.producer_id is None:
            response = client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 3)
            if response.error_code:
                return
            assert response.producer_id not in self.test.producer_ids
            self.test.producer_ids.add(response.producer_id)
            self.producer_id = response.producer_id
        while not self.test.is_ending or self.unanswered:
            while not self.test.is_ending and len(self.unanswered) < (WINDOW if self.is_known else 1):
                self.unanswered.append(self.new_send())
            life = self.test.life
            sent = [client.send(self.request(send), 9) for send in self.unanswered]
            for key in sent:
                answer = client.receive(key).responses[0].partition_responses[0]
                if answer.error_code:
                    assert answer.error_code in RETRIABLE, answer
                    return
                self.is_known = True
                self.unanswered.pop(0).oks.append((life, answer.base_offset))

    def new_send(self):
        values = [f"{self.name}/{self.sequence + number}".encode() for number in range(3)]
        send = self.test.history.send(
            self.partition, values, self.name, is_idempotent=True, epoch=0, sequence=self.sequence
        )
        self.sequence += len(values)
        return send

    def request(self, send):
        records = bytes(batch(*send.values, timestamp=BEGAN_MS, producer=self.producer_id, sequence=send.sequence))
        data = PartitionProduceData(index=self.partition[1], records=records)
        topics = [TopicProduceData(name="t", partition_data=[data])]
        return ProduceRequest(acks=-1, timeout_ms=5000, topic_data=topics)


class KillTest:
    def __init__(self, data):
        self.data = data
        self.history = History()
        self.producer_ids = set()
        self.life = 0
        self.is_ending = False
        self.broker = BrokerProcess("--data", data).wait_until_ready()
        self.address = self.broker.address
        self.listen = f"{self.address[0]}:{self.address[1]}"
        self.ready_seconds = []
        self.cpu_seconds = []

    def make_topic(self):
        client = Client(self.address)
        topic = CreatableTopic(name="t", num_partitions=PARTITIONS, replication_factor=1)
        assert client.ask(CreateTopicsRequest(topics=[topic]), 5).topics[0].error_code == 0
        client.close()

    def kill_and_start(self):
        self.broker.kill()
        self.life += 1
        self.broker = BrokerProcess("--data", self.data, listen=self.listen).wait_until_ready()
        self.ready_seconds.append(self.broker.ready_seconds)
        self.cpu_seconds.append(self.broker.cpu_seconds())

    def read_everything(self):
        client = Client(self.address)
        found = {("t", index): self.read(client, index) for index in range(PARTITIONS)}
        client.close()
        return found

    def read(self, client, index):
        records = []
        while True:
            wanted = FetchPartition(partition=index, fetch_offset=len(records), partition_max_bytes=1 << 20)
            topics = [FetchTopic(topic="t", partitions=[wanted])]
            data = client.ask(FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics), 12).responses[0].partitions[0]
            if data.error_code in RETRIABLE:
                time.sleep(0.01)
                continue
            assert data.error_code == 0
            found = [record for each in batches(bytes(data.records)) for record in each.records()]
            fresh = [(record.offset, bytes(record.value)) for record in found if record.offset >= len(records)]
            if not fresh:
                return records
            assert [offset for offset, _ in fresh] == list(range(len(records), len(records) + len(fresh)))
            records += fresh


@pytest.fixture
def test(tmp_path):
    made = KillTest(str(tmp_path / "data"))
    yield made
    made.is_ending = True
    made.broker.kill()


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(test):
    test.make_topic()
    producers = [Producer(test, number) for number in range(PRODUCERS)]
    for producer in producers:
        producer.start()
    chance = random.Random(5)
    for _ in range(KILLS):
        time.sleep(chance.uniform(*LOAD_SECONDS))  # the load itself, not a wait for something
        test.kill_and_start()
        assert all(producer.error is None for producer in producers), [producer.error for producer in producers]
    test.is_ending = True
    for producer in producers:
        producer.join(timeout=30)
        assert not producer.is_alive()
        assert producer.error is None, producer.error
    found = test.read_everything()
    for partition, records in found.items():
        values = [value for _, value in records]
        for _ in range(test.life + 1):  # a kill takes nothing away: every life has had a part of the same log
            test.history.ended(partition, values)
        for _ in range(test.life):
            test.history.began(partition, len(values), is_durable=True)
    test.history.check()
    acknowledged = sum(len(send.values) for send in test.history.sends if send.oks)
    assert acknowledged > 100 * KILLS
    times, cpu = sorted(test.ready_seconds), sorted(test.cpu_seconds)
    print(  # noqa: T201 - the figure is part of the result
        f"{KILLS} kills, {acknowledged} records acknowledged, 0 lost; ready again after "
        f"{times[len(times) // 2]:.2f} s (median), {times[-1]:.2f} s (slowest); CPU of a start "
        f"{cpu[len(cpu) // 2]:.2f} s (median), {cpu[-1]:.2f} s (most)"
    )
    status, error = test.broker.stop()
    assert (status, error) == (0, "")
