"""Programs for kafka-python, with one import line changed."""

import json
import threading
import time
from itertools import islice

import pytest

from odradek.compat.kafka_python import (
    ConsumerRebalanceListener,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewPartitions,
    NewTopic,
    OffsetAndMetadata,
    TopicPartition,
    errors,
)
from odradek.compat.kafka_python.configs import servers
from odradek.compat.kafka_python.serializer import Deserializer, Serializer

SECONDS_MAX = 30


@pytest.fixture
def topic(broker, request):
    name = f"topic-{abs(hash(request.node.nodeid))}"
    with KafkaAdminClient(bootstrap_servers=broker) as admin:
        admin.create_topics([NewTopic(name=name, num_partitions=2, replication_factor=1)])
    return name


@pytest.fixture
def producer(broker):
    with KafkaProducer(bootstrap_servers=[broker], linger_ms=0, api_version=(2, 0)) as made:
        yield made


def consumer(broker, *topics, **given):
    given.setdefault("auto_offset_reset", "earliest")
    return KafkaConsumer(*topics, bootstrap_servers=broker, consumer_timeout_ms=200, fetch_max_wait_ms=50, **given)


def read(reader, count):
    """So many records; iteration ends every now and then."""
    found = []
    until(lambda: found.extend(islice(reader, count - len(found))) or len(found) == count)
    return found


