"""The producer as a program holds it: how it is made, what it waits for, and how it ends; with a broker of ours."""

import logging
import threading
import time

import pytest

from odradek import KafkaProducer, ProducerRecord, aio, errors
from odradek.channel.cluster import Cluster, PartitionInfo
from odradek.channel.errors import ClientClosed
from odradek.channel.node import Node
from odradek.client.producer.errors import BufferExhausted, ClosedBeforeSent, FlushTimeout, MetadataTimeout
from odradek.client.producer.partitioners import DefaultPartitioner, RoundRobinPartitioner, UniformStickyPartitioner
from odradek.client.producer.settings import producer_settings
from odradek.client.settings import client_config
from odradek.config.errors import ConfigError
from odradek.config.producer import TABLE
from odradek.reactor.adapters.rng import SystemRng
from odradek.serde.errors import SerializationError
from odradek.testing import Broker

SECONDS_MAX = 30
NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def broker():
    with Broker() as made:
        made.create_topic("t", partitions=2)
        yield made


def settings(**configs):
    return producer_settings(client_config(TABLE, None, {"bootstrap_servers": NOWHERE, **configs}))


def silent(**configs):
    """A producer that knows topic "t" and has nobody to send it to."""
    client = KafkaProducer(bootstrap_servers=NOWHERE, reconnect_backoff_ms=1000, **configs)
    session = client.session
    session.accumulator.set_topic("t", [1])
    return client


class TestConfigs:
    @pytest.mark.contract("A12", "A13", "A15", "A19", "A22", "A23", "A38")
    def test_the_defaults_are_kafkas(self):
        made = settings()
        assert (made.sender.request_bytes_max, made.buffer_memory, made.batch_bytes) == (1048576, 33554432, 16384)
        assert (made.sender.acks, made.sender.is_idempotent, made.sender.max_in_flight) == (-1, True, 5)
        assert (made.sender.request_timeout_ms, made.sender.delivery_timeout_ms) == (30_000, 120_000)
        assert (made.sender.linger_ms, made.max_block_ms, made.sender.retries) == (5, 60_000, 2**31 - 1)

    @pytest.mark.contract("A16")
    def test_linger_has_a_limit(self):
        made = settings(linger_ms=2**40, delivery_timeout_ms=2**31 - 1)
        assert made.sender.linger_ms == 2**31 - 1

    @pytest.mark.contract("A1", "A2", "A3", "A4")
    def test_a_mapping_keywords_or_both(self, broker, caplog):
        mapping = {"bootstrap.servers": broker.bootstrap, "value.serializer": str.encode}
        for made in (
            KafkaProducer(mapping),
            KafkaProducer({"bootstrap.servers": broker.bootstrap}, value_serializer=str.encode),
            KafkaProducer(bootstrap_servers=broker.bootstrap, value_serializer=str.encode),
        ):
            with made:
                made.send("t", "text").result(SECONDS_MAX)
        assert caplog.text == ""

    @pytest.mark.contract("A37")
    def test_a_config_that_nobody_reads_is_told(self, caplog):
        KafkaProducer({"bootstrap.servers": NOWHERE, "no.such.config": "1"}).close()
        assert "no.such.config" in caplog.text

    @pytest.mark.contract("A31")
    def test_an_address_that_is_none_fails_at_once(self):
        with pytest.raises(ConfigError, match="host:port"):
            KafkaProducer(bootstrap_servers="nowhere")

    @pytest.mark.contract("A34")
    def test_a_transactional_id_needs_idempotence(self):
        with pytest.raises(ConfigError):
            KafkaProducer(bootstrap_servers=NOWHERE, transactional_id="x", enable_idempotence=False)

    @pytest.mark.contract("A36")
    def test_the_thread_starts_with_the_first_use_under_kafkas_name(self, broker):
        with KafkaProducer(bootstrap_servers=broker.bootstrap, client_id="me") as client:
            name = "kafka-producer-network-thread | me"
            assert name not in [thread.name for thread in threading.enumerate()]
            client.send("t", b"v").result(SECONDS_MAX)
            (thread,) = [each for each in threading.enumerate() if each.name == name]
            assert thread.daemon
        assert not thread.is_alive()

    @pytest.mark.contract("A10", "A7")
    def test_interceptors_are_made_of_their_names_and_told_the_configs(self, broker):
        name = f"{__name__}.Seeing"
        configs = {"bootstrap.servers": broker.bootstrap, "interceptor.classes": name, "client.id": "seen", "x.y": "1"}
        with KafkaProducer(configs) as client:
            client.send("t", b"v").result(SECONDS_MAX)
        (seen,) = Seeing.made
        assert (seen.configs["client.id"], seen.configs["x.y"]) == ("seen", "1")
        assert seen.told == ["sent", "acked", "closed"]

    @pytest.mark.contract("A11")
    def test_plugins_that_want_it_are_told_the_cluster(self, broker):
        class Wanting:
            def on_update(self, cluster_id):
                told.append(cluster_id)

        told = []
        with KafkaProducer(bootstrap_servers=broker.bootstrap, interceptors=[Wanting()]) as client:
            client.send("t", b"v").result(SECONDS_MAX)
        assert told == [broker.cluster_id]


