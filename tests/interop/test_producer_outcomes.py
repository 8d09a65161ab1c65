"""More of what a producer does and is told with whole brokers, ours and Apache Kafka's: what brokers refuse, every
serializer and partitioner, tables of Arrow, transactions that go wrong.
"""

import struct
import threading
import time
import uuid

import pytest
from test_producer_client import (
    PARTITIONS,
    SECONDS_MAX,
    Noting,
    admin,  # noqa: F401 - this and the next ones are fixtures
    cluster,  # noqa: F401
    committed,
    made,
    producer,  # noqa: F401
    read,  # noqa: F401
    readers,  # noqa: F401
    topic,  # noqa: F401
    topics,  # noqa: F401
    transactional,  # noqa: F401
    values,
)

from odradek import TopicPartition, errors
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.producer.errors import ClosedBeforeSent, MetadataTimeout
from odradek.client.producer.partitioners import DefaultPartitioner
from odradek.client.producer.transaction_states import TransactionStateError
from odradek.records.murmur2 import partition_for

# ruff: noqa: F811 - a fixture has the name of what it is
NOW_MS = int(time.time() * 1000)
SERIALIZED = {
    "StringSerializer": ("grüße", "grüße".encode()),
    "IntegerSerializer": (-5, b"\xff\xff\xff\xfb"),
    "LongSerializer": (2**40, struct.pack(">q", 2**40)),
    "ShortSerializer": (-2, b"\xff\xfe"),
    "FloatSerializer": (1.5, struct.pack(">f", 1.5)),
    "DoubleSerializer": (1.5, struct.pack(">d", 1.5)),
    "BooleanSerializer": (True, b"\x01"),
    "UUIDSerializer": (uuid.UUID(int=7), b"00000000-0000-0000-0000-000000000007"),
    "ByteArraySerializer": (b"as it is", b"as it is"),
    "VoidSerializer": (None, None),
}
LEVELS = {
    "gzip": {"compression_gzip_level": 9},
    "lz4": {"compression_lz4_level": 1},
    "zstd": {"compression_zstd_level": 10},
}
PARTITIONERS = {
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": [0, 1, 2],
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": [partition_for(b"key", PARTITIONS)] * 3,
}
WRONG_USE = {
    "a value that is no bytes": (lambda client, topic: client.send(topic, 5), errors.KafkaError, "value"),
    "a key that is no bytes": (lambda client, topic: client.send(topic, b"v", "k"), errors.KafkaError, "key"),
    "a partition below zero": (lambda client, topic: client.send(topic, b"v", partition=-1), ValueError, ""),
    "values without a length": (
        lambda client, topic: client.send_many(topic, (each for each in [b"v"])),
        TypeError,
        "give list",
    ),
    "too few headers for many": (
        lambda client, topic: client.send_many(topic, [b"a", b"b"], headers=[[]]),
        ValueError,
        "2 values, but 1 headers",
    ),
    "too few times for many": (
        lambda client, topic: client.send_many(topic, [b"a", b"b"], timestamps_ms=[1]),
        ValueError,
        "2 values, but 1 timestamps_ms",
    ),
    "a transaction without an id": (
        lambda client, topic: client.begin_transaction(),
        TransactionStateError,
        "transactional.id",
    ),
}


def metrics(client):
    return {name.name: value for name, value in client.metrics().items()}


def is_newer(request):
    return "4.3" in request.node.callspec.params["cluster"]


def settled(call, is_good=bool):
    """What the call gives when it is good."""
    deadline = time.monotonic() + SECONDS_MAX
    while not is_good(answer := call()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.02)
    return answer


@pytest.fixture
def own(admin, request):
    """A topic with configs of its own."""

    def topic_with(partitions=PARTITIONS, **configs):
        name = f"own-{uuid.uuid4().hex[:12]}"
        admin.create_topic(name, partitions, 1, **configs)
        settled(lambda: name in admin.describe_topics([name]).values_ok)
        return name

    return topic_with


