"""The producer against whole brokers: ours at both releases, and Apache Kafka of the same two. What it is told, and
what a reader finds, is the same with each.
"""

import asyncio
import json
import threading
import time
from itertools import count, pairwise

import clusters
import pytest

from odradek import KafkaConsumer, KafkaProducer, ProducerRecord, TopicPartition, aio, errors
from odradek.admin import PreparedTransaction
from odradek.client.admin.admin_client import AdminClient
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.host.errors import OwnThreadError
from odradek.client.producer.errors import MetadataTimeout
from odradek.client.producer.partitioners import RoundRobinPartitioner, UniformStickyPartitioner
from odradek.client.producer.transaction_states import TransactionStateError
from odradek.records.murmur2 import partition_for

kafka_python = pytest.importorskip("kafka", reason="pip install kafka-python")

SECONDS_MAX = 20
PARTITIONS = 3
TOPICS_AT_ONCE = 20

_numbers = count()


@pytest.fixture(scope="module", params=clusters.KINDS)
def cluster(request, tmp_path_factory):
    with clusters.cluster_of(request.param, tmp_path_factory.mktemp("producer") / "dir") as bootstrap:
        yield bootstrap


@pytest.fixture(scope="module")
def admin(cluster):
    with AdminClient(bootstrap_servers=cluster, default_api_timeout_ms=20_000) as client:
        yield client


@pytest.fixture(scope="module")
def producer(cluster):
    """One for all tests that need nothing special of it."""
    with KafkaProducer(bootstrap_servers=cluster, linger_ms=0, max_block_ms=20_000) as client:
        yield client


@pytest.fixture(scope="module")
def topics(admin):
    """As many as the tests need, made many at once: a topic at a time is what Kafka takes long for."""

    def made():
        for start in count(0, TOPICS_AT_ONCE):
            names = [f"topic-{number}" for number in range(start, start + TOPICS_AT_ONCE)]
            admin.create_topics(names, timeout=30).raise_any()
            yield from names

    return made()


@pytest.fixture
def topic(admin, topics):
    name = next(topics)
    admin.create_partitions({name: PARTITIONS}, timeout=20).raise_any()
    deadline = time.monotonic() + SECONDS_MAX
    while len(getattr(admin.describe_topics([name]).values_ok.get(name), "partitions", ())) != PARTITIONS:
        assert time.monotonic() < deadline
    return name


@pytest.fixture(scope="module")
def readers(cluster):
    made = {
        level: kafka_python.KafkaConsumer(bootstrap_servers=cluster, isolation_level=level, group_id=None)
        for level in ("read_uncommitted", "read_committed")
    }
    yield made
    for reader in made.values():
        reader.close()


@pytest.fixture
def read(readers):
    def records(topic, level="read_uncommitted"):
        """All that stands in the topic, by partition."""
        reader = readers[level]
        places = [kafka_python.TopicPartition(topic, index) for index in range(PARTITIONS)]
        ends = reader.end_offsets(places)
        reader.assign(places)
        reader.seek_to_beginning(*places)
        found = []
        deadline = time.monotonic() + SECONDS_MAX
        while any(reader.position(place) < ends[place] for place in places):
            assert time.monotonic() < deadline, found
            for polled in reader.poll(50).values():
                found += polled
        return sorted(found, key=lambda record: (record.partition, record.offset))

    return records


def made(cluster, **configs):
    configs.setdefault("linger_ms", 0)
    configs.setdefault("max_block_ms", 20_000)
    return KafkaProducer(bootstrap_servers=cluster, **configs)


def committed(read, topic, count):
    """The values that readers of committed records find, when there are so many: the markers of a transaction are
    written after its end was answered.
    """
    deadline = time.monotonic() + SECONDS_MAX
    while len(found := values(read(topic, "read_committed"))) < count:
        assert time.monotonic() < deadline, found
    return found


def values(records):
    return [record.value for record in records]


