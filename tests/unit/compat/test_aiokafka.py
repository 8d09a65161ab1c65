"""Programs for aiokafka, with one import line changed."""

import asyncio
import json

import pytest

from odradek import AdminClient
from odradek.compat.aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerStoppedError,
    IllegalOperation,
    TopicPartition,
    errors,
)

SECONDS_MAX = 30


@pytest.fixture
def topic(broker, request):
    name = f"aio-{abs(hash(request.node.nodeid))}"
    with AdminClient(bootstrap_servers=broker) as admin:
        admin.create_topic(name, partitions=2)
    return name


def run(story):
    asyncio.run(asyncio.wait_for(story, SECONDS_MAX))


def consumer(broker, *topics, **given):
    given.setdefault("auto_offset_reset", "earliest")
    return AIOKafkaConsumer(*topics, bootstrap_servers=broker, fetch_max_wait_ms=50, **given)


async def filled(broker, topic, count=3, **given):
    async with AIOKafkaProducer(bootstrap_servers=broker, **given) as producer:
        for number in range(count):
            await producer.send_and_wait(topic, b"%d" % number, partition=0)


def test_a_program_as_they_are_written(broker, topic):
    async def story():
        producer = AIOKafkaProducer(
            bootstrap_servers=broker, value_serializer=lambda value: json.dumps(value).encode(), acks="all"
        )
        await producer.start()
        try:
            found = await producer.send_and_wait(topic, {"id": 1}, partition=0, headers=[("trace", b"1")])
            assert (found.topic, found.partition, found.offset) == (topic, 0, 0)
            assert found.topic_partition == TopicPartition(topic, 0)
            futures = [await producer.send(topic, {"id": number}, partition=0) for number in (2, 3)]
            assert [each.offset for each in await asyncio.gather(*futures)] == [1, 2]
            assert await producer.partitions_for(topic) == {0, 1}
        finally:
            await producer.stop()

        reader = consumer(broker, topic, group_id="g", value_deserializer=json.loads)
        await reader.start()
        values = []
        try:
            async for message in reader:
                values.append((message.offset, message.value["id"]))
                if len(values) == 3:
                    break
            await reader.commit()
            assert await reader.committed(TopicPartition(topic, 0)) == 3
        finally:
            await reader.stop()
        assert values == [(0, 1), (1, 2), (2, 3)]

    run(story())


def test_calls_that_do_not_wait(broker, topic):
    place, other = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async def story():
        await filled(broker, topic)
        async with consumer(broker) as reader:
            reader.assign([place, other])
            assert reader.assignment() == {place, other}
            reader.seek(place, 2)
            assert (await reader.getone()).offset == 2
            assert await reader.position(place) == 3
            assert reader.highwater(place) == 3
            assert reader.partitions_for_topic(topic) == {0, 1}
            reader.pause(place)
            assert reader.paused() == {place}
            reader.seek(place, 0)
            assert await reader.getmany(timeout_ms=50) == {}
            reader.resume(place)
            found = {}
            while not found:
                found = await reader.getmany(timeout_ms=1000, max_records=2)
            assert [record.value for record in found[place]] == [b"0", b"1"]
            await reader.seek_to_beginning(place)
            assert (await reader.getone(place)).offset == 0
            await reader.seek_to_end()
            assert await reader.position(place) == 3
            assert await reader.beginning_offsets([place]) == {place: 0}
            assert await reader.end_offsets([place]) == {place: 3}
            assert (await reader.offsets_for_times({place: 0}))[place].offset == 0
            with pytest.raises(IllegalOperation):
                await reader.commit()

    run(story())


def test_without_a_group_all_partitions_are_read(broker, topic):
    async def story():
        await filled(broker, topic)
        for reader in (consumer(broker, topic), consumer(broker)):
            if not reader.subscription():
                reader.subscribe(pattern=topic[:-1])
            async with reader:
                assert (await reader.getone()).value == b"0"
                assert reader.subscription() == {topic}
                assert len(reader.assignment()) == 2
                assert topic in await reader.topics()

    run(story())


def test_a_transaction_and_a_batch(broker, topic):
    async def story():
        async with AIOKafkaProducer(bootstrap_servers=broker, transactional_id=topic) as producer:
            with pytest.raises(KeyError):
                async with producer.transaction():
                    await producer.send(topic, b"dropped", partition=0)
                    raise KeyError
            async with producer.transaction():
                batch = producer.create_batch()
                assert batch.append(key=None, value=b"kept", timestamp=None)
                await (await producer.send_batch(batch, topic, partition=0))
                assert batch.append(key=None, value=b"late", timestamp=None) is None
                await producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, f"g-{topic}")
        async with consumer(broker, topic, isolation_level="read_committed", group_id=f"g-{topic}") as reader:
            reader.unsubscribe()
            reader.assign([TopicPartition(topic, 0)])
            assert await reader.seek_to_committed() == {TopicPartition(topic, 0): 1}
            reader.seek(TopicPartition(topic, 0), 0)
            assert (await reader.getone()).value == b"kept"

    run(story())


def test_what_is_wrong(broker):
    async def story():
        with pytest.raises(ConsumerStoppedError):
            await consumer(broker, "t").getone()
        with pytest.raises(errors.ProducerClosed):
            await AIOKafkaProducer(bootstrap_servers=broker).send("t", b"")
        with pytest.raises(TypeError, match="topics or a pattern"):
            consumer(broker).subscribe()
        for client in (AIOKafkaProducer, AIOKafkaConsumer):
            with pytest.raises(errors.KafkaConnectionError, match=r"127\.0\.0\.1:1.*Connection refused"):
                await client(bootstrap_servers="127.0.0.1:1", request_timeout_ms=300).start()
        async with AIOKafkaProducer(bootstrap_servers=broker) as producer:
            with pytest.raises(errors.MessageSizeTooLargeError):
                await producer.send_and_wait("t", bytes(2_000_000))

    run(story())


def test_a_wait_that_is_given_up_loses_nothing(broker, topic):
    async def story():
        async with consumer(broker, topic) as reader:
            for _ in range(3):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(reader.getone(), 0.05)
            await filled(broker, topic, 2)
            assert [(await reader.getone()).value for _ in range(2)] == [b"0", b"1"]

    run(story())


def test_their_names_of_errors():
    assert errors.NotLeaderForPartitionError.code == 6
    assert errors.InvalidProducerEpoch.code == 47
    assert errors.ProducerFenced.code == 90