class TestRefusedByTheBroker:
    @pytest.mark.parametrize("acks", ["all", "1"])
    def test_a_record_without_a_key_where_they_are_compacted(self, cluster, own, read, acks):
        compacted = own(cleanup_policy="compact")
        with made(cluster, acks=acks, enable_idempotence=False) as client:
            assert isinstance(client.send(compacted, b"v").exception(SECONDS_MAX), errors.InvalidRecord)
            assert client.send(compacted, b"v", b"k").result(SECONDS_MAX).has_offset
        assert values(read(compacted)) == [b"v"]

    def test_more_replicas_in_sync_than_there_are(self, cluster, own, read, request):
        """4.3 asks for no more of them than the topic has."""
        strict = own(min_insync_replicas=2)
        with made(cluster, acks="1", enable_idempotence=False) as client:
            assert client.send(strict, b"to the leader", partition=0).result(SECONDS_MAX).has_offset
        with made(cluster, retries=0, enable_idempotence=False) as client:
            error = client.send(strict, b"to all", partition=0).exception(SECONDS_MAX)
        if is_newer(request):
            assert error is None and values(read(strict)) == [b"to the leader", b"to all"]
        else:
            assert isinstance(error, errors.NotEnoughReplicas) and values(read(strict)) == [b"to the leader"]

    def test_a_time_too_far_from_the_broker_s(self, cluster, own, request):
        limit = "message_timestamp_before_max_ms" if is_newer(request) else "message_timestamp_difference_max_ms"
        limited = own(**{limit: 600_000})
        with made(cluster) as client:
            old = client.send(limited, b"v", timestamp_ms=NOW_MS - 7_200_000, partition=0).exception(SECONDS_MAX)
            assert isinstance(old, errors.InvalidRecord) and "out of range" in str(old)
            assert client.send(limited, b"v", timestamp_ms=int(time.time() * 1000)).result(SECONDS_MAX).has_offset

    def test_of_a_batch_with_one_wrong_record_none_is_written(self, cluster, own, read):
        compacted = own(cleanup_policy="compact")
        with made(cluster, linger_ms=1000) as client:
            futures = [client.send(compacted, b"v", key, partition=0) for key in (b"k", None, b"k")]
            client.flush(SECONDS_MAX)
            assert all(isinstance(each.exception(0), errors.KafkaError) for each in futures)
            assert isinstance(futures[1].exception(0), errors.InvalidRecord)
        assert values(read(compacted)) == []

    def test_its_callback_and_interceptor_are_told(self, cluster, own):
        limited, told, noting = own(max_message_bytes=500), [], Noting()
        with made(cluster, interceptors=[noting]) as client:
            client.send(limited, bytes(2000), partition=1, callback=lambda *outcome: told.append(outcome))
            client.flush(SECONDS_MAX)
        ((_, error),) = told
        assert isinstance(error, errors.MessageTooLarge)
        ((partition, offset, also),) = noting.acked
        assert (partition, offset) == (1, -1) and isinstance(also, errors.MessageTooLarge)

    def test_a_refusal_is_counted_and_the_next_record_is_written(self, cluster, own):
        limited = own(max_message_bytes=500)
        with made(cluster) as client:
            client.send(limited, bytes(2000)).exception(SECONDS_MAX)
            client.send(limited, b"small").result(SECONDS_MAX)
            counted = settled(lambda: metrics(client), lambda told: told["record-send-total"] >= 1)
        assert counted["record-error-total"] == 1

    def test_a_larger_limit_of_the_topic_counts(self, cluster, own, read):
        roomy = own(max_message_bytes=3_000_000)
        with made(cluster, max_request_size=3_000_000) as client:
            assert client.send(roomy, bytes(2_000_000), partition=0).result(SECONDS_MAX).offset == 0
        assert len(read(roomy)[0].value) == 2_000_000


class TestTimes:
    def test_a_topic_may_take_the_broker_s(self, cluster, own, read):
        stamped = own(message_timestamp_type="LogAppendTime")
        with made(cluster) as client:
            told = client.send(stamped, b"v", timestamp_ms=1000, partition=0).result(SECONDS_MAX)
        (found,) = read(stamped)
        assert found.timestamp == told.timestamp >= NOW_MS - 600_000
        assert found.timestamp_type == 1

    def test_the_earliest_time_there_is(self, producer, topic, read):
        assert producer.send(topic, b"v", timestamp_ms=0).result(SECONDS_MAX).timestamp == 0
        assert (read(topic)[0].timestamp, read(topic)[0].timestamp_type) == (0, 0)

    def test_times_of_a_batch_may_go_back(self, producer, topic, read):
        times = [5000, 1000, 3000]
        producer.send_many(topic, [b"v"] * 3, timestamps_ms=times, partition=0).result(SECONDS_MAX)
        assert [each.timestamp for each in read(topic)] == times