class TestSending:
    @pytest.mark.contract("A47", "A99", "A136")
    def test_a_record_is_where_its_future_says(self, producer, topic, read):
        future = producer.send(topic, b"value", b"key")
        told = future.result(SECONDS_MAX)
        (found,) = read(topic)
        assert (found.topic, found.partition, found.offset) == (told.topic, told.partition, told.offset)
        assert (found.key, found.value, found.timestamp) == (b"key", b"value", told.timestamp)
        assert (told.serialized_key_size, told.serialized_value_size) == (3, 5)

    def test_offsets_count_on(self, producer, topic):
        futures = [producer.send(topic, b"%d" % number, partition=0) for number in range(50)]
        assert [future.result(SECONDS_MAX).offset for future in futures] == list(range(50))

    @pytest.mark.contract("A101")
    def test_null_and_empty_are_told_apart(self, producer, topic, read):
        for key, value in ((None, None), (b"", b""), (None, b""), (b"", None)):
            producer.send(topic, value, key, partition=0)
        producer.flush(SECONDS_MAX)
        assert [(found.key, found.value) for found in read(topic)] == [
            (None, None),
            (b"", b""),
            (None, b""),
            (b"", None),
        ]

    @pytest.mark.contract("A63", "A102")
    def test_headers_arrive_as_they_were_when_they_were_sent(self, producer, topic, read):
        headers = [("trace", b"1"), ("trace", b"2"), ("none", None), ("empty", b"")]
        future = producer.send(topic, b"v", headers=headers)
        headers.append(("late", b"x"))
        future.result(SECONDS_MAX)
        assert read(topic)[0].headers == [("trace", b"1"), ("trace", b"2"), ("none", None), ("empty", b"")]

    def test_a_header_without_a_key_is_refused(self, producer, topic):
        with pytest.raises(ValueError, match="header key"):
            producer.send(topic, b"v", headers=[(None, b"x")])

    def test_a_time_that_is_given_is_kept(self, producer, topic, read):
        told = producer.send(topic, b"v", timestamp_ms=1_700_000_000_123).result(SECONDS_MAX)
        assert told.timestamp == read(topic)[0].timestamp == 1_700_000_000_123

    @pytest.mark.contract("A67")
    def test_without_a_time_it_is_now(self, producer, topic):
        before = int(time.time() * 1000)
        told = producer.send(topic, b"v").result(SECONDS_MAX)
        assert before - 1000 <= told.timestamp <= int(time.time() * 1000) + 1000

    def test_a_time_before_1970_is_refused(self, producer, topic):
        with pytest.raises(errors.InvalidTimestamp):
            producer.send(topic, b"v", timestamp_ms=-5)

    def test_a_record_may_be_an_object(self, producer, topic, read):
        producer.send(ProducerRecord(topic, b"v", b"k", headers=[("h", b"1")], partition=2)).result(SECONDS_MAX)
        (found,) = read(topic)
        assert (found.partition, found.key, found.headers) == (2, b"k", [("h", b"1")])

    def test_something_else_than_bytes_says_what_to_do(self, producer, topic):
        with pytest.raises(errors.KafkaError, match="value_serializer"):
            producer.send(topic, {"a": 1})

    def test_bytes_of_another_kind_are_taken(self, producer, topic, read):
        producer.send(topic, bytearray(b"array"), memoryview(b"view")).result(SECONDS_MAX)
        assert (read(topic)[0].key, read(topic)[0].value) == (b"view", b"array")

    @pytest.mark.contract("A65")
    def test_a_record_that_no_request_could_carry_is_refused_at_once(self, producer, topic):
        with pytest.raises(errors.MessageTooLarge, match=r"max\.request\.size"):
            producer.send(topic, bytes(1_048_577))

    def test_a_record_larger_than_a_batch_goes_alone(self, producer, topic, read):
        large = bytes(range(256)) * 400
        producer.send(topic, b"a", partition=0)
        producer.send(topic, large, partition=0)
        producer.send(topic, b"b", partition=0).result(SECONDS_MAX)
        assert values(read(topic)) == [b"a", large, b"b"]

    @pytest.mark.contract("A134")
    def test_threads_share_a_producer_and_nothing_is_lost_or_doubled(self, producer, topic, read):
        def work(number):
            for index in range(300):
                producer.send(topic, b"%d-%d" % (number, index), partition=number % PARTITIONS)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS_MAX)
        producer.flush(SECONDS_MAX)
        found = values(read(topic))
        for number in range(4):
            mine = [value for value in found if value.startswith(b"%d-" % number)]
            assert mine == [b"%d-%d" % (number, index) for index in range(300)]
        assert len(found) == 1200


class TestTopics:
    def test_a_name_that_cannot_be_is_refused_as_the_broker_says(self, producer):
        with pytest.raises(errors.InvalidTopicException):
            producer.send("no such/name", b"v")

    @pytest.mark.contract("A50", "A24")
    def test_a_partition_that_is_not_there_is_waited_for_and_then_named(self, cluster, topic):
        with made(cluster, max_block_ms=600) as client:
            client.partitions_for(topic)
            with pytest.raises(MetadataTimeout, match=f"Partition 7 of topic {topic}"):
                client.send(topic, b"v", partition=7)

    def test_partitions_for_tells_leaders(self, producer, topic):
        found = producer.partitions_for(topic)
        assert [info.partition for info in found] == [0, 1, 2]
        assert len({info.leader_id for info in found}) == 1
        assert found[0].in_sync_replica_ids == found[0].replica_ids

    def test_a_topic_that_grows_is_noticed(self, cluster, admin, topic):
        with made(cluster, metadata_max_age_ms=200) as client:
            assert len(client.partitions_for(topic)) == PARTITIONS
            admin.create_partitions({topic: PARTITIONS + 2}, timeout=20).raise_any()
            told = client.send(topic, b"v", partition=PARTITIONS + 1).result(SECONDS_MAX)
            assert told.partition == PARTITIONS + 1