class Seeing:
    made: list["Seeing"] = []

    def __init__(self):
        self.told = []
        self.made.append(self)

    def configure(self, configs):
        self.configs = configs

    def on_send(self, record):
        self.told.append("sent")
        return record

    def on_acknowledgement(self, metadata, error):
        self.told.append("acked")

    def close(self):
        self.told.append("closed")


class TestWaiting:
    @pytest.mark.contract("A50", "A24")
    def test_a_broker_that_is_not_there_is_named(self):
        client = KafkaProducer(bootstrap_servers=NOWHERE, max_block_ms=300)
        with client, pytest.raises(MetadataTimeout, match=r"No broker could be asked.*127\.0\.0\.1:1"):
            client.send("t", b"v")

    @pytest.mark.contract("A51", "A52")
    def test_a_wait_for_metadata_ends_with_the_producer(self):
        client = KafkaProducer(bootstrap_servers=NOWHERE, max_block_ms=60_000)
        client.session  # noqa: B018 - it has begun
        found = []
        thread = threading.Thread(target=lambda: found.append(_error(lambda: client.send("t", b"v"))))
        thread.start()
        deadline = time.monotonic() + SECONDS_MAX
        while "t" not in client.session.metadata.topics:
            assert time.monotonic() < deadline
        client.close(0)
        thread.join(SECONDS_MAX)
        assert isinstance(found[0], ClientClosed)
        assert "closed while" in str(found[0])

    @pytest.mark.contract("A138", "A81", "A87")
    def test_a_full_buffer_is_waited_for_as_long_as_may_be_and_then_named(self):
        client = silent(buffer_memory=20_000, max_block_ms=200)
        client.send("t", bytes(16_000))
        with pytest.raises(BufferExhausted, match=r"buffer\.memory=20000"):
            client.send("t", bytes(16_000))
        counted = {name.name: value for name, value in client.metrics().items()}
        assert counted["bufferpool-wait-time-ns-total"] >= 150e6
        assert counted["buffer-exhausted-total"] == 1
        client.close(0)

    @pytest.mark.contract("A53")
    def test_what_one_wait_took_the_next_one_does_not_have(self):
        client = silent(buffer_memory=20_000, max_block_ms=400)
        client.send("t", bytes(16_000))
        deadline = client.deadline()
        assert deadline.left() <= 0.4
        began = time.monotonic()
        with pytest.raises(BufferExhausted):
            client.memory(16_384, deadline)
        with pytest.raises(BufferExhausted):
            client.memory(16_384, deadline)
        assert time.monotonic() - began < 10 and deadline.left() == 0
        client.close(0)

    @pytest.mark.contract("A104", "A49")
    def test_who_waits_for_memory_is_told_of_the_close(self):
        client = silent(buffer_memory=20_000, max_block_ms=60_000)
        client.send("t", bytes(16_000))
        found = []
        thread = threading.Thread(target=lambda: found.append(_error(lambda: client.send("t", bytes(16_000)))))
        thread.start()
        deadline = time.monotonic() + SECONDS_MAX
        while not client.session.pool.waiting:
            assert time.monotonic() < deadline
        client.close(0)
        thread.join(SECONDS_MAX)
        assert isinstance(found[0], ClientClosed)

    def test_flush_tells_how_many_have_no_outcome(self):
        client = silent()
        for _ in range(3):
            client.send("t", b"v")
        with pytest.raises(FlushTimeout) as caught:
            client.flush(0.05)
        assert caught.value.unsent == 3
        client.close(0)


@pytest.mark.contract("A133")
def test_a_record_wakes_a_thread_that_sleeps(broker):
    with KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=0) as client:
        for _ in range(3):
            assert client.send("t", b"v").result(SECONDS_MAX).has_offset
            turns = client.session.loop.turns
            while client.session.loop.turns != turns:
                turns = client.session.loop.turns


def test_of_many_those_that_are_no_bytes_are_sent_one_by_one_or_refused_behind_the_others(broker):
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as client:
        first = client.send("t", b"before", partition=0).result(SECONDS_MAX)
        many = client.send_many("t", [b"a", bytearray(b"b"), None, memoryview(b"d"), b"e"], partition=0)
        (told,) = {(each.partition, each.offset) for each in many.result(SECONDS_MAX)[:1]}
        assert (told, len(many)) == ((0, first.offset + 1), 5)
        with pytest.raises(SerializationError):
            client.send_many("t", [b"f", "text", b"never"], partition=0)
        client.flush(SECONDS_MAX)
        assert client.send("t", b"after", partition=0).result(SECONDS_MAX).offset == first.offset + 7