class TestWrongUse:
    @pytest.mark.parametrize("what", WRONG_USE)
    def test_it_is_named_at_once(self, producer, topic, what):
        call, error, words = WRONG_USE[what]
        with pytest.raises(error, match=words or None):
            call(producer, topic)

    def test_the_producer_works_on(self, producer, topic):
        with pytest.raises(errors.KafkaError):
            producer.send(topic, object())
        assert producer.send(topic, b"v").result(SECONDS_MAX).has_offset


class TestBytes:
    @pytest.mark.parametrize("name", SERIALIZED)
    def test_every_serializer_that_java_s_programs_name(self, cluster, topic, read, name):
        value, data = SERIALIZED[name]
        configs = {"value.serializer": f"org.apache.kafka.common.serialization.{name}", "bootstrap.servers": cluster}
        with type_of_producer()(configs) as client:
            client.send(topic, value, partition=0).result(SECONDS_MAX)
        assert values(read(topic)) == [data]

    @pytest.mark.parametrize("codec", LEVELS)
    def test_levels_of_compression(self, cluster, topic, read, codec):
        with made(cluster, compression_type=codec, linger_ms=1000, **LEVELS[codec]) as client:
            for number in range(100):
                client.send(topic, b"again and again %d" % number, partition=0, headers=[("h", b"x" * 50)])
            client.flush(SECONDS_MAX)
        found = read(topic)
        assert [each.value for each in found] == [b"again and again %d" % number for number in range(100)]
        assert {tuple(each.headers) for each in found} == {(("h", b"x" * 50),)}

    def test_a_topic_may_compress_by_itself(self, cluster, own, read):
        squeezed = own(compression_type="gzip")
        with made(cluster, linger_ms=1000) as client:
            many = client.send_many(squeezed, [b"the same again"] * 50, partition=0)
            client.flush(SECONDS_MAX)
            assert many.result(SECONDS_MAX)[0].offset == 0
        assert values(read(squeezed)) == [b"the same again"] * 50

    def test_a_topic_may_want_it_plain(self, cluster, own, read):
        plain = own(compression_type="uncompressed")
        with made(cluster, compression_type="gzip", linger_ms=1000) as client:
            for _ in range(20):
                client.send(plain, b"the same again", partition=0)
            client.flush(SECONDS_MAX)
        assert values(read(plain)) == [b"the same again"] * 20

    def test_many_headers_and_large_ones(self, producer, topic, read):
        headers = [(f"name-{number}-ü", b"%d" % number * 100) for number in range(200)]
        producer.send(topic, b"v", headers=headers).result(SECONDS_MAX)
        assert read(topic)[0].headers == headers

    def test_a_record_as_large_as_a_request_may_be(self, cluster, topic, read):
        with made(cluster, max_request_size=20_000) as client:
            with pytest.raises(errors.MessageTooLarge, match=r"max\.request\.size"):
                client.send(topic, bytes(20_001), partition=0)
            client.send(topic, bytes(19_900), partition=0).result(SECONDS_MAX)
        assert len(read(topic)[0].value) == 19_900

    def test_batches_of_one(self, cluster, topic, read):
        with made(cluster, batch_size=0) as client:
            futures = [client.send(topic, b"%d" % number, partition=0) for number in range(30)]
            assert [each.result(SECONDS_MAX).offset for each in futures] == list(range(30))
        assert values(read(topic)) == [b"%d" % number for number in range(30)]


def type_of_producer():
    from odradek import KafkaProducer

    return KafkaProducer


