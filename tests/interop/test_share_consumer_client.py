"""The share consumer against whole brokers: ours, and Apache Kafka. What it does is the same with each."""

import asyncio
import contextlib
import itertools
import json
import threading
import time

import clusters
import pytest

from odradek import AdminClient, KafkaProducer, ShareConsumer, TopicPartition, aio, errors
from odradek.admin import ConfigChange, ConfigResource
from odradek.channel.errors import ClientClosed
from odradek.consumer import AcknowledgeType, ConcurrentAccess, RecordDeserializationError, Wakeup

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
SECONDS_MAX = 60
LOCK_MS = 15_000  # of the groups of this suite; long enough that no record is lost to a slow machine
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.coordinator.rebalance.protocols": "classic,consumer,share,streams",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
}
numbers = itertools.count()


class Cluster:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.admin = AdminClient(bootstrap_servers=bootstrap, default_api_timeout_ms=30_000)
        self.producer = KafkaProducer(bootstrap_servers=bootstrap)

    def close(self):
        self.producer.close()
        self.admin.close()

    def topic(self, partitions=1, records=0, **configs):
        """A new one, with so many records in each partition."""
        name = f"shared-{next(numbers)}"
        self.admin.create_topic(name, partitions=partitions, replication=1, **configs)
        until(lambda: name in self.admin.describe_topics([name]).values_ok)
        for partition in range(partitions):
            self.write(name, records, partition=partition)
        return name

    def write(self, topic, count=1, first=0, partition=0):
        values = [b"%d" % number for number in range(first, first + count)]
        if values:
            self.producer.send_many(topic, values, partition=partition).result(SECONDS_MAX)

    def group(self, **configs):
        """A new one, which begins at the earliest record."""
        name = f"share-group-{next(numbers)}"
        given = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": LOCK_MS, **configs}
        changes = [ConfigChange(key, str(value)) for key, value in given.items()]
        outcomes = self.admin.incremental_alter_configs({ConfigResource.group(name): changes})
        outcomes[ConfigResource.group(name)]
        return name

    def consumer(self, *topics, group, kind=ShareConsumer, **configs):
        given = {"bootstrap_servers": self.bootstrap, "group_id": group, "default_api_timeout_ms": 30_000}
        return kind(*topics, **{**given, **configs})

    def explicit(self, *topics, group, **configs):
        return self.consumer(*topics, group=group, share_acknowledgement_mode="explicit", **configs)

    def members(self, group):
        """Of a group that may not be there yet."""
        found = self.admin.describe_share_groups([group]).values_ok
        return found[group].members if group in found else []


@pytest.fixture(scope="module", params=["ours 4.3", "kafka 4.3"])
def cluster(request, tmp_path_factory):
    with clusters.cluster_of(request.param, tmp_path_factory.mktemp("share") / "dir", PROPERTIES) as bootstrap:
        found = Cluster(bootstrap)
        yield found
        found.close()


@pytest.fixture
def group(cluster):
    return cluster.group()


def until(question, is_good=bool):
    deadline = time.monotonic() + SECONDS_MAX
    while not is_good(answer := question()):
        assert time.monotonic() < deadline, f"still {answer}"
        time.sleep(0.02)
    return answer


def polled(consumer):
    """What the next poll returns that returns something."""
    return until(lambda: consumer.poll(1.0))


def read(consumer, count, said=None):
    """So many records, over as many polls as it takes; `said` of each, at once."""
    found = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {len(found)} of {count}, {consumer.state}"
        records = consumer.poll(1.0)
        for record in records if said else ():
            consumer.acknowledge(record, said)
        found += records
    return found


def values(records):
    return sorted(int(record.value) for record in records)


def offsets(records):
    return sorted(record.offset for record in records)


def nothing_comes(consumer, topic, cluster, last):
    """Everything before is settled: a record that is written now is the only one that comes."""
    cluster.write(topic, 1, last)
    assert values(read(consumer, 1)) == [last]