class TestPlacement:
    @pytest.mark.contract("A57", "A55")
    def test_keys_go_where_every_client_puts_them(self, producer, topic, read):
        keys = [b"key-%d" % number for number in range(40)]
        for key in keys:
            producer.send(topic, b"v", key)
        producer.flush(SECONDS_MAX)
        found = {record.key: record.partition for record in read(topic)}
        assert found == {key: partition_for(key, PARTITIONS) for key in keys}

    def test_a_partition_that_is_named_comes_first(self, producer, topic):
        assert producer.send(topic, b"v", b"key", partition=2).result(SECONDS_MAX).partition == 2

    @pytest.mark.contract("A58", "A62")
    def test_without_keys_a_batch_stays_together(self, cluster, topic, read):
        with made(cluster, linger_ms=1000, batch_size=2000) as client:
            for _ in range(10):
                client.send(topic, bytes(100))
            client.flush(SECONDS_MAX)
        assert len({record.partition for record in read(topic)}) == 1

    def test_without_keys_all_partitions_get_some(self, cluster, topic, read):
        with made(cluster, batch_size=500) as client:
            for _ in range(400):
                client.send(topic, bytes(100))
        assert {record.partition for record in read(topic)} == {0, 1, 2}

    @pytest.mark.contract("A33")
    def test_keys_can_be_ignored(self, cluster, topic, read):
        with made(cluster, partitioner_ignore_keys=True, linger_ms=1000) as client:
            for number in range(10):
                client.send(topic, b"v", b"%d" % number)
            client.flush(SECONDS_MAX)
        assert len({record.partition for record in read(topic)}) == 1

    def test_a_function_places_records(self, cluster, topic):
        with made(cluster, partitioner=lambda topic, key, key_bytes, value, value_bytes, cluster: 1) as client:
            assert client.send(topic, b"v", b"anything").result(SECONDS_MAX).partition == 1

    @pytest.mark.contract("A9")
    def test_round_robin(self, cluster, topic):
        with made(cluster, partitioner=RoundRobinPartitioner()) as client:
            futures = [client.send(topic, b"v", b"same") for _ in range(6)]
            assert [future.result(SECONDS_MAX).partition for future in futures] == [0, 1, 2, 0, 1, 2]

    @pytest.mark.contract("A56", "A70")
    def test_the_sticky_partitioner_of_3_0_changes_with_each_batch(self, cluster, topic):
        with made(cluster, partitioner=UniformStickyPartitioner, batch_size=300, linger_ms=1000) as client:
            futures = [client.send(topic, bytes(200)) for _ in range(5)]
            client.flush(SECONDS_MAX)
            places = [future.result(0).partition for future in futures]
        assert all(before != after for before, after in pairwise(places))

    def test_a_partitioner_that_is_wrong_is_named(self, cluster, topic):
        with made(cluster, partitioner=lambda *_: 99) as client, pytest.raises(ValueError, match="chose partition 99"):
            client.send(topic, b"v")


class TestAcks:
    @pytest.mark.contract("A20", "A128")
    def test_without_acks_the_record_is_written_and_its_offset_is_unknown(self, cluster, producer, topic, read):
        producer.send(topic, b"first", partition=0).result(SECONDS_MAX)  # the leader is there: nobody else would tell
        with made(cluster, acks="0", enable_idempotence=False) as client:
            told = client.send(topic, b"v", partition=0).result(SECONDS_MAX)
            assert not told.has_offset
            deadline = time.monotonic() + SECONDS_MAX
            while values(read(topic)) != [b"first", b"v"]:
                assert time.monotonic() < deadline

    @pytest.mark.parametrize("acks", ["1", "all"])
    def test_acks_of_a_leader_and_of_all(self, cluster, topic, read, acks):
        with made(cluster, acks=acks, enable_idempotence=False) as client:
            assert client.send(topic, b"v", partition=0).result(SECONDS_MAX).offset == 0
        assert values(read(topic)) == [b"v"]

    @pytest.mark.contract("A124")
    def test_one_request_in_flight_keeps_the_order_without_idempotence(self, cluster, topic, read):
        configs = {"max_in_flight_requests_per_connection": 1, "enable_idempotence": False, "batch_size": 200}
        with made(cluster, **configs) as client:
            for number in range(200):
                client.send(topic, b"%d" % number, partition=0)
        assert values(read(topic)) == [b"%d" % number for number in range(200)]

    @pytest.mark.contract("A140")
    def test_many_small_batches_keep_their_order_with_idempotence(self, cluster, topic, read):
        with made(cluster, batch_size=100) as client:
            for number in range(300):
                client.send(topic, b"%d" % number, partition=0)
        assert values(read(topic)) == [b"%d" % number for number in range(300)]


class TestCompression:
    @pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
    def test_compressed_batches_are_read_by_others(self, cluster, topic, read, codec):
        if codec != "gzip":
            pytest.importorskip({"snappy": "snappy", "lz4": "lz4", "zstd": "zstandard"}[codec], reason="for the reader")
        with made(cluster, compression_type=codec, linger_ms=1000) as client:
            for number in range(200):
                client.send(topic, b"the same words again and again %d" % number, partition=0)
            client.flush(SECONDS_MAX)
            rate = {name.name: value for name, value in client.metrics().items()}["compression-rate-avg"]
        assert rate < 0.6
        assert len(read(topic)) == 200