class TestPlaces:
    @pytest.mark.parametrize("name", PARTITIONERS)
    def test_partitioners_that_java_s_programs_name(self, cluster, topic, name):
        with made(cluster, partitioner_class=name) as client:
            futures = [client.send(topic, b"v", b"key") for _ in range(3)]
            assert [each.result(SECONDS_MAX).partition for each in futures] == PARTITIONERS[name]

    def test_the_default_of_3_0_stays_with_a_batch(self, cluster, topic):
        with made(cluster, partitioner=DefaultPartitioner, linger_ms=1000) as client:
            futures = [client.send(topic, b"v") for _ in range(10)]
            client.flush(SECONDS_MAX)
            assert len({each.result(0).partition for each in futures}) == 1

    def test_an_empty_key_is_a_key(self, producer, topic):
        told = [producer.send(topic, b"v", b"").result(SECONDS_MAX).partition for _ in range(3)]
        assert told == [partition_for(b"", PARTITIONS)] * 3

    def test_one_of_the_program_s_own_sees_all(self, cluster, topic):
        seen = []

        class Own:
            def partition(self, *arguments):
                seen.append(arguments)
                return 2

        with made(cluster, partitioner=Own(), key_serializer=str.encode) as client:
            assert client.send(topic, b"v", "key").result(SECONDS_MAX).partition == 2
        ((name, key, key_bytes, value, value_bytes, known),) = seen
        assert (name, key, key_bytes, value, value_bytes) == (topic, "key", b"key", b"v", b"v")
        assert len(known.partitions(topic)) == PARTITIONS

    def test_one_of_the_program_s_own_is_told_of_new_batches(self, cluster, topic):
        told = []

        class Own:
            def partition(self, *_):
                return 1

            def on_new_batch(self, *arguments):
                told.append(arguments[2])

        with made(cluster, partitioner=Own(), linger_ms=1000, batch_size=300) as client:
            for _ in range(3):
                client.send(topic, bytes(200))
            client.flush(SECONDS_MAX)
        assert told and set(told) == {1}

    def test_one_that_fails_is_the_caller_s_error(self, cluster, topic):
        def fails(*_):
            raise ZeroDivisionError

        with made(cluster, partitioner=fails) as client, pytest.raises(ZeroDivisionError):
            client.send(topic, b"v")

    def test_it_is_not_asked_where_a_partition_is_named(self, cluster, topic):
        with made(cluster, partitioner=lambda *_: 0) as client:
            assert client.send(topic, b"v", partition=2).result(SECONDS_MAX).partition == 2

    def test_without_being_adaptive_all_get_their_share(self, cluster, topic, read):
        with made(cluster, partitioner_adaptive_partitioning_enable=False, batch_size=400) as client:
            for _ in range(300):
                client.send(topic, bytes(100))
        assert {each.partition for each in read(topic)} == {0, 1, 2}


class TestMany:
    def test_none_at_all(self, producer, topic):
        many = producer.send_many(topic, [])
        assert (len(many), many.done(), many.result(0)) == (0, True, [])

    def test_keys_place_them(self, producer, topic, read):
        keys = [b"%d" % number for number in range(50)]
        producer.send_many(topic, [b"v"] * 50, keys=keys).result(SECONDS_MAX)
        assert {each.key: each.partition for each in read(topic)} == {
            key: partition_for(key, PARTITIONS) for key in keys
        }

    def test_null_values(self, producer, topic, read):
        producer.send_many(topic, [None, b"v", None], keys=[b"a", b"b", b"c"], partition=0).result(SECONDS_MAX)
        assert values(read(topic)) == [None, b"v", None]

    def test_one_that_is_too_large_stops_those_behind_it(self, producer, topic, read):
        with pytest.raises(errors.MessageTooLarge):
            producer.send_many(topic, [b"before", bytes(2_000_000), b"behind"], partition=0)
        producer.flush(SECONDS_MAX)
        assert values(read(topic)) == [b"before"]

    def test_serializers_make_their_bytes(self, cluster, topic, read):
        with made(cluster, value_serializer=str.encode) as client:
            client.send_many(topic, ["a", "b"], partition=0).result(SECONDS_MAX)
        assert values(read(topic)) == [b"a", b"b"]

    def test_a_refusal_by_the_broker_is_that_of_the_whole(self, cluster, own):
        with made(cluster) as client:
            many = client.send_many(own(cleanup_policy="compact"), [b"v"] * 5)
            assert isinstance(many.exception(SECONDS_MAX), errors.InvalidRecord)