class TestEnds:
    @pytest.mark.contract("A105")
    def test_a_close_goes_on_until_all_is_delivered(self, broker):
        client = KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=60_000, delivery_timeout_ms=120_000)
        futures = [client.send("t", bytes(1000)) for _ in range(200)]
        client.close(SECONDS_MAX)
        assert all(future.exception(0) is None for future in futures)

    def test_what_is_left_when_the_time_is_up_is_told_once_and_to_each(self, caplog):
        client = silent()
        futures = [client.send("t", b"v") for _ in range(5)]
        told = []
        futures[0].add_done_callback(told.append)
        with caplog.at_level(logging.WARNING, "odradek.client"):
            client.close(0.05)
        assert [type(future.exception(0)) for future in futures] == [ClosedBeforeSent] * 5
        assert told == [futures[0]]
        assert [record.getMessage()[:29] for record in caplog.records] == ["5 records were not delivered "]

    def test_asyncio_closes_the_same_way(self):
        import asyncio

        async def run():
            client = aio.KafkaProducer(bootstrap_servers=NOWHERE, max_block_ms=100)
            with pytest.raises(MetadataTimeout):
                await client.send("t", b"v")
            await client.close(1)
            with pytest.raises(ClientClosed):
                await client.send("t", b"v")

        asyncio.run(run())


class TestPartitioners:
    CLUSTER = Cluster("c", [Node(1, "h", 1)], [PartitionInfo("t", index, 1 if index else -1) for index in range(4)])

    @pytest.mark.contract("A59", "A60", "A61")
    def test_the_sticky_one_changes_only_for_who_comes_with_the_current_partition(self):
        sticky = UniformStickyPartitioner(SystemRng().stream("test"))
        first = sticky.partition("t", None, None, None, None, self.CLUSTER)
        assert first in (1, 2, 3)
        sticky.on_new_batch("t", self.CLUSTER, first)
        second = sticky.partition("t", None, None, None, None, self.CLUSTER)
        assert second != first
        sticky.on_new_batch("t", self.CLUSTER, first)  # another thread, with the batch of before
        assert sticky.partition("t", None, None, None, None, self.CLUSTER) == second

    def test_with_one_partition_or_none_available(self):
        sticky = UniformStickyPartitioner(SystemRng().stream("test"))
        one = Cluster(
            "c", [Node(1, "h", 1)], [PartitionInfo("t", index, 1 if index == 2 else -1) for index in range(4)]
        )
        none = Cluster("c", [Node(1, "h", 1)], [PartitionInfo("u", index, -1) for index in range(4)])
        assert sticky.partition("t", None, None, None, None, one) == 2
        sticky.on_new_batch("t", one, 2)
        assert sticky.partition("t", None, None, None, None, one) == 2
        assert sticky.partition("u", None, None, None, None, none) in range(4)

    def test_the_default_of_3_0_hashes_keys(self):
        default = DefaultPartitioner(SystemRng().stream("test"))
        assert {default.partition("t", b"k", b"k", None, None, self.CLUSTER) for _ in range(5)} == {0}

    def test_round_robin_passes_over_those_without_a_leader(self):
        turns = RoundRobinPartitioner()
        assert [turns.partition("t", None, None, None, None, self.CLUSTER) for _ in range(4)] == [1, 2, 3, 1]

    @pytest.mark.parametrize(
        "given",
        ["org.apache.kafka.clients.producer.RoundRobinPartitioner", RoundRobinPartitioner, RoundRobinPartitioner()],
    )
    def test_by_name_by_class_and_as_an_object(self, given):
        with KafkaProducer(bootstrap_servers=NOWHERE, partitioner=given) as client:
            assert isinstance(client._preparing.partitioner, RoundRobinPartitioner)

    def test_one_that_is_none_is_refused(self):
        with pytest.raises(ConfigError, match="no such class"):
            KafkaProducer({"bootstrap.servers": NOWHERE, "partitioner.class": "no.such.Partitioner"})
        with pytest.raises(TypeError, match="partitioner"):
            KafkaProducer(bootstrap_servers=NOWHERE, partitioner=5)


@pytest.mark.contract("A90")
def test_null_headers_are_no_headers():
    assert ProducerRecord("t", headers=None).headers == ()


def _error(call):
    try:
        call()
    except (errors.KafkaError, ClientClosed) as error:
        return error
    return None