class TestSerializers:
    @pytest.mark.contract("A54", "A139")
    def test_functions_make_the_bytes(self, cluster, topic, read):
        serializers = {"key_serializer": str.encode, "value_serializer": lambda value: json.dumps(value).encode()}
        with made(cluster, **serializers) as client:
            client.send(topic, {"shoes": 2}, "customer").result(SECONDS_MAX)
        (found,) = read(topic)
        assert (found.key, json.loads(found.value)) == (b"customer", {"shoes": 2})

    @pytest.mark.contract("A5")
    def test_a_class_named_in_the_config(self, cluster, topic, read):
        name = "org.apache.kafka.common.serialization.StringSerializer"
        with KafkaProducer({"bootstrap.servers": cluster, "value.serializer": name}) as client:
            client.send(topic, "grüße").result(SECONDS_MAX)
        assert read(topic)[0].value == "grüße".encode()

    def test_a_value_of_the_wrong_class_is_named(self, cluster, topic):
        with made(cluster, value_serializer=str.encode) as client, pytest.raises(errors.KafkaError, match="int"):
            client.send(topic, 5)


class Noting:
    """An interceptor that notes what it sees."""

    def __init__(self, name=b"", fails=False):
        self.name = name
        self.fails = fails
        self.acked = []

    def on_send(self, record):
        if self.fails:
            raise RuntimeError("an interceptor of the test")
        record.value += self.name
        return record

    def on_acknowledgement(self, metadata, error):
        self.acked.append((metadata.partition, metadata.offset, error))


class TestInterceptorsAndCallbacks:
    @pytest.mark.contract("A48", "A68")
    def test_interceptors_see_records_in_order_and_one_that_fails_is_left_out(self, cluster, topic, read, caplog):
        chain = [Noting(b"-a"), Noting(fails=True), Noting(b"-b")]
        with made(cluster, interceptors=chain) as client:
            client.send(topic, b"v", partition=1).result(SECONDS_MAX)
        assert values(read(topic)) == [b"v-a-b"]
        assert [each.acked for each in chain] == [[(1, 0, None)]] * 3
        assert caplog.text.count("an interceptor has failed") == 1

    def test_a_callback_gets_what_the_future_gets(self, producer, topic):
        told = []
        future = producer.send(topic, b"v", callback=lambda metadata, error: told.append((metadata, error)))
        producer.flush(SECONDS_MAX)
        assert told == [(future.result(0), None)]

    def test_callbacks_come_in_the_order_of_the_records(self, producer, topic):
        told = []
        for _ in range(100):
            producer.send(topic, b"v", partition=0, callback=lambda metadata, _: told.append(metadata.offset))
        producer.flush(SECONDS_MAX)
        assert told == list(range(100))

    def test_a_callback_that_fails_is_told_once_and_the_next_one_called(self, producer, topic, caplog):
        told = []

        def fails(metadata, error):
            raise RuntimeError("a callback of the test")

        producer.send(topic, b"v", partition=0, callback=fails)
        producer.send(topic, b"v", partition=0, callback=lambda *_: told.append(True))
        producer.flush(SECONDS_MAX)
        assert told == [True]
        assert caplog.text.count("a callback of a record that was sent has failed") == 1

    def test_who_waits_in_a_callback_is_refused_at_once(self, producer, topic):
        refused = []

        def waits(*_):
            for call in (producer.flush, lambda: producer.send(topic, b"w", partition=0).result(1), producer.close):
                try:
                    call()
                except OwnThreadError:
                    refused.append(call)

        producer.send(topic, b"v", callback=waits)
        producer.flush(SECONDS_MAX)
        assert len(refused) == 3
        assert producer.send(topic, b"still open").result(SECONDS_MAX).has_offset

    def test_a_done_callback_of_a_future(self, producer, topic):
        told = []
        future = producer.send(topic, b"v")
        future.add_done_callback(told.append)
        producer.flush(SECONDS_MAX)
        future.add_done_callback(told.append)
        assert told == [future, future]
        assert future.done() and future.exception(0) is None


class TestFlushAndClose:
    def test_flush_sends_what_lingers(self, cluster, topic):
        with made(cluster, linger_ms=60_000, delivery_timeout_ms=120_000) as client:
            future = client.send(topic, b"v")
            assert not future.done()
            client.flush(SECONDS_MAX)
            assert future.done()

    def test_close_delivers_what_lingers(self, cluster, topic, read):
        client = made(cluster, linger_ms=60_000, delivery_timeout_ms=120_000)
        client.send(topic, b"v")
        client.close(SECONDS_MAX)
        assert values(read(topic)) == [b"v"]

    @pytest.mark.contract("A137")
    def test_linger_gathers_records_of_some_time(self, cluster, topic):
        with made(cluster, linger_ms=50) as client:
            futures = [client.send(topic, b"v", partition=0) for _ in range(20)]
            futures[-1].result(SECONDS_MAX)
            told = {name.name: value for name, value in client.metrics().items()}
        assert told["records-per-request-avg"] > 5

    @pytest.mark.contract("A49")
    def test_a_closed_producer_takes_nothing(self, cluster, topic):
        client = made(cluster)
        client.send(topic, b"v").result(SECONDS_MAX)
        client.close()
        client.close()
        with pytest.raises(Exception, match="closed"):
            client.send(topic, b"v")

    def test_a_producer_that_was_never_used_closes(self, cluster):
        made(cluster).close()

    def test_flush_before_the_first_record(self, cluster):
        with made(cluster) as client:
            client.flush(0)

    def test_metrics_have_kafkas_names(self, cluster, topic):
        with made(cluster, client_id="counted") as client:
            client.send(topic, b"v").result(SECONDS_MAX)
            found = {name.name: value for name, value in client.metrics().items() if name.group == "producer-metrics"}
            tags = {name.tags for name in client.metrics()}
        assert found["record-send-total"] == 1
        assert found["buffer-total-bytes"] == 33554432
        assert found["connection-count"] >= 1
        assert tags == {(("client-id", "counted"),)}