class TestArrow:
    @pytest.fixture
    def pa(self):
        return pytest.importorskip("pyarrow")

    def test_all_columns(self, producer, topic, read, pa):
        headers = pa.array(
            [[{"key": "h", "value": b"1"}], []], pa.list_(pa.struct([("key", "string"), ("value", "binary")]))
        )
        table = pa.table(
            {
                "value": pa.array([b"a", None], "binary"),
                "key": pa.array([None, b"k"], "binary"),
                "timestamp": pa.array([1000, 2000], "int64"),
                "headers": headers,
                "partition": pa.array([2, 2], "int32"),
            }
        )
        producer.send_arrow(topic, table).result(SECONDS_MAX)
        assert [(each.partition, each.key, each.value, each.timestamp, each.headers) for each in read(topic)] == [
            (2, None, b"a", 1000, [("h", b"1")]),
            (2, b"k", None, 2000, []),
        ]

    def test_a_batch_of_records(self, producer, topic, read, pa):
        batch = pa.record_batch({"value": pa.array([b"a", b"b"], "binary")})
        producer.send_arrow(topic, batch, partition=1).result(SECONDS_MAX)
        assert values(read(topic)) == [b"a", b"b"]

    def test_no_rows(self, producer, topic, pa):
        many = producer.send_arrow(topic, pa.table({"value": pa.array([], "binary")}))
        assert (len(many), many.result(0)) == (0, [])

    def test_a_partition_is_named_for_all(self, producer, topic, read, pa):
        producer.send_arrow(topic, pa.table({"value": [b"a"] * 5, "key": [b"k"] * 5}), partition=1).result(SECONDS_MAX)
        assert {each.partition for each in read(topic)} == {1}

    def test_columns_that_no_record_has(self, producer, topic, pa):
        with pytest.raises(ValueError, match="unknown columns"):
            producer.send_arrow(topic, pa.table({"value": [b"a"], "colour": ["red"]}))
        with pytest.raises(ValueError, match="column value"):
            producer.send_arrow(topic, pa.table({"key": [b"a"]}))

    def test_in_a_transaction(self, transactional, topic, read, pa):
        with transactional.transaction():
            transactional.send_arrow(topic, pa.table({"value": [b"a"] * 10}), partition=0)
        assert committed(read, topic, 10) == [b"a"] * 10


