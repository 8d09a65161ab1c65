"""What is read, and what is written of it, in one transaction: `with producer.transaction(consumer)`."""

import asyncio

import pytest

from odradek import KafkaConsumer, KafkaProducer, TopicPartition, aio, errors
from odradek.testing import Broker
from patience import Patience

SECONDS_MAX = 30


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"num.partitions": "1"}) as running:
        yield running


@pytest.fixture
def topics(broker, request):
    name = request.node.name.replace("[", "-").rstrip("]")
    broker.create_topic(f"{name}-in")
    broker.create_topic(f"{name}-out")
    return f"{name}-in", f"{name}-out"


def values(broker, topic, count):
    found = []
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    ) as reader:
        reader.assign([TopicPartition(topic, 0)])
        while len(found) < count:
            records = reader.poll(SECONDS_MAX)
            assert records, found
            found += [record.value for record in records]
    return found


def configs(broker, topic):
    of_group = {"group_id": topic, "enable_auto_commit": False, "auto_offset_reset": "latest"}
    return {"bootstrap_servers": broker.bootstrap, **of_group}


def polled(consumer, count):
    found = []
    while len(found) < count:
        records = consumer.poll(SECONDS_MAX)
        assert records, found
        found += [record.value for record in records]
    return found


def test_what_an_aborted_one_has_read_comes_again_and_counts_once(broker, topics):
    source, target = topics
    with (
        KafkaProducer(bootstrap_servers=broker.bootstrap) as writer,
        KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=source) as producer,
        KafkaConsumer(source, **configs(broker, source)) as consumer,
    ):
        writer.send(source, b"before").result(SECONDS_MAX)
        in_time = Patience()
        while in_time() and not consumer.assignment():
            consumer.poll(0.1)
        assert consumer.position(TopicPartition(source, 0)) == 1, "nothing is committed, so it begins at the end"
        producer.init_transactions()
        writer.send_many(source, [b"1", b"2"]).result(SECONDS_MAX)

        first = polled(consumer, 2)
        with pytest.raises(ZeroDivisionError), producer.transaction(consumer):
            producer.send(target, first[0])
            raise ZeroDivisionError
        again = polled(consumer, 2)
        assert again == first == [b"1", b"2"], "not from the beginning of the topic, and not behind them"
        with producer.transaction(consumer):
            for value in again:
                producer.send(target, value)

        assert consumer.committed([TopicPartition(source, 0)])[TopicPartition(source, 0)].offset == 3
        writer.send(source, b"3").result(SECONDS_MAX)
        third = polled(consumer, 1)
        with pytest.raises(ZeroDivisionError), producer.transaction(consumer):
            raise ZeroDivisionError
        assert polled(consumer, 1) == third == [b"3"], "back to what was committed"
        with producer.transaction(consumer):
            producer.send(target, third[0])
    assert values(broker, target, 3) == [b"1", b"2", b"3"]


def test_a_commit_whose_time_is_up_may_count_and_nothing_is_read_again(broker, topics):
    source, target = topics
    place = TopicPartition(source, 0)
    slow = {"max_block_ms": 1000, "request_timeout_ms": 20_000}
    with (
        KafkaProducer(bootstrap_servers=broker.bootstrap) as writer,
        KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=source, **slow) as producer,
        KafkaConsumer(source, **{**configs(broker, source), "auto_offset_reset": "earliest"}) as consumer,
    ):
        producer.init_transactions(SECONDS_MAX)
        writer.send_many(source, [b"1", b"2"]).result(SECONDS_MAX)
        first = polled(consumer, 2)
        with broker.faults.on("EndTxn").delay(3000, times=1):
            with pytest.raises(errors.RequestTimedOut), producer.transaction(consumer):
                for value in first:
                    producer.send(target, value)
            assert consumer.position(place) == 2, "it would be written a second time"
            producer.commit_transaction(SECONDS_MAX)
        assert consumer.committed([place])[place].offset == 2
    assert values(broker, target, 2) == [b"1", b"2"]


def test_who_was_fenced_is_told_so_and_not_of_an_epoch(broker, topics):
    _, target = topics
    configs = {"bootstrap_servers": broker.bootstrap, "transactional_id": target}
    with KafkaProducer(**configs) as before, KafkaProducer(**configs) as after:
        before.init_transactions()
        with before.transaction():
            before.send(target, b"1")
        after.init_transactions()
        with pytest.raises(errors.ProducerFenced), before.transaction():
            before.send(target, b"2").result(SECONDS_MAX)
        with after.transaction():
            after.send(target, b"3")
    assert values(broker, target, 2) == [b"1", b"3"]


def test_the_same_under_asyncio(broker, topics):
    source, target = topics

    async def polled_there(consumer, count):
        found = []
        while len(found) < count:
            records = await consumer.poll(SECONDS_MAX)
            assert records, found
            found += [record.value for record in records]
        return found

    async def copy():
        async with (
            aio.KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=source) as producer,
            aio.KafkaConsumer(source, **configs(broker, source)) as consumer,
        ):
            while not consumer.assignment():
                await consumer.poll(0.1)
            await consumer.position(TopicPartition(source, 0))
            await producer.init_transactions()
            with KafkaProducer(bootstrap_servers=broker.bootstrap) as writer:
                writer.send(source, b"1").result(SECONDS_MAX)
            first = await polled_there(consumer, 1)
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction(consumer):
                    await producer.send(target, first[0])
                    raise ZeroDivisionError
            again = await polled_there(consumer, 1)
            assert again == first == [b"1"]
            async with producer.transaction(consumer):
                await producer.send(target, again[0])

    asyncio.run(asyncio.wait_for(copy(), 2 * SECONDS_MAX))
    assert values(broker, target, 1) == [b"1"]