class TestMemory:
    @pytest.mark.contract("A111")
    def test_a_small_buffer_slows_the_program_down_and_loses_nothing(self, cluster, topic, read):
        with made(
            cluster, buffer_memory=3000, batch_size=1000, linger_ms=60_000, delivery_timeout_ms=120_000
        ) as client:
            for number in range(200):
                client.send(topic, b"%0100d" % number, partition=0)
        assert values(read(topic)) == [b"%0100d" % number for number in range(200)]

    @pytest.mark.contract("A66")
    def test_a_record_larger_than_the_whole_buffer_is_refused(self, cluster, topic):
        with (
            made(cluster, buffer_memory=3000, batch_size=1000) as client,
            pytest.raises(errors.MessageTooLarge, match=r"buffer\.memory"),
        ):
            client.send(topic, bytes(5000))

    def test_memory_is_given_back(self, cluster, topic):
        with made(cluster, buffer_memory=100_000, batch_size=1000) as client:
            for _ in range(500):
                client.send(topic, bytes(300))
            client.flush(SECONDS_MAX)
            found = {name.name: value for name, value in client.metrics().items()}
        assert found["buffer-available-bytes"] == 100_000


class TestRefusals:
    def test_a_record_that_the_broker_finds_too_large(self, cluster, admin, topic, read):
        limited = f"limited-{next(_numbers)}"
        admin.create_topic(limited, partitions=3, replication=1, max_message_bytes=2000)
        with made(cluster) as client:
            error = client.send(limited, bytes(5000), partition=0).exception(SECONDS_MAX)
            assert isinstance(error, errors.MessageTooLarge)
            assert client.send(limited, b"small", partition=0).result(SECONDS_MAX).offset == 0

    def test_a_batch_that_the_broker_finds_too_large_is_split(self, cluster, admin, read):
        limited = f"limited-{next(_numbers)}"
        admin.create_topic(limited, partitions=3, replication=1, max_message_bytes=2000)
        with made(cluster, linger_ms=1000, batch_size=16_000) as client:
            futures = [client.send(limited, b"%0300d" % number, partition=0) for number in range(40)]
            client.flush(SECONDS_MAX)
            assert [future.result(0).offset for future in futures] == list(range(40))
        assert values(read(limited)) == [b"%0300d" % number for number in range(40)]

    def test_flush_tells_how_many_have_no_outcome(self, topic):
        """An address where nobody answers."""
        client = KafkaProducer(bootstrap_servers="127.0.0.1:1", max_block_ms=300)
        with pytest.raises(MetadataTimeout, match=r"127\.0\.0\.1:1"):
            client.send(topic, b"v")
        client.close(1)


