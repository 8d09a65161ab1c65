"""The consumer in asyncio programs: the same as with threads, without one, and every await may be cancelled."""

import asyncio
import itertools
import threading

import pytest

from odradek import AdminClient, KafkaProducer, TopicPartition
from odradek.aio import KafkaConsumer
from odradek.consumer import ConcurrentAccess, OffsetAndMetadata, Wakeup
from odradek.testing import Broker

RECORDS = 50
numbers = itertools.count()


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"group.initial.rebalance.delay.ms": 0, "group.consumer.assignment.interval.ms": 0}) as broker:
        broker.create_topic("t", partitions=2)
        broker.create_topic("empty", partitions=1)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            for partition in range(2):
                producer.send_many("t", [b"%d" % n for n in range(RECORDS)], partition=partition).result(60)
        yield broker


@pytest.fixture
def group():
    return f"group-{next(numbers)}"


def consumer(broker, *topics, **configs):
    given = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50}
    return KafkaConsumer(*topics, bootstrap_servers=broker.bootstrap, **{**given, **configs})


def committed(broker, group):
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        return {place.partition: offset.offset for place, offset in admin.list_group_offsets(group)[group].items()}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_reads_commits_and_starts_no_thread(broker, group, protocol):
    async def program():
        before = threading.active_count()
        async with consumer(broker, "t", group_id=group, group_protocol=protocol) as reader:
            seen = []
            async for record in reader:
                seen.append((record.partition, record.offset))
                if len(seen) == 2 * RECORDS:
                    break
            assert threading.active_count() == before
            assert reader.state == "stable" and reader.assignment() == {("t", 0), ("t", 1)}
            return seen

    seen = asyncio.run(program())
    assert sorted(seen) == [(partition, offset) for partition in range(2) for offset in range(RECORDS)]
    assert committed(broker, group) == {0: RECORDS, 1: RECORDS}


def test_polls_that_are_cancelled_lose_nothing(broker):
    async def program():
        async with consumer(broker, max_poll_records=3) as reader:
            await reader.assign([TopicPartition("t", 0)])
            seen = []
            cancelled = 0
            while len(seen) < RECORDS:
                polling = asyncio.ensure_future(reader.poll(5))
                for _ in range(len(seen) % 4):
                    await asyncio.sleep(0)
                polling.cancel()
                try:
                    seen += await polling
                except asyncio.CancelledError:
                    cancelled += 1
                    seen += await reader.poll(5)
            assert cancelled > 0
            return [record.offset for record in seen]

    assert asyncio.run(program()) == list(range(RECORDS))


def test_commits_and_positions(broker, group):
    place = TopicPartition("t", 1)

    async def program():
        told = []
        async with consumer(broker, group_id=group, enable_auto_commit=False) as reader:
            await reader.assign([place])
            await reader.seek(place, 10)
            assert (await reader.poll(5, max_records=5))[0].offset == 10
            assert await reader.position(place) == 15
            assert reader.current_lag(place) == RECORDS - 15
            await reader.commit()
            future = await reader.commit_async({place: OffsetAndMetadata(20, "x")}, lambda *what: told.append(what))
            await future
            assert future.done() and future.exception() is None
            await reader.poll()
            assert [offsets[place].offset for offsets, _ in told] == [20]
            assert (await reader.committed([place]))[place][:2] == (20, "x")
            assert await reader.end_offsets([place]) == {place: RECORDS}
            await reader.pause(place)
            assert reader.paused() == {place} and not await reader.poll(0.05)
            await reader.resume(place)
            await reader.seek_to_beginning()
            records = [record async for record in reader.records(until_end=True)]
            assert len(records) == RECORDS
            names = {metric.name for metric in await reader.metrics()}
            assert {"records-consumed-total", "records-lag-max", "commit-total", "connection-count"} <= names

    asyncio.run(program())


def test_callbacks_may_be_coroutines(broker, group):
    async def program():
        told = []

        async def assigned(places):
            await reader.seek(places[0], 48)
            told.append(("assigned", len(places)))

        async def revoked(places):
            await reader.commit({places[0]: 49})
            told.append(("revoked", len(places)))

        async with consumer(broker, group_id=group, enable_auto_commit=False) as reader:
            await reader.subscribe("t", on_assigned=assigned, on_revoked=revoked)
            seen = []
            while len(seen) < RECORDS + 2:
                seen += await reader.poll(1)
        return told

    assert asyncio.run(program()) == [("assigned", 2), ("revoked", 2)]
    assert committed(broker, group)[0] == 49


def test_wakeup_and_one_poll_at_a_time(broker):
    async def program():
        async with consumer(broker) as reader:
            await reader.assign([TopicPartition("empty", 0)])
            polling = asyncio.ensure_future(reader.poll(20))
            await asyncio.sleep(0.05)
            with pytest.raises(ConcurrentAccess):
                await reader.poll()
            assert await reader.beginning_offsets([TopicPartition("empty", 0)]) == {("empty", 0): 0}, "others may ask"
            reader.wakeup()
            with pytest.raises(Wakeup):
                await polling
            reader.wakeup()
            assert [record async for record in reader] == []

    asyncio.run(program())


def test_an_error_commits_what_was_finished(broker, group):
    async def program():
        async with consumer(broker, group_id=group) as reader:
            await reader.assign([TopicPartition("t", 0)])
            async for record in reader:
                if record.offset == 7:
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(program())
    assert committed(broker, group) == {0: 7}


def test_both_front_ends_have_the_same_methods():
    from odradek import KafkaConsumer as Threaded

    def methods(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    assert methods(Threaded) == methods(KafkaConsumer)


def test_a_commit_that_has_begun_is_told_of_before_the_consumer_is_closed(broker, group):
    told = []

    async def program():
        reader = consumer(broker, "t", group_id=group, enable_auto_commit=False)
        while not await reader.poll(1.0):
            pass
        await reader.commit_async({TopicPartition("t", 0): 7}, lambda offsets, error: told.append(error))
        await reader.close()

    asyncio.run(program())
    assert told == [None]
    assert committed(broker, group) == {0: 7}
