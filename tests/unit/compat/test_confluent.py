"""Programs for confluent-kafka, with one import line changed."""

import time

import pytest

from odradek import AdminClient
from odradek.compat.confluent import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

SECONDS_MAX = 30


@pytest.fixture
def topic(broker, request):
    name = f"ck-{abs(hash(request.node.nodeid))}"
    with AdminClient(bootstrap_servers=broker) as admin:
        admin.create_topic(name, partitions=2)
    return name


def consumer(broker, group, **more):
    config = {"bootstrap.servers": broker, "group.id": group, "auto.offset.reset": "smallest", "fetch.wait.max.ms": 50}
    return Consumer({**config, **more})


def one(reader):
    deadline = time.monotonic() + SECONDS_MAX
    while (message := reader.poll(0.2)) is None:
        assert time.monotonic() < deadline
    return message


def test_a_program_as_they_are_written(broker, topic):
    told = []
    producer = Producer({"bootstrap.servers": broker, "queue.buffering.max.ms": 1, "debug": "all"})
    producer.produce(
        topic, key="k", value="v", partition=0, headers={"a": b"1"}, callback=lambda *each: told.append(each)
    )
    assert len(producer) == 1 and told == []
    assert producer.flush() == 0
    ((error, message),) = told
    assert error is None
    assert (message.topic(), message.partition(), message.offset(), message.key()) == (topic, 0, 0, b"k")
    producer.produce(topic, b"w", partition=0, on_delivery=lambda *each: told.append(each))
    deadline = time.monotonic() + SECONDS_MAX
    while len(told) < 2:
        producer.poll(0.1)
        assert time.monotonic() < deadline
    assert len(producer) == 0 and producer

    reader = consumer(broker, topic)
    assigned = []
    reader.subscribe([topic], on_assign=lambda who, places: assigned.append((who is reader, sorted(places))))
    message = one(reader)
    assert message.error() is None
    assert (message.key(), message.value(), message.headers(), message.offset()) == (b"k", b"v", [("a", b"1")], 0)
    assert message.timestamp()[0] == 1 and len(message) == 1
    reader.commit(message, asynchronous=False)
    assert reader.committed([TopicPartition(topic, 0)])[0].offset == 1
    assert assigned == [(True, [TopicPartition(topic, 0), TopicPartition(topic, 1)])]
    assert one(reader).value() == b"w"
    assert reader.poll(0) is None
    reader.close()


def test_partitions_and_positions(broker, topic):
    producer = Producer({"bootstrap.servers": broker})
    for number in range(3):
        producer.produce(topic, b"%d" % number, partition=0)
    producer.flush(SECONDS_MAX)
    place = TopicPartition(topic, 0, OFFSET_BEGINNING)
    with consumer(broker, topic) as reader:
        reader.assign([place])
        assert [message.value() for message in reader.consume(2, timeout=SECONDS_MAX)] == [b"0", b"1"]
        assert reader.position([place])[0].offset == 2
        reader.seek(TopicPartition(topic, 0, 1))
        assert one(reader).offset() == 1
        assert reader.get_watermark_offsets(place) == (0, 3)
        assert reader.offsets_for_times([TopicPartition(topic, 0, 0)])[0].offset == 0
        assert reader.assignment() == [place]
        reader.commit(offsets=[TopicPartition(topic, 0, 2, "mine")], asynchronous=False)
        assert reader.committed([place])[0].metadata == "mine"


def test_keys_go_where_librdkafka_puts_them(broker, topic):
    told = []
    producer = Producer({"bootstrap.servers": broker})
    for key in (b"a", b"b", b"c", b"d"):
        producer.produce(
            topic, b"", key, on_delivery=lambda _, message: told.append((message.key(), message.partition()))
        )
    producer.flush()
    import zlib

    assert dict(told) == {key: zlib.crc32(key) % 2 for key in (b"a", b"b", b"c", b"d")}


def test_errors(broker, topic):
    producer = Producer({"bootstrap.servers": broker})
    with pytest.raises(KafkaException) as caught:
        producer.produce(topic, bytes(2_000_000))
    error = caught.value.args[0]
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE == 10 and error == 10
    assert KafkaError(-191) == KafkaError._PARTITION_EOF and KafkaError(-191).name() == "_PARTITION_EOF"
    assert KafkaError.NOT_LEADER_OR_FOLLOWER == 6
    with pytest.raises(ValueError, match=r"group\.id must be set"):
        Consumer({"bootstrap.servers": broker})
    with pytest.raises(ValueError, match="partitioner=fnv1a is not there"):
        Producer({"bootstrap.servers": broker, "partitioner": "fnv1a"})


def test_a_transaction(broker, topic):
    producer = Producer({"bootstrap.servers": broker, "transactional.id": topic})
    producer.init_transactions(SECONDS_MAX)
    producer.begin_transaction()
    producer.produce(topic, b"kept", partition=0)
    producer.commit_transaction()
    with consumer(broker, topic, **{"isolation.level": "read_committed"}) as reader:
        reader.subscribe([f"^{topic[:-1]}"])
        assert one(reader).value() == b"kept"