class TestMany:
    def test_a_list_of_values(self, producer, topic, read):
        many = producer.send_many(topic, [b"%d" % number for number in range(500)], partition=1)
        told = many.result(SECONDS_MAX)
        assert len(many) == 500 and many.done()
        assert {each.partition for each in told} == {1}
        assert values(read(topic)) == [b"%d" % number for number in range(500)]

    def test_keys_headers_and_times_of_each(self, producer, topic, read):
        producer.send_many(
            topic,
            [b"a", b"b"],
            keys=[b"k1", None],
            headers=[[("h", b"1")], []],
            timestamps_ms=[1_700_000_000_000, 1_700_000_000_001],
            partition=0,
        ).result(SECONDS_MAX)
        found = [(each.key, each.headers, each.timestamp) for each in read(topic)]
        assert found == [(b"k1", [("h", b"1")], 1_700_000_000_000), (None, [], 1_700_000_000_001)]

    def test_more_than_the_buffer_holds(self, cluster, topic, read):
        with made(cluster, buffer_memory=5000, batch_size=1000) as client:
            client.send_many(topic, [bytes(100)] * 300, partition=0).result(SECONDS_MAX)
        assert len(read(topic)) == 300

    def test_columns_of_different_lengths_are_refused(self, producer, topic):
        with pytest.raises(ValueError, match="2 values, but 1 keys"):
            producer.send_many(topic, [b"a", b"b"], keys=[b"k"])

    def test_a_table_of_arrow(self, producer, topic, read):
        pa = pytest.importorskip("pyarrow")
        keys = [b"key-%d" % number for number in range(100)]
        table = pa.table({"value": [b"%d" % number for number in range(100)], "key": keys})
        assert len(producer.send_arrow(topic, table).result(SECONDS_MAX)) == PARTITIONS
        found = read(topic)
        assert {each.key: each.partition for each in found} == {key: partition_for(key, PARTITIONS) for key in keys}
        for index in range(PARTITIONS):
            mine = [int(each.value) for each in found if each.partition == index]
            assert mine == sorted(mine)

    def test_a_table_without_keys_and_one_with_places(self, producer, topic, read):
        pa = pytest.importorskip("pyarrow")
        producer.send_arrow(topic, pa.table({"value": [b"x" * 100] * 1000})).result(SECONDS_MAX)
        assert len(read(topic)) == 1000
        producer.send_arrow(topic, pa.table({"value": [b"two"], "partition": [2]})).result(SECONDS_MAX)
        assert b"two" in [each.value for each in read(topic) if each.partition == 2]

    def test_a_table_that_names_its_topics(self, producer, topics, topic, read):
        """Keys, headers and places may be null, columns are in chunks, strings are as good as bytes."""
        pa = pytest.importorskip("pyarrow")
        other = next(topics)
        headers = pa.array(
            [[("h", b"1"), ("h", None)], None, [], None],
            pa.large_list(pa.struct([("key", pa.large_string()), ("value", pa.large_binary())])),
        )
        rows = {
            "topic": pa.array([topic, other, topic, topic]),
            "key": pa.array(["k", None, "k", None], pa.large_string()),
            "value": pa.array(["first", None, "second", ""]),
            "headers": headers,
            "partition": pa.array([2, None, None, 1], pa.int64()),
        }
        table = pa.concat_tables([pa.table(rows).slice(0, 2), pa.table(rows).slice(2)])
        many = producer.send_arrow(None, table)
        assert {each.topic for each in many.result(SECONDS_MAX)} == {topic, other}
        assert len(many) == 4 and many.failures() == []
        found = {each.value: (each.partition, each.key, list(each.headers)) for each in read(topic)}
        assert found[b"first"] == (2, b"k", [("h", b"1"), ("h", None)])
        assert found[b"second"] == (partition_for(b"k", PARTITIONS), b"k", [])
        assert found[b""] == (1, None, [])

    def test_a_table_goes_where_the_partitioner_says(self, cluster, topic, read):
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"value": [b"%d" % number for number in range(6)], "key": [b"same"] * 6})
        with made(cluster, partitioner=RoundRobinPartitioner()) as client:
            client.send_arrow(topic, table).result(SECONDS_MAX)
        assert sorted(each.partition for each in read(topic)) == [0, 0, 1, 1, 2, 2]

    @pytest.mark.parametrize(
        ("column", "why"),
        [
            ({"topic": [None, "t"]}, "1 rows name no topic"),
            ({"topic": ["t", "t"], "partition": [0, -1]}, "partition -1 is less than 0"),
            ({"partition": [0, 1]}, "have a column topic"),
            ({"topic": ["t", "t"], "colour": [0, 1]}, "colour"),
        ],
    )
    def test_a_table_that_cannot_be_sent(self, producer, column, why):
        pa = pytest.importorskip("pyarrow")
        with pytest.raises(ValueError, match=why):
            producer.send_arrow(None, pa.table({"value": [b"a", b"b"], **column}))


@pytest.fixture
def transactional(cluster):
    with made(cluster, transactional_id=f"id-{next(_numbers)}") as client:
        client.init_transactions(SECONDS_MAX)
        yield client


NOT_OPEN = (errors.ProducerFenced, errors.InvalidProducerEpoch, errors.InvalidTxnState)


def copied(consumer, producer, topic, count):
    """Reads so many records, and writes a copy of each beside them."""
    deadline = time.monotonic() + SECONDS_MAX
    while count > 0:
        assert time.monotonic() < deadline
        for record in consumer.poll(1.0):
            producer.send(topic, b"copy of " + record.value, partition=1)
            count -= 1