class TestWaiting:
    def test_a_future_that_has_no_outcome_in_time(self, cluster, topic):
        with made(cluster, linger_ms=60_000, delivery_timeout_ms=120_000) as client:
            future = client.send(topic, b"v")
            with pytest.raises(TimeoutError):
                future.result(0.05)
            client.flush(SECONDS_MAX)
            assert future.exception(0) is None

    def test_flush_from_several_threads(self, cluster, topic):
        with made(cluster, linger_ms=60_000, delivery_timeout_ms=120_000) as client:
            futures = [client.send(topic, b"v") for _ in range(5)]
            threads = [threading.Thread(target=client.flush, args=(SECONDS_MAX,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(SECONDS_MAX)
            assert all(each.done() for each in futures)

    def test_a_close_without_time_tells_what_was_not_sent(self, cluster, topic):
        client = made(cluster, linger_ms=60_000, delivery_timeout_ms=120_000)
        future = client.send(topic, b"v")
        client.close(0)
        assert isinstance(future.exception(SECONDS_MAX), ClosedBeforeSent)

    def test_an_error_in_the_block_closes_as_well(self, cluster, topic, read):
        with pytest.raises(ZeroDivisionError), made(cluster, linger_ms=60_000, delivery_timeout_ms=120_000) as client:
            client.send(topic, b"v", partition=0)
            raise ZeroDivisionError
        assert values(read(topic)) == [b"v"]

    def test_a_name_that_nobody_has_made(self, cluster, own):
        with made(cluster, max_block_ms=300) as client, pytest.raises((MetadataTimeout, errors.InvalidTopicException)):
            client.send("a name, and no topic", b"v")

    def test_nobody_to_flush_to(self):
        """An address where nobody answers."""
        with made("127.0.0.1:1", max_block_ms=100) as client:
            client.flush(0.1)
            assert client.metrics() == {}


class TestCounting:
    def test_records_batches_and_bytes(self, cluster, topic):
        with made(cluster, linger_ms=1000) as client:
            for _ in range(40):
                client.send(topic, bytes(100), partition=0)
            client.flush(SECONDS_MAX)
            counted = settled(lambda: metrics(client), lambda told: told["record-send-total"] == 40)
        assert counted["batch-size-avg"] > 4000 and counted["records-per-request-avg"] == 40
        assert counted["record-error-total"] == counted["record-retry-total"] == counted["batch-split-total"] == 0

    def test_splits_are_counted(self, cluster, own):
        with made(cluster, linger_ms=1000) as client:
            limited = own(max_message_bytes=2000)
            futures = [client.send(limited, bytes(300), partition=0) for _ in range(20)]
            client.flush(SECONDS_MAX)
            assert [each.result(0).offset for each in futures] == list(range(20))
            assert metrics(client)["batch-split-total"] >= 1

    def test_names_have_the_group_and_the_client(self, cluster, topic):
        with made(cluster, client_id="counted") as client:
            client.send(topic, b"v").result(SECONDS_MAX)
            names = [each for each in client.metrics() if each.name == "record-send-total"]
        assert [(each.group, dict(each.tags)) for each in names] == [("producer-metrics", {"client-id": "counted"})]


class TestIdempotence:
    def test_brokers_remember_the_last_number(self, cluster, admin, topic):
        with made(cluster) as client:
            client.send_many(topic, [b"v"] * 7, partition=0).result(SECONDS_MAX)
            (state,) = admin.describe_producers([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
        assert (state.last_sequence, state.producer_epoch, state.transaction_start_offset) == (6, 0, None)

    def test_without_it_nobody_is_remembered(self, cluster, admin, topic):
        with made(cluster, enable_idempotence=False) as client:
            client.send(topic, b"v", partition=0).result(SECONDS_MAX)
        assert admin.describe_producers([TopicPartition(topic, 0)])[TopicPartition(topic, 0)] == ()

    def test_every_producer_has_its_own_number(self, cluster, admin, topic):
        for _ in range(2):
            with made(cluster) as client:
                client.send(topic, b"v", partition=0).result(SECONDS_MAX)
        found = admin.describe_producers([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
        assert len({each.producer_id for each in found}) == 2

    @pytest.mark.parametrize("acks", [-1, "-1", "all"])
    def test_all_replicas_are_asked_for_by_any_of_their_names(self, cluster, topic, acks):
        with made(cluster, acks=acks) as client:
            assert client.send(topic, b"v", partition=0).result(SECONDS_MAX).offset == 0


class TestTransactions:
    def test_several_topics_at_once(self, transactional, own, read):
        one, two = own(), own()
        with transactional.transaction():
            transactional.send(one, b"1", partition=0)
            transactional.send(two, b"2", partition=1)
            assert values(read(one, "read_committed")) == values(read(two, "read_committed")) == []
        assert committed(read, one, 1) == [b"1"] and committed(read, two, 1) == [b"2"]

    def test_more_time_than_brokers_allow(self, cluster):
        with (
            made(cluster, transactional_id=str(uuid.uuid4()), transaction_timeout_ms=3_600_000) as client,
            pytest.raises(errors.InvalidTransactionTimeout),
        ):
            client.init_transactions(SECONDS_MAX)

    def test_offsets_of_a_member_that_is_none(self, transactional, topic, read):
        transactional.begin_transaction()
        transactional.send(topic, b"never", partition=0)
        stranger = ConsumerGroupMetadata(f"group-{uuid.uuid4()}", 5, "nobody")
        with pytest.raises(errors.KafkaError):
            transactional.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, stranger)
        with pytest.raises(errors.KafkaError):
            transactional.commit_transaction(SECONDS_MAX)
        transactional.abort_transaction(SECONDS_MAX)
        with transactional.transaction():
            transactional.send(topic, b"after", partition=0)
        assert committed(read, topic, 1) == [b"after"]

    def test_a_record_that_the_broker_refuses(self, transactional, own, read):
        compacted = own(cleanup_policy="compact")
        transactional.begin_transaction()
        transactional.send(compacted, b"good", b"k", partition=0)
        transactional.send(compacted, b"no key", partition=0)
        with pytest.raises(errors.KafkaError):
            transactional.commit_transaction(SECONDS_MAX)
        transactional.abort_transaction(SECONDS_MAX)
        with transactional.transaction():
            transactional.send(compacted, b"again", b"k", partition=0)
        assert committed(read, compacted, 1) == [b"again"]

    def test_the_next_producer_ends_what_the_last_one_left(self, cluster, topic, read):
        name = str(uuid.uuid4())
        with made(cluster, transactional_id=name) as first:
            first.init_transactions(SECONDS_MAX)
            first.begin_transaction()
            first.send(topic, b"left", partition=0).result(SECONDS_MAX)
            with made(cluster, transactional_id=name) as second:
                second.init_transactions(SECONDS_MAX)
                with second.transaction():
                    second.send(topic, b"kept", partition=0)
                assert committed(read, topic, 1) == [b"kept"]

    def test_two_ids_do_not_disturb_each_other(self, cluster, transactional, topic, read):
        with made(cluster, transactional_id=str(uuid.uuid4())) as other:
            other.init_transactions(SECONDS_MAX)
            transactional.begin_transaction()
            other.begin_transaction()
            transactional.send(topic, b"aborted", partition=0).result(SECONDS_MAX)
            other.send(topic, b"kept", partition=0).result(SECONDS_MAX)
            other.commit_transaction()
            assert values(read(topic, "read_committed")) == [], "the first one is still open"
            transactional.abort_transaction()
            assert committed(read, topic, 1) == [b"kept"]

    def test_a_commit_waits_for_all_that_was_sent(self, cluster, topic, read):
        with made(cluster, transactional_id=str(uuid.uuid4()), linger_ms=60_000, delivery_timeout_ms=120_000) as client:
            client.init_transactions(SECONDS_MAX)
            with client.transaction():
                futures = [client.send(topic, b"v", partition=0) for _ in range(10)]
            assert all(each.done() for each in futures)
        assert len(committed(read, topic, 10)) == 10

    def test_offsets_alone_make_a_transaction(self, transactional, admin, topic):
        group, place = f"group-{uuid.uuid4()}", TopicPartition(topic, 0)
        with transactional.transaction():
            transactional.send_offsets_to_transaction({place: 7}, ConsumerGroupMetadata(group))
        found = settled(lambda: admin.list_group_offsets(group)[group].get(place))
        assert found.offset == 7

    def test_offsets_of_an_open_one_are_not_told_yet(self, transactional, admin, topic):
        group, place = f"group-{uuid.uuid4()}", TopicPartition(topic, 0)
        transactional.begin_transaction()
        transactional.send_offsets_to_transaction({place: 7}, ConsumerGroupMetadata(group))
        assert admin.list_group_offsets(group)[group] == {}
        error = admin.list_group_offsets({group: [place]}, require_stable=True, timeout=0.5).errors[group]
        assert isinstance(error, errors.RequestTimedOut)
        transactional.commit_transaction()
        assert admin.list_group_offsets({group: [place]}, require_stable=True)[group][place].offset == 7

    def test_no_offsets_at_all(self, transactional):
        with transactional.transaction():
            transactional.send_offsets_to_transaction({}, ConsumerGroupMetadata("nobody"))

    def test_many_partitions_and_batches(self, cluster, topic, read):
        with made(cluster, transactional_id=str(uuid.uuid4()), batch_size=300) as client:
            client.init_transactions(SECONDS_MAX)
            with client.transaction():
                for number in range(90):
                    client.send(topic, b"%d" % number, partition=number % PARTITIONS)
        found = committed(read, topic, 90)
        assert sorted(map(int, found)) == list(range(90))

    def test_a_closed_one_can_be_followed_at_once(self, cluster, topic, read):
        name = str(uuid.uuid4())
        for number in range(3):
            with made(cluster, transactional_id=name) as client:
                client.init_transactions(SECONDS_MAX)
                with client.transaction():
                    client.send(topic, b"%d" % number, partition=0)
        assert committed(read, topic, 3) == [b"0", b"1", b"2"]

    def test_flush_inside_of_one(self, transactional, topic, read):
        with transactional.transaction():
            future = transactional.send(topic, b"v", partition=0)
            transactional.flush(SECONDS_MAX)
            assert future.done()
            assert values(read(topic)) == [b"v"] and values(read(topic, "read_committed")) == []
        assert committed(read, topic, 1) == [b"v"]