def until(question):
    deadline = time.monotonic() + SECONDS_MAX
    while not (answer := question()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return answer


def test_a_program_as_they_are_written(broker, topic):
    producer = KafkaProducer(
        bootstrap_servers=[broker],
        key_serializer=str.encode,
        value_serializer=lambda value: json.dumps(value).encode("utf-8"),
        acks="all",
        retries=3,
    )
    future = producer.send(topic, {"id": 1}, "k", [("trace", b"1")], 0)
    found = future.get(timeout=SECONDS_MAX)
    assert (found.topic, found.partition, found.offset, found.checksum) == (topic, 0, 0, None)
    assert found.topic_partition == TopicPartition(topic, 0)
    assert (found.serialized_key_size, found.serialized_value_size, found.serialized_header_size) == (1, 9, 6)
    producer.send(topic, value={"id": 2}, key="k", partition=0)
    producer.flush()
    producer.close()

    reader = consumer(
        broker, topic, group_id="g", value_deserializer=lambda data: json.loads(data.decode()), enable_auto_commit=False
    )
    records = [(each.partition, each.offset, each.key, each.value, list(each.headers)) for each in read(reader, 2)]
    assert records == [(0, 0, b"k", {"id": 1}, [("trace", b"1")]), (0, 1, b"k", {"id": 2}, [])]
    reader.commit()
    assert reader.committed(TopicPartition(topic, 0)) == 2
    assert reader.committed(TopicPartition(topic, 0), metadata=True).offset == 2
    assert reader.committed(TopicPartition(topic, 1)) in (None, 0)
    reader.close()


def test_callbacks_get_their_arguments_before_the_outcome(producer, topic):
    told = []
    future = producer.send(topic, b"a", partition=0)
    future.add_callback(lambda name, found: told.append((name, found.offset)), "first").add_errback(told.append)
    future.add_both(lambda found: told.append(found.partition))
    future.get(SECONDS_MAX)
    until(lambda: len(told) == 2)
    assert told == [("first", 0), 0]
    assert future.is_done and future.succeeded() and not future.failed() and future.value.offset == 0
    future.add_callback(lambda found: told.append("late"))
    assert told[-1] == "late"


def test_an_error_is_told_too(producer, topic):
    told = []
    future = producer.send(topic, bytes(900_000), partition=0)
    future.get(SECONDS_MAX)
    with pytest.raises(errors.MessageSizeTooLargeError):
        producer.send(topic, bytes(2_000_000), partition=0).add_errback(told.append).get(SECONDS_MAX)


def test_a_serializer_is_asked_about_none_as_well(broker, topic):
    with KafkaProducer(bootstrap_servers=broker, value_serializer=lambda value: json.dumps(value).encode()) as producer:
        assert producer.send(topic, None, partition=0).get(SECONDS_MAX).serialized_value_size == len("null")


class Shout(Serializer, Deserializer):
    def serialize(self, topic, headers, value):
        return value.upper().encode()

    def deserialize(self, topic, headers, data):
        return data.decode().lower()


class OldShout:
    def serialize(self, topic, value):
        return value.upper().encode()

    def deserialize(self, topic, data):
        return data.decode().lower()


@pytest.mark.parametrize("form", [Shout(), OldShout()])
def test_serializers_that_are_objects(broker, topic, form):
    with KafkaProducer(bootstrap_servers=broker, value_serializer=form) as producer:
        producer.send(topic, "abc", partition=0)
    with consumer(broker, topic, value_deserializer=form) as reader:
        assert read(reader, 1)[0].value == "abc"
    with consumer(broker, topic) as reader:
        assert read(reader, 1)[0].value == b"ABC"


def test_without_a_group_all_partitions_are_read(broker, producer, topic):
    for partition in (0, 1):
        producer.send(topic, b"x", partition=partition).get(SECONDS_MAX)
    with consumer(broker, topic) as reader:
        assert sorted(record.partition for record in read(reader, 2)) == [0, 1]
        assert reader.subscription() == {topic}
        assert reader.assignment() == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
        assert reader.partitions_for_topic(topic) == {0, 1}
        assert reader.partitions_for_topic("no-such-topic") is None
        assert topic in reader.topics()
    with consumer(broker) as reader:
        reader.subscribe(pattern=topic[:-1])
        assert len(read(reader, 2)) == 2


def test_partitions_that_appear_later_are_found(broker, producer, topic):
    with consumer(broker, topic) as reader, KafkaAdminClient(bootstrap_servers=broker) as admin:
        assert len(reader.assignment()) == 2
        admin.create_partitions({topic: NewPartitions(total_count=3)})
        until(lambda: reader.poll(50) or len(reader.assignment()) == 3)


def test_poll_gives_lists_by_partition(broker, producer, topic):
    for number in range(3):
        producer.send(topic, b"%d" % number, partition=0)
    producer.flush()
    with consumer(broker, topic) as reader:
        found = until(lambda: reader.poll(timeout_ms=500, max_records=2))
        ((place, records),) = found.items()
        assert place == TopicPartition(topic, 0) and [record.value for record in records] == [b"0", b"1"]
        assert reader.position(place) == 2
        assert reader.highwater(place) == 3
        reader.seek(place, 1)
        assert read(reader, 1)[0].offset == 1
        reader.seek_to_end(place)
        assert reader.position(place, timeout_ms=5000) == 3
        reader.seek_to_beginning()
        assert reader.position(place) == 0
        reader.pause(place)
        assert reader.paused() == {place}
        reader.resume(place)
        assert (reader.beginning_offsets([place]), reader.end_offsets([place])) == ({place: 0}, {place: 3})
        assert reader.offsets_for_times({place: 0})[place].offset == 0
        with pytest.raises(ValueError, match="not negative"):
            reader.offsets_for_times({place: -1})


def test_iteration_ends_after_its_time_and_can_go_on(broker, producer, topic):
    with KafkaConsumer(
        topic, bootstrap_servers=broker, consumer_timeout_ms=200, auto_offset_reset="earliest"
    ) as reader:
        assert list(reader) == []
        producer.send(topic, b"x", partition=0).get(SECONDS_MAX)
        assert until(lambda: [record.value for record in reader]) == [b"x"]


def test_a_group_with_a_listener(broker, producer, topic):
    told = []

    class Listener(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            told.append(("assigned", set(assigned)))

        def on_partitions_revoked(self, revoked):
            told.append(("revoked", set(revoked)))

    with consumer(broker, group_id=f"group-{topic}") as reader:
        reader.subscribe(pattern=f"^{topic[:-2]}", listener=Listener())
        until(lambda: reader.poll(100) or reader.assignment())
        metadata = reader.group_metadata()
        assert (metadata.group_id, metadata.state.name) == (f"group-{topic}", "STABLE")
        seen = []
        asking = threading.Thread(target=lambda: seen.append(reader.group_metadata()))
        asking.start()
        reader.poll(100)
        asking.join(SECONDS_MAX)
        assert seen == [metadata]
        future = reader.commit_async({TopicPartition(topic, 0): OffsetAndMetadata(0, "mine", -1)})
        until(lambda: reader.poll(50) or future.is_done)
        assert future.succeeded()
        assert reader.committed(TopicPartition(topic, 0), metadata=True).metadata == "mine"
    both = {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    assert told == [("assigned", both), ("revoked", both)]


def test_a_partitioner_of_the_programs_own(broker, topic):
    asked = []

    def last(key, every, available):
        asked.append((key, every, available))
        return every[-1]

    with KafkaProducer(bootstrap_servers=broker, partitioner=last) as producer:
        assert producer.send(topic, b"v", b"k").get(SECONDS_MAX).partition == 1
        assert producer.partitions_for(topic) == {0, 1}
    assert asked[0] == (b"k", [0, 1], [0, 1])


def test_a_transaction(broker, topic):
    with KafkaProducer(bootstrap_servers=broker, transactional_id=f"t-{topic}") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"dropped", partition=0)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"kept", partition=0)
        offsets = {TopicPartition(topic, 0): OffsetAndMetadata(1, "mine", 0)}
        producer.send_offsets_to_transaction(offsets, f"g-{topic}")
        producer.commit_transaction()
    with consumer(broker, topic, isolation_level="read_committed", group_id=None) as reader:
        assert [record.value for record in read(reader, 1)] == [b"kept"]
    with consumer(broker, group_id=f"g-{topic}") as reader:
        assert reader.committed(TopicPartition(topic, 0), metadata=True) == (1, "mine", 0)


def test_what_is_wrong(broker):
    with pytest.raises(TypeError, match="did you mean linger_ms"):
        KafkaProducer(bootstrap_servers=broker, linger_s=1)
    with pytest.raises(ValueError, match="socks5_proxy is not there"):
        KafkaProducer(bootstrap_servers=broker, socks5_proxy="socks5://x")
    with consumer(broker) as reader, pytest.raises(ValueError, match="topics or a pattern"):
        reader.subscribe()
    with KafkaConsumer(bootstrap_servers="127.0.0.1:1") as reader, pytest.raises(errors.KafkaTimeoutError):
        reader.bootstrap(timeout_ms=300)


def test_a_port_that_is_not_given():
    assert servers("a,b:1, c") == ["a:9092", "b:1", "c:9092"]
    assert servers(["[::1]", "[::1]:1"]) == ["[::1]:9092", "[::1]:1"]


def test_their_names_of_errors():
    assert issubclass(errors.NotLeaderForPartitionError, errors.KafkaError)
    assert errors.UnknownTopicOrPartitionError.code == 3
    assert errors.TopicAuthorizationFailedError.code == 29
    assert errors.SaslAuthenticationFailedError.code == 58
    assert errors.for_code(6) is errors.NotLeaderForPartitionError