class TestImplicit:
    def test_it_reads_all_of_a_topic_and_tells_how_often(self, cluster, group):
        topic = cluster.topic(3, 5)
        with cluster.consumer(topic, group=group) as consumer:
            records = read(consumer, 15)
            assert sorted((each.partition, each.offset) for each in records) == sorted(
                itertools.product(range(3), range(5))
            )
            assert {each.delivery_count for each in records} == {1}
            assert {each.topic for each in records} == {topic}

    def test_the_next_poll_accepts(self, cluster, group):
        topic = cluster.topic(1, 4)
        with cluster.consumer(topic, group=group) as first:
            assert values(read(first, 4)) == [0, 1, 2, 3]
            first.poll(0.5)
        with cluster.consumer(topic, group=group) as second:
            nothing_comes(second, topic, cluster, 4)

    def test_a_commit_accepts_and_tells_the_outcome(self, cluster, group):
        topic = cluster.topic(2, 3)
        with cluster.consumer(topic, group=group) as first:
            found = {}
            count = 0
            while count < 6:
                count += len(polled(first))
                found |= first.commit_sync()
            assert found == {TopicPartition(topic, 0): None, TopicPartition(topic, 1): None}
            assert first.commit_sync() == {}
        with cluster.consumer(topic, group=group) as second:
            nothing_comes(second, topic, cluster, 3)

    def test_what_is_closed_upon_comes_again(self, cluster, group):
        topic = cluster.topic(1, 3)
        with cluster.consumer(topic, group=group) as first:
            assert len(read(first, 3)) == 3
        with cluster.consumer(topic, group=group) as second:
            again = read(second, 3)
            assert values(again) == [0, 1, 2]
            assert {each.delivery_count for each in again} == {2}

    def test_an_error_of_the_program_gives_everything_back(self, cluster, group):
        topic = cluster.topic(1, 2)
        with contextlib.suppress(ZeroDivisionError), cluster.consumer(topic, group=group) as first:
            read(first, 2)
            raise ZeroDivisionError
        with cluster.consumer(topic, group=group) as second:
            assert values(read(second, 2)) == [0, 1]

    def test_it_does_not_acknowledge_by_record(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.consumer(topic, group=group) as consumer:
            (record,) = read(consumer, 1)
            with pytest.raises(RuntimeError, match="implicit"):
                consumer.acknowledge(record)


class TestExplicit:
    def test_accepted_released_and_rejected(self, cluster, group):
        topic = cluster.topic(1, 3)
        with cluster.explicit(topic, group=group) as consumer:
            records = sorted(read(consumer, 3), key=lambda each: each.offset)
            for record, kind in zip(records, (ACCEPT, RELEASE, REJECT), strict=True):
                consumer.acknowledge(record, kind)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
            (again,) = read(consumer, 1)
            assert (again.offset, again.delivery_count) == (1, 2)
            consumer.acknowledge(again)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
            nothing_comes(consumer, topic, cluster, 3)

    def test_the_poll_sends_what_was_said(self, cluster, group):
        topic = cluster.topic(1, 2)
        told = []
        with cluster.explicit(topic, group=group) as consumer:
            consumer.set_acknowledgement_commit_callback(lambda offsets, error: told.append((offsets, error)))
            read(consumer, 2, ACCEPT)
            until(lambda: (consumer.poll(0.1), told)[1])
        assert {offset for offsets, _ in told for offset in offsets[TopicPartition(topic, 0)]} == {0, 1}
        assert {error for _, error in told} == {None}

    def test_a_poll_before_all_is_said_is_a_mistake(self, cluster, group):
        topic = cluster.topic(1, 2)
        with cluster.explicit(topic, group=group) as consumer:
            records = read(consumer, 2)
            consumer.acknowledge(records[0])
            with pytest.raises(RuntimeError, match="acknowledge\\(\\) every record"):
                consumer.poll(0.1)
            consumer.acknowledge(records[1])
            assert not consumer.poll(0.1)

    def test_by_topic_partition_and_offset(self, cluster, group):
        topic = cluster.topic(1, 2)
        with cluster.explicit(topic, group=group) as consumer:
            read(consumer, 2)
            consumer.acknowledge(topic, 0, 0)
            consumer.acknowledge(topic, 0, 1, RELEASE)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
            assert offsets(read(consumer, 1, ACCEPT)) == [1]

    def test_what_is_not_in_hand_cannot_be_acknowledged(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as consumer:
            (record,) = read(consumer, 1, ACCEPT)
            consumer.commit_sync()
            for said in ((record,), (topic, 0, 7), ("other", 0, 0)):
                with pytest.raises(RuntimeError, match="not in hand"):
                    consumer.acknowledge(*said)
            with pytest.raises(ValueError, match="AcknowledgeType"):
                consumer.acknowledge(record, 9)

    def test_it_may_be_said_anew_until_it_is_sent(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as consumer:
            (record,) = read(consumer, 1, RELEASE)
            consumer.acknowledge(record, ACCEPT)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
            nothing_comes(consumer, topic, cluster, 1)

    def test_the_close_sends_what_was_said_and_releases_the_rest(self, cluster, group):
        topic = cluster.topic(1, 3)
        told = []
        first = cluster.explicit(topic, group=group)
        first.set_acknowledgement_commit_callback(lambda offsets, error: told.append((offsets, error)))
        records = {each.offset: each for each in read(first, 3)}
        first.acknowledge(records[0], ACCEPT)
        first.acknowledge(records[2], REJECT)
        first.close()
        assert told == [({TopicPartition(topic, 0): {0, 2}}, None)]
        with cluster.explicit(topic, group=group) as second:
            (again,) = read(second, 1, ACCEPT)
            assert (again.offset, again.delivery_count) == (1, 2)

    def test_an_asynchronous_commit_is_told_of(self, cluster, group):
        topic = cluster.topic(1, 2)
        told = []
        with cluster.explicit(topic, group=group) as consumer:
            consumer.set_acknowledgement_commit_callback(lambda offsets, error: told.append((offsets, error)))
            read(consumer, 2, ACCEPT)
            consumer.commit_async()
            until(lambda: (consumer.commit_sync(), told)[1])
        assert told == [({TopicPartition(topic, 0): {0, 1}}, None)]

    def test_a_record_that_was_delivered_too_often_is_given_up(self, cluster):
        group = cluster.group(**{"share.delivery.count.limit": 2})
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as consumer:
            counts = [record.delivery_count for _ in range(2) for record in read(consumer, 1, RELEASE)]
            assert counts == [1, 2]
            consumer.commit_sync()
            nothing_comes(consumer, topic, cluster, 1)


class TestLocks:
    def test_the_lock_is_told(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as consumer:
            assert consumer.acquisition_lock_timeout_ms is None
            read(consumer, 1, ACCEPT)
            assert consumer.acquisition_lock_timeout_ms == LOCK_MS

    def test_a_lock_that_ends_gives_the_record_to_another_and_refuses_what_is_said_late(self, cluster):
        group = cluster.group(**{"share.record.lock.duration.ms": 1000})
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as first, cluster.explicit(topic, group=group) as second:
            (late,) = read(first, 1)
            (again,) = read(second, 1, ACCEPT)
            assert again.delivery_count >= 2
            first.acknowledge(late)
            (error,) = first.commit_sync().values()
            assert isinstance(error, errors.InvalidRecordState)

    def test_a_renewed_record_is_returned_once_more_and_then_settled(self, cluster, group):
        topic = cluster.topic(1, 2)
        with cluster.explicit(topic, group=group) as consumer:
            first, second = sorted(read(consumer, 2), key=lambda each: each.offset)
            consumer.acknowledge(first, RENEW)
            consumer.acknowledge(second, ACCEPT)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
            cluster.write(topic, 1, 2)
            renewed = polled(consumer)
            assert [(each.offset, each.delivery_count) for each in renewed] == [(0, 1)]
            consumer.acknowledge(renewed[0], ACCEPT)
            assert offsets(read(consumer, 1, ACCEPT)) == [2]

    def test_a_renewal_by_the_next_poll(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as consumer:
            for _ in range(3):
                (record,) = polled(consumer)
                assert (record.offset, record.delivery_count) == (0, 1)
                consumer.acknowledge(record, RENEW)
            (record,) = polled(consumer)
            consumer.acknowledge(record, ACCEPT)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
            nothing_comes(consumer, topic, cluster, 1)

    def test_what_was_renewed_may_be_settled_without_a_poll(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as consumer:
            (record,) = read(consumer, 1, RENEW)
            consumer.commit_sync()
            consumer.acknowledge(record, ACCEPT)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
            nothing_comes(consumer, topic, cluster, 1)

    def test_a_renewed_lock_outlives_the_first(self, cluster):
        group = cluster.group(**{"share.record.lock.duration.ms": 6000})
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as first, cluster.explicit(topic, group=group) as second:
            (record,) = read(first, 1)
            began = time.monotonic()
            while time.monotonic() - began < 9:  # longer than one lock
                first.acknowledge(record, RENEW)
                assert first.commit_sync() == {TopicPartition(topic, 0): None}
                assert not second.poll(0.3)
            first.acknowledge(record, ACCEPT)
            assert first.commit_sync() == {TopicPartition(topic, 0): None}


class TestManyRecords:
    def test_a_strict_limit(self, cluster, group):
        topic = cluster.topic(1, 10)
        with cluster.explicit(topic, group=group, max_poll_records=3, share_acquire_mode="record_limit") as consumer:
            sizes = []
            while sum(sizes) < 10:
                records = polled(consumer)
                sizes.append(len(records))
                for record in records:
                    consumer.acknowledge(record)
            assert max(sizes) <= 3
            assert sum(sizes) == 10

    def test_whole_batches(self, cluster, group):
        topic = cluster.topic(1, 10)  # in one batch
        with cluster.explicit(topic, group=group, max_poll_records=3) as consumer:
            assert len(polled(consumer)) == 10

    def test_two_consumers_share_one_partition_and_no_record_comes_twice(self, cluster, group):
        topic = cluster.topic(1)
        for number in range(40):  # a batch each
            cluster.write(topic, 1, number)
        with (
            cluster.consumer(topic, group=group, max_poll_records=2) as first,
            cluster.consumer(topic, group=group, max_poll_records=2) as second,
        ):
            seen = {first: [], second: []}

            def all_poll():
                for each, found in seen.items():
                    found += each.poll(0.1)
                return len(seen[first]) + len(seen[second])

            until(lambda: (all_poll(), len(cluster.members(group)))[1] == 2)
            cluster.write(topic, 40, 40)
            until(all_poll, lambda count: count >= 80)
        assert values(seen[first] + seen[second]) == list(range(80))

    def test_many_records_each_once(self, cluster, group):
        topic = cluster.topic(2, 1500)
        with cluster.consumer(topic, group=group) as consumer:
            records = read(consumer, 3000)
            consumer.commit_sync()
        assert len({(each.partition, each.offset) for each in records}) == 3000
        with cluster.consumer(topic, group=group) as second:
            nothing_comes(second, topic, cluster, 1500)

    def test_markers_of_transactions_are_passed_over(self, cluster, group):
        topic = cluster.topic(1)
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id=f"writer-{next(numbers)}") as producer:
            producer.init_transactions()
            for number in range(3):
                with producer.transaction():
                    producer.send(topic, b"%d" % number)
        with cluster.explicit(topic, group=group) as consumer:
            assert offsets(read(consumer, 3, ACCEPT)) == [0, 2, 4]
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
        with cluster.consumer(topic, group=group) as second:
            nothing_comes(second, topic, cluster, 3)

    def test_headers_keys_times_and_compression(self, cluster, group):
        topic = cluster.topic(1)
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, compression_type="gzip") as producer:
            sent = producer.send(topic, b"v", b"k", headers=[("a", b"1"), ("b", None)], timestamp_ms=1_700_000_000_000)
            sent.result(SECONDS_MAX)
        with cluster.consumer(topic, group=group) as consumer:
            (record,) = read(consumer, 1)
            assert (record.key, record.value, record.timestamp) == (b"k", b"v", 1_700_000_000_000)
            assert record.headers == (("a", b"1"), ("b", None))


class TestDeserializers:
    def test_values_are_made(self, cluster, group):
        topic = cluster.topic(1, 2)
        with cluster.consumer(topic, group=group, value_deserializer=int) as consumer:
            assert sorted(each.value for each in read(consumer, 2)) == [0, 1]

    def test_one_that_fails_is_told_with_its_offset_and_released(self, cluster):
        group = cluster.group(**{"share.delivery.count.limit": 2})
        topic = cluster.topic(1)
        for value in (b"1", b"{", b"2"):
            cluster.producer.send(topic, value).result(SECONDS_MAX)
        with cluster.consumer(topic, group=group, value_deserializer=json.loads) as consumer:
            seen, failed = [], []
            deadline = time.monotonic() + SECONDS_MAX
            while len(failed) < 2 or len(seen) < 2:
                assert time.monotonic() < deadline, (seen, failed)
                try:
                    seen += [each.value for each in consumer.poll(1.0)]
                except RecordDeserializationError as error:
                    failed.append((str(error.partition), error.offset, error.value))
        assert seen == [1, 2]
        assert failed == [(f"{topic}-0", 1, b"{")] * 2

    def test_one_that_fails_may_be_rejected_by_its_offset(self, cluster, group):
        topic = cluster.topic(1)
        cluster.producer.send(topic, b"{").result(SECONDS_MAX)
        with cluster.explicit(topic, group=group, value_deserializer=json.loads) as consumer:
            with pytest.raises(RecordDeserializationError) as told:
                polled(consumer)
            consumer.acknowledge(topic, 0, told.value.offset, REJECT)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}
            nothing_comes(consumer, topic, cluster, 1)


class TestGroup:
    def test_members_come_and_go(self, cluster, group):
        topic = cluster.topic(2, 1)
        with cluster.consumer(topic, group=group, client_id="one") as consumer:
            assert consumer.subscription() == {topic}
            read(consumer, 2)
            assert consumer.state == "stable"
            (member,) = cluster.members(group)
            assert member.client_id == "one"
        assert consumer.state == "closed"
        until(lambda: not cluster.members(group))

    def test_another_topic_and_none(self, cluster, group):
        one, two = cluster.topic(1, 1), cluster.topic(1, 1)
        with cluster.consumer(one, group=group) as consumer:
            assert [each.topic for each in read(consumer, 1)] == [one]
            consumer.subscribe([two])
            assert [each.topic for each in read(consumer, 1)] == [two]
            consumer.unsubscribe()
            assert consumer.subscription() == set()
            until(lambda: not cluster.members(group))
            with pytest.raises(RuntimeError, match="subscribe"):
                consumer.poll(0)
            consumer.subscribe(one)
            cluster.write(one, 1, 1)
            assert values(read(consumer, 1)) == [1]

    def test_what_is_in_hand_may_be_settled_after_the_unsubscribe(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.explicit(topic, group=group) as consumer:
            (record,) = read(consumer, 1)
            consumer.unsubscribe()
            consumer.acknowledge(record)
            assert consumer.commit_sync() == {TopicPartition(topic, 0): None}

    def test_a_topic_that_comes_later(self, cluster, group):
        topic = f"later-{next(numbers)}"
        with cluster.consumer(topic, group=group, allow_auto_create_topics=False, metadata_max_age_ms=500) as consumer:
            assert not consumer.poll(0.2)
            cluster.admin.create_topic(topic, partitions=1, replication=1)
            until(lambda: topic in cluster.admin.describe_topics([topic]).values_ok)
            cluster.write(topic, 2)
            assert values(read(consumer, 2)) == [0, 1]

    def test_a_partition_that_comes_later(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.consumer(topic, group=group, metadata_max_age_ms=500) as consumer:
            read(consumer, 1)
            cluster.admin.create_partitions({topic: 2})
            until(lambda: len(cluster.admin.describe_topics([topic])[topic].partitions) == 2)
            cluster.write(topic, 1, 7, partition=1)
            assert values(read(consumer, 1)) == [7]

    def test_a_program_that_does_not_poll_leaves_and_comes_back(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.consumer(topic, group=group, max_poll_interval_ms=500) as consumer:
            read(consumer, 1)
            until(lambda: consumer.state == "expired")
            until(lambda: not cluster.members(group))
            cluster.write(topic, 1, 1)
            assert values(read(consumer, 1)) == [1]


class TestManners:
    def test_nothing_in_time_is_no_error(self, cluster, group):
        with cluster.consumer(cluster.topic(), group=group) as consumer:
            assert len(consumer.poll()) == 0
            assert len(consumer.poll(0.2)) == 0

    def test_a_poll_without_waiting_comes_to_records_too(self, cluster, group):
        topic = cluster.topic(1, 3)
        with cluster.consumer(topic, group=group) as consumer:
            assert values(until(consumer.poll)) == [0, 1, 2]

    def test_a_wakeup_ends_a_poll_and_nothing_is_lost(self, cluster, group):
        topic = cluster.topic(1)
        with cluster.consumer(topic, group=group) as consumer:
            timer = threading.Timer(0.3, consumer.wakeup)
            timer.start()
            with pytest.raises(Wakeup):
                consumer.poll(SECONDS_MAX)
            timer.join(SECONDS_MAX)
            cluster.write(topic, 2)
            assert values(read(consumer, 2)) == [0, 1]

    def test_one_thread_at_a_time(self, cluster, group):
        with cluster.consumer(cluster.topic(), group=group) as consumer:
            told = []

            def poll():
                with contextlib.suppress(Wakeup):
                    consumer.poll(SECONDS_MAX)
                told.append("woken")

            thread = threading.Thread(target=poll)
            thread.start()
            until(lambda: consumer.state in ("joining", "stable"))

            def refused():
                try:
                    consumer.commit_sync()
                except ConcurrentAccess:
                    return True
                return False

            until(refused)
            consumer.wakeup()
            thread.join(SECONDS_MAX)
            assert told == ["woken"]

    def test_a_callback_must_not_poll_and_may_acknowledge(self, cluster, group):
        topic = cluster.topic(1, 1)
        told = []

        def callback(offsets, error):
            try:
                consumer.poll(0)
            except ConcurrentAccess as refused:
                told.append(str(refused))

        with cluster.explicit(topic, group=group, acknowledgement_commit_callback=callback) as consumer:
            read(consumer, 1, ACCEPT)
            consumer.commit_sync()
            assert len(told) == 1

    def test_metrics(self, cluster, group):
        topic = cluster.topic(1, 3)
        with cluster.consumer(topic, group=group) as consumer:
            read(consumer, 3)
            consumer.commit_sync()
            found = {name.name: value for name, value in consumer.metrics().items() if "share" in name.group}
        assert found["records-consumed-total"] == 3
        assert found["bytes-consumed-total"] == 3
        assert found["acknowledgements-send-total"] == 3
        assert found["acknowledgements-error-total"] == 0
        assert found["assigned-partitions"] == 1
        assert found["fetch-total"] >= 1
        assert found["heartbeat-total"] >= 1

    def test_a_closed_one_says_so(self, cluster, group):
        consumer = cluster.consumer(cluster.topic(), group=group)
        consumer.poll(0)
        consumer.close()
        consumer.close()
        with pytest.raises(ClientClosed):
            consumer.poll(0)


class TestAsyncio:
    def run(self, story):
        async def limited():
            async with asyncio.timeout(2 * SECONDS_MAX):
                await story()

        asyncio.run(limited())

    async def read(self, consumer, count):
        found = []
        while len(found) < count:
            found += await consumer.poll(1.0)
        return found

    def test_it_reads_and_acknowledges(self, cluster, group):
        topic = cluster.topic(2, 3)
        told = []

        async def callback(offsets, error):
            await asyncio.sleep(0)
            told.append((offsets, error))

        async def story():
            async with cluster.explicit(
                topic, group=group, kind=aio.ShareConsumer, acknowledgement_commit_callback=callback
            ) as consumer:
                count = 0
                while count < 6:
                    for record in await consumer.poll(1.0):
                        count += 1
                        await consumer.acknowledge(record, RELEASE if record.delivery_count == 1 else ACCEPT)
                        count -= record.delivery_count == 1
                assert set((await consumer.commit_sync()).values()) <= {None}
                assert consumer.state == "stable"
                assert await consumer.metrics()

        self.run(story)
        assert {error for _, error in told} == {None}

    def test_a_poll_that_is_cancelled_loses_nothing(self, cluster, group):
        topic = cluster.topic(1)

        async def story():
            async with cluster.consumer(topic, group=group, kind=aio.ShareConsumer) as consumer:
                for _ in range(5):
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.15):
                            while True:
                                assert not await consumer.poll(1.0)
                await asyncio.to_thread(cluster.write, topic, 5)
                assert values(await self.read(consumer, 5)) == [0, 1, 2, 3, 4]

        self.run(story)

    def test_renewals(self, cluster, group):
        topic = cluster.topic(1, 1)

        async def story():
            async with cluster.explicit(topic, group=group, kind=aio.ShareConsumer) as consumer:
                (record,) = await self.read(consumer, 1)
                await consumer.acknowledge(record, RENEW)
                (again,) = await self.read(consumer, 1)
                assert (again.offset, again.delivery_count) == (0, 1)
                await consumer.acknowledge(topic, 0, 0, ACCEPT)
                assert await consumer.commit_sync() == {TopicPartition(topic, 0): None}

        self.run(story)


@pytest.mark.parametrize("kind", ["ours 3.3", "kafka 3.3"])
def test_a_cluster_without_share_groups_is_told_in_one_line(kind, tmp_path):
    with (
        clusters.cluster_of(kind, tmp_path / "dir") as bootstrap,
        ShareConsumer("t", bootstrap_servers=bootstrap, group_id="g") as consumer,
    ):
        with pytest.raises(errors.UnsupportedVersion, match="no share groups"):
            until(lambda: consumer.poll(1.0))
        assert consumer.state == "failed"