class TestTransactions:
    @pytest.mark.contract("A143", "A146")
    def test_what_is_committed_is_read(self, transactional, topic, read):
        with transactional.transaction():
            for index in range(PARTITIONS):
                transactional.send(topic, b"v", partition=index)
            assert values(read(topic, "read_committed")) == []
        assert committed(read, topic, 3) == [b"v"] * 3

    @pytest.mark.contract("A151")
    def test_what_is_aborted_is_not(self, transactional, topic, read):
        transactional.begin_transaction()
        transactional.send(topic, b"never").result(SECONDS_MAX)
        transactional.abort_transaction()
        with transactional.transaction():
            transactional.send(topic, b"after")
        assert committed(read, topic, 1) == [b"after"]
        assert sorted(values(read(topic))) == [b"after", b"never"]

    def test_an_exception_aborts(self, transactional, topic, read):
        with pytest.raises(ZeroDivisionError), transactional.transaction():
            transactional.send(topic, b"never").result(SECONDS_MAX)
            raise ZeroDivisionError
        assert values(read(topic, "read_committed")) == []

    def test_records_that_were_not_sent_yet_are_told_of_the_abort(self, cluster, topic):
        with made(
            cluster, transactional_id=f"id-{next(_numbers)}", linger_ms=60_000, delivery_timeout_ms=120_000
        ) as client:
            client.init_transactions(SECONDS_MAX)
            client.begin_transaction()
            future = client.send(topic, b"v")
            client.abort_transaction()
            assert isinstance(future.exception(SECONDS_MAX), errors.KafkaError)

    def test_many_transactions_in_a_row(self, transactional, topic, read):
        for number in range(10):
            with transactional.transaction():
                transactional.send(topic, b"%d" % number, partition=0)
        assert committed(read, topic, 10) == [b"%d" % number for number in range(10)]

    def test_an_empty_transaction(self, transactional):
        with transactional.transaction():
            pass

    @pytest.mark.contract("A147", "A149")
    def test_the_order_of_calls_is_held_to(self, cluster, transactional, topic):
        with pytest.raises(TransactionStateError):
            transactional.send(topic, b"outside")
        with pytest.raises(TransactionStateError):
            transactional.commit_transaction()
        with pytest.raises(TransactionStateError):
            transactional.init_transactions()
        transactional.begin_transaction()
        with pytest.raises(TransactionStateError):
            transactional.begin_transaction()
        transactional.abort_transaction()

    def test_without_an_id_there_are_no_transactions(self, producer):
        with pytest.raises(TransactionStateError, match=r"transactional\.id"):
            producer.init_transactions()

    @pytest.mark.contract("A144", "A148")
    def test_a_second_producer_fences_the_first(self, cluster, topic):
        name = f"id-{next(_numbers)}"
        with made(cluster, transactional_id=name) as first, made(cluster, transactional_id=name) as second:
            first.init_transactions(SECONDS_MAX)
            first.begin_transaction()
            first.send(topic, b"v").result(SECONDS_MAX)
            second.init_transactions(SECONDS_MAX)
            with pytest.raises(errors.ProducerFenced):
                first.commit_transaction(SECONDS_MAX)
            with pytest.raises(errors.ProducerFenced):
                first.abort_transaction(SECONDS_MAX)
            with second.transaction():
                second.send(topic, b"second")

    def test_offsets_are_committed_with_the_transaction(self, transactional, admin, topic):
        group = f"group-{next(_numbers)}"
        place = TopicPartition(topic, 0)
        with transactional.transaction():
            transactional.send(topic, b"v")
            transactional.send_offsets_to_transaction({place: 5}, ConsumerGroupMetadata(group))
        deadline = time.monotonic() + SECONDS_MAX
        while (found := admin.list_group_offsets(group)[group].get(place)) is None:
            assert time.monotonic() < deadline
        assert found.offset == 5

    def test_a_transaction_with_a_consumer_copies_each_record_once(self, cluster, producer, transactional, topic, read):
        """What was read before an exception is read again, and what was written then is not seen."""
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)
        producer.flush(SECONDS_MAX)
        configs = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        with KafkaConsumer(bootstrap_servers=cluster, group_id=f"group-{next(_numbers)}", **configs) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            with pytest.raises(ZeroDivisionError), transactional.transaction(consumer):
                copied(consumer, transactional, topic, 10)
                raise ZeroDivisionError
            with transactional.transaction(consumer):
                copied(consumer, transactional, topic, 10)
            consumer.seek_to_committed()  # it waits until the coordinator has written what was committed
            assert consumer.position(TopicPartition(topic, 0)) == 10
        assert [value for value in committed(read, topic, 20) if value.startswith(b"copy")] == [
            b"copy of %d" % number for number in range(10)
        ]

    def test_a_prepared_transaction_is_committed_by_somebody_else(self, cluster, admin, topic, read):
        """Its producer is closed by then: the end needs no more than what it has told."""
        group, place = f"group-{next(_numbers)}", TopicPartition(topic, 0)
        with made(cluster, transactional_id=f"id-{next(_numbers)}", linger_ms=60_000) as client:
            client.init_transactions(SECONDS_MAX)
            client.begin_transaction()
            for index in range(PARTITIONS):
                client.send(topic, b"v", partition=index)
            client.send_offsets_to_transaction({place: 5}, ConsumerGroupMetadata(group))
            prepared = client.prepare_transaction(SECONDS_MAX)
            with pytest.raises(TransactionStateError, match="init_transactions"):
                client.send(topic, b"more")
        assert len(read(topic)) == 3 and not read(topic, "read_committed")
        told = PreparedTransaction(*json.loads(json.dumps(prepared)))
        admin.complete_transactions([told], is_commit=True, timeout=SECONDS_MAX).raise_any()
        assert committed(read, topic, 3) == [b"v"] * 3
        assert admin.list_group_offsets(group, require_stable=True)[group][place].offset == 5
        admin.complete_transactions([told], is_commit=True, timeout=SECONDS_MAX).raise_any()
        (refused,) = admin.complete_transactions([told], is_commit=False, timeout=SECONDS_MAX).errors.values()
        assert isinstance(refused, NOT_OPEN)

    def test_a_prepared_transaction_is_aborted_by_somebody_else(self, transactional, admin, topic, read):
        transactional.begin_transaction()
        transactional.send(topic, b"never")
        prepared = transactional.prepare_transaction(SECONDS_MAX)
        admin.complete_transactions([prepared], is_commit=False, timeout=SECONDS_MAX).raise_any()
        transactional.init_transactions(SECONDS_MAX)
        with transactional.transaction():
            transactional.send(topic, b"after")
        assert committed(read, topic, 1) == [b"after"]

    def test_what_was_prepared_and_begun_anew_cannot_be_committed(self, transactional, admin, topic, read):
        """A second attempt has the same transactional id: it aborts the first one, also when that has prepared."""
        transactional.begin_transaction()
        transactional.send(topic, b"first")
        first = transactional.prepare_transaction(SECONDS_MAX)
        transactional.init_transactions(SECONDS_MAX)
        transactional.begin_transaction()
        transactional.send(topic, b"second")
        second = transactional.prepare_transaction(SECONDS_MAX)
        (refused,) = admin.complete_transactions([first], is_commit=True, timeout=SECONDS_MAX).errors.values()
        assert isinstance(refused, NOT_OPEN)
        admin.complete_transactions([second], is_commit=True, timeout=SECONDS_MAX).raise_any()
        assert committed(read, topic, 1) == [b"second"]

    def test_a_producer_commits_what_it_has_prepared(self, transactional, admin, topic, read):
        transactional.begin_transaction()
        empty = transactional.prepare_transaction(SECONDS_MAX)
        assert empty.is_empty and not admin.complete_transactions([empty], is_commit=True)
        transactional.commit_transaction(SECONDS_MAX)
        transactional.begin_transaction()
        transactional.send(topic, b"v")
        transactional.prepare_transaction(SECONDS_MAX)
        transactional.commit_transaction(SECONDS_MAX)
        assert committed(read, topic, 1) == [b"v"]

    def test_offsets_of_an_aborted_transaction_are_not(self, transactional, admin, topic):
        group = f"group-{next(_numbers)}"
        transactional.begin_transaction()
        transactional.send_offsets_to_transaction({TopicPartition(topic, 0): 5}, ConsumerGroupMetadata(group))
        transactional.abort_transaction()
        assert not admin.list_group_offsets(group)[group]


class TestAsyncio:
    def run(self, cluster, work, **configs):
        async def main():
            async with aio.KafkaProducer(bootstrap_servers=cluster, linger_ms=0, **configs) as client:
                return await asyncio.wait_for(work(client), SECONDS_MAX)

        return asyncio.run(main())

    def test_send_is_accepted_and_its_future_is_awaited(self, cluster, topic, read):
        async def work(client):
            futures = [await client.send(topic, b"%d" % number, partition=0) for number in range(100)]
            return [(await future).offset for future in futures]

        assert self.run(cluster, work) == list(range(100))
        assert values(read(topic)) == [b"%d" % number for number in range(100)]

    def test_a_transaction_is_prepared_here_and_committed_elsewhere(self, cluster, topic, read):
        async def work(client):
            await client.init_transactions()
            await client.begin_transaction()
            await client.send(topic, b"v")
            prepared = await client.prepare_transaction()
            async with aio.AdminClient(bootstrap_servers=cluster) as admin:
                (await admin.complete_transactions([prepared], is_commit=True)).raise_any()

        self.run(cluster, work, transactional_id=f"id-{next(_numbers)}")
        assert committed(read, topic, 1) == [b"v"]

    def test_send_and_wait(self, cluster, topic):
        assert self.run(cluster, lambda client: client.send_and_wait(topic, b"v", partition=2)).partition == 2

    def test_a_small_buffer_slows_the_program_down(self, cluster, topic, read):
        async def work(client):
            for number in range(200):
                await client.send(topic, b"%0100d" % number, partition=0)
            await client.flush(SECONDS_MAX)

        self.run(cluster, work, buffer_memory=3000, batch_size=1000)
        assert values(read(topic)) == [b"%0100d" % number for number in range(200)]

    def test_who_waits_in_the_loop_is_told_to_await(self, cluster, topic):
        async def work(client):
            future = await client.send(topic, b"v")
            with pytest.raises(OwnThreadError, match="await"):
                future.result(5)
            return await future

        assert self.run(cluster, work).has_offset

    def test_a_cancelled_wait_leaves_the_record_alone(self, cluster, topic, read):
        async def work(client):
            future = await client.send(topic, b"v")
            waiting = asyncio.ensure_future(asyncio.wait_for(future, 0.000001))
            with pytest.raises(TimeoutError):
                await waiting
            return await future

        assert self.run(cluster, work).has_offset
        assert values(read(topic)) == [b"v"]

    def test_transactions(self, cluster, topic, read):
        async def work(client):
            await client.init_transactions(SECONDS_MAX)
            async with client.transaction():
                await client.send(topic, b"committed")
            with pytest.raises(ZeroDivisionError):
                async with client.transaction():
                    await client.send(topic, b"aborted")
                    raise ZeroDivisionError

        self.run(cluster, work, transactional_id=f"id-{next(_numbers)}")
        assert committed(read, topic, 1) == [b"committed"]

    def test_many_at_once(self, cluster, topic, read):
        async def work(client):
            many = await client.send_many(topic, [b"%0100d" % number for number in range(300)], partition=0)
            assert len(many) == 300
            return await many

        self.run(cluster, work, buffer_memory=5000, batch_size=1000)
        assert values(read(topic)) == [b"%0100d" % number for number in range(300)]

    def test_a_table_of_arrow(self, cluster, topic, read):
        pa = pytest.importorskip("pyarrow")

        async def work(client):
            return await (await client.send_arrow(topic, pa.table({"value": [bytes(100)] * 300}), partition=1))

        self.run(cluster, work, buffer_memory=5000, batch_size=1000)
        assert len(read(topic)) == 300

    def test_no_thread_is_started(self, cluster, topic):
        async def work(client):
            await client.send_and_wait(topic, b"v")
            return {thread.name for thread in threading.enumerate() if "network-thread" in thread.name}

        before = {thread.name for thread in threading.enumerate() if "network-thread" in thread.name}
        assert self.run(cluster, work) == before
