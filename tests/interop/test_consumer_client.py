"""The consumer against whole brokers: ours at both releases, and Apache Kafka of the same two. What it does is the same
with each.

Groups come in two kinds, `eager` (classic, range) and `newer`: of the consumer protocol where the broker has it, else
classic and cooperative.
"""

import contextlib
import itertools
import re
import threading
import time

import clusters
import pytest

from odradek import AdminClient, KafkaConsumer, TopicPartition, errors
from odradek.consumer import (
    CommitFailed,
    ConcurrentAccess,
    ConsumerInterceptor,
    NoOffsetForPartition,
    OffsetAndMetadata,
    RebalanceListener,
    RecordDeserializationError,
    Wakeup,
)
from patience import Patience

kafka_python = pytest.importorskip("kafka", reason="pip install kafka-python")

SECONDS_MAX = 30
FAST = {
    "3.3": {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "500"},
    "4.3": {
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "500",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "200",
        "group.consumer.min.session.timeout.ms": "500",
        "group.consumer.session.timeout.ms": "3000",
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.min.assignment.interval.ms": "0",
    },
}
FIRST_MS = 1_700_000_000_000  # of the records
numbers = itertools.count()


class Cluster:
    def __init__(self, bootstrap, release):
        self.bootstrap = bootstrap
        self.release = release
        self.admin = AdminClient(bootstrap_servers=bootstrap, default_api_timeout_ms=20_000)
        self.producer = kafka_python.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0)

    def close(self):
        self.producer.close()
        self.admin.close()

    def topic(self, partitions=1, records=0, name=None, **configs):
        """A new one, with so many records in each partition."""
        name = name or f"topic-{next(numbers)}"
        self.admin.create_topic(name, partitions=partitions, replication=1, **configs)
        until(lambda: name in self.admin.describe_topics([name]).values_ok)
        for partition in range(partitions):
            self.write(name, partition, records)
        return name

    def write(self, topic, partition=0, count=1, first=0):
        sent = [
            self.producer.send(topic, b"%d" % n, key=b"k", partition=partition, timestamp_ms=FIRST_MS + n)
            for n in range(first, first + count)
        ]
        for each in sent:
            each.get(SECONDS_MAX)

    def committed(self, group, place):
        return self.admin.list_group_offsets(group)[group][place]

    def consumer(self, *topics, group=None, kind="eager", **configs):
        given = {"auto_offset_reset": "earliest", "default_api_timeout_ms": 20_000, "group_id": group}
        given["fetch_max_wait_ms"] = 100  # other questions wait behind a fetch that waits
        if group is not None and kind == "newer" and self.release == "4.3":
            given["group_protocol"] = "consumer"
        elif group is not None:
            given |= {"session_timeout_ms": 3000, "heartbeat_interval_ms": 200}
            if kind == "newer":
                given["partition_assignment_strategy"] = "cooperative-sticky"
        return KafkaConsumer(*topics, bootstrap_servers=self.bootstrap, **{**given, **configs})


@pytest.fixture(scope="module", params=clusters.KINDS)
def cluster(request, tmp_path_factory):
    release = request.param.split()[1]
    with clusters.cluster_of(request.param, tmp_path_factory.mktemp("consumer") / "dir", FAST[release]) as bootstrap:
        found = Cluster(bootstrap, release)
        yield found
        found.close()


@pytest.fixture(params=["eager", "newer"])
def kind(request):
    return request.param


@pytest.fixture
def group():
    return f"group-{next(numbers)}"


def until(question, is_good=bool):
    deadline = time.monotonic() + SECONDS_MAX
    while not is_good(answer := question()):
        assert time.monotonic() < deadline, f"still {answer}"
        time.sleep(0.02)
    return answer


def read(consumer, count):
    """So many records, and no more."""
    found = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {len(found)} of {count}"
        found += consumer.poll(0.5)
    assert len(found) == count
    return found


def polled_until(consumers, is_so):
    """All of them poll until it is so; what they have read."""
    found = []
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, [(each.state, each.assignment()) for each in consumers]
        for each in consumers:
            found += each.poll(0.05)
    return found


def places(topic, count):
    return [TopicPartition(topic, number) for number in range(count)]


def offsets(records):
    return [record.offset for record in records]


class TestAssigned:
    @pytest.mark.contract("B44", "B60", "B106")
    def test_it_reads_what_it_was_assigned(self, cluster):
        topic = cluster.topic(2, 3)
        with cluster.consumer() as consumer:
            consumer.assign([TopicPartition(topic, 1)])
            records = read(consumer, 3)
            assert [(each.partition, each.offset, each.key, each.value) for each in records] == [
                (1, 0, b"k", b"0"),
                (1, 1, b"k", b"1"),
                (1, 2, b"k", b"2"),
            ]
            assert [each.timestamp for each in records] == [FIRST_MS, FIRST_MS + 1, FIRST_MS + 2]
            assert consumer.position(TopicPartition(topic, 1)) == 3
            assert consumer.assignment() == {TopicPartition(topic, 1)}

    @pytest.mark.contract("B54")
    def test_nothing_in_time_is_no_error(self, cluster):
        with cluster.consumer() as consumer:
            consumer.assign(places(cluster.topic(), 1))
            assert len(consumer.poll(0.1)) == 0
            assert not consumer.poll()

    @pytest.mark.contract("B28", "B58")
    def test_a_poll_returns_at_most_max_poll_records(self, cluster):
        topic = cluster.topic(1, 10)
        with cluster.consumer(max_poll_records=4) as consumer:
            consumer.assign(places(topic, 1))
            assert offsets(consumer.poll(10)) == [0, 1, 2, 3]
            assert offsets(consumer.poll(10, max_records=2)) == [4, 5]
            assert offsets(consumer.poll(10)) == [6, 7, 8, 9]

    @pytest.mark.contract("B62", "B66")
    def test_seek(self, cluster):
        topic = cluster.topic(1, 10)
        (place,) = places(topic, 1)
        with cluster.consumer() as consumer:
            consumer.assign([place])
            consumer.seek(place, 7)
            assert consumer.position(place) == 7
            assert offsets(read(consumer, 3)) == [7, 8, 9]
            consumer.seek(place, OffsetAndMetadata(2))
            assert offsets(read(consumer, 8))[0] == 2
            consumer.seek_to_beginning(place)
            assert offsets(read(consumer, 10))[0] == 0
            consumer.seek_to_end()
            assert consumer.position(place) == 10
            with pytest.raises(ValueError, match="negative"):
                consumer.seek(place, -1)
            with pytest.raises(ValueError, match="not assigned"):
                consumer.seek(TopicPartition(topic, 9), 0)

    def test_seek_to_a_time(self, cluster):
        (place,) = places(cluster.topic(1, 10), 1)
        with cluster.consumer() as consumer:
            consumer.assign([place])
            consumer.seek_to_time(FIRST_MS + 4, [place])
            assert offsets(read(consumer, 6))[0] == 4

    @pytest.mark.contract("B64")
    def test_offsets_by_time_and_ends(self, cluster):
        (place,) = places(cluster.topic(1, 10), 1)
        with cluster.consumer() as consumer:
            found = consumer.offsets_for_times({place: FIRST_MS + 3})
            assert (found[place].offset, found[place].timestamp) == (3, FIRST_MS + 3)
            assert consumer.offsets_for_times({place: FIRST_MS + 99}) == {place: None}
            assert consumer.beginning_offsets([place]) == {place: 0}
            assert consumer.end_offsets([place]) == {place: 10}

    @pytest.mark.contract("B63")
    def test_a_paused_partition_is_not_returned_and_goes_on_where_it_was(self, cluster):
        topic = cluster.topic(2, 5)
        first, second = places(topic, 2)
        with cluster.consumer(max_poll_records=2) as consumer:
            consumer.assign([first, second])
            seen = list(consumer.poll(10))
            consumer.pause(first)
            assert consumer.paused() == {first}
            while sum(each.partition == 1 for each in seen) < 5:
                more = consumer.poll(5)
                assert {each.partition for each in more} <= {1}
                seen += more
            assert not consumer.poll(0.1)
            consumer.resume([first])
            in_time = Patience()
            while in_time() and len(seen) < 10:
                seen += consumer.poll(5)
            assert offsets(each for each in seen if each.partition == 0) == [0, 1, 2, 3, 4]

    @pytest.mark.contract("B102")
    def test_lag(self, cluster):
        (place,) = places(cluster.topic(1, 10), 1)
        with cluster.consumer(max_poll_records=4) as consumer:
            consumer.assign([place])
            consumer.poll(10)
            assert consumer.current_lag(place) == 6
            assert consumer.state == "stable" and consumer.state.lag == 6

    @pytest.mark.contract("B11")
    @pytest.mark.parametrize(("policy", "first"), [("earliest", 0), ("latest", 3), ("by_duration:P30000D", 0)])
    def test_where_it_begins(self, cluster, policy, first):
        (place,) = places(cluster.topic(1, 3), 1)
        with cluster.consumer(auto_offset_reset=policy) as consumer:
            consumer.assign([place])
            assert consumer.position(place) == first

    @pytest.mark.contract("B11")
    def test_without_a_policy_it_asks_what_to_do(self, cluster):
        (place,) = places(cluster.topic(1, 3), 1)
        with cluster.consumer(auto_offset_reset="none") as consumer:
            consumer.assign([place])
            with pytest.raises(NoOffsetForPartition):
                consumer.poll(10)
            consumer.seek(place, 1)
            assert offsets(read(consumer, 2)) == [1, 2]

    @pytest.mark.contract("B47")
    def test_who_reads_nothing_cannot_poll(self, cluster):
        with cluster.consumer() as consumer, pytest.raises(RuntimeError, match="reads nothing"):
            consumer.poll()

    def test_topics_and_partitions(self, cluster):
        topic = cluster.topic(3)
        with cluster.consumer(allow_auto_create_topics=False) as consumer:
            assert [each.partition for each in consumer.partitions_for(topic)] == [0, 1, 2]
            assert len(consumer.list_topics()[topic]) == 3
            with pytest.raises(errors.UnknownTopicOrPartition):
                consumer.partitions_for("there is none".replace(" ", "-"), timeout=2)

    def test_deserializers(self, cluster):
        (place,) = places(cluster.topic(1, 3), 1)
        with cluster.consumer(value_deserializer=int, key_deserializer=bytes.decode) as consumer:
            consumer.assign([place])
            assert [(each.key, each.value) for each in read(consumer, 3)] == [("k", 0), ("k", 1), ("k", 2)]

    @pytest.mark.contract("B59")
    def test_a_record_that_cannot_be_deserialized_can_be_passed_over(self, cluster):
        (place,) = places(cluster.topic(1, 3), 1)

        def odd(value):
            if value == b"1":
                raise ValueError(value)
            return value

        with cluster.consumer(value_deserializer=odd) as consumer:
            consumer.assign([place])
            assert offsets(consumer.poll(10)) == [0]
            with pytest.raises(RecordDeserializationError) as error:
                consumer.poll(10)
            consumer.seek(place, error.value.offset + 1)
            assert offsets(consumer.poll(10)) == [2]


class TestIteration:
    def test_it_gives_one_after_the_other(self, cluster):
        with cluster.consumer() as consumer:
            consumer.assign(places(cluster.topic(1, 5), 1))
            assert offsets(itertools.islice(consumer, 5)) == [0, 1, 2, 3, 4]

    def test_it_ends_when_nothing_comes(self, cluster):
        with cluster.consumer() as consumer:
            consumer.assign(places(cluster.topic(1, 5), 1))
            assert offsets(consumer.records(idle=0.5)) == [0, 1, 2, 3, 4]

    def test_it_ends_where_the_partitions_end(self, cluster):
        topic = cluster.topic(3, 5)
        with cluster.consumer() as consumer:
            consumer.assign(places(topic, 3))
            assert len(list(consumer.records(until_end=True))) == 15
            assert list(consumer.records(until_end=True)) == []
            cluster.write(topic, 1, 2, first=5)
            assert offsets(consumer.records(until_end=True)) == [5, 6]

    def test_the_end_of_a_group_s_partitions(self, cluster, group, kind):
        with cluster.consumer(cluster.topic(2, 5), group=group, kind=kind) as consumer:
            assert len(list(consumer.records(until_end=True))) == 10

    def test_wakeup_ends_it(self, cluster):
        with cluster.consumer() as consumer:
            consumer.assign(places(cluster.topic(1, 5), 1))
            seen = []
            for record in consumer:
                seen.append(record.offset)
                if len(seen) == 5:
                    consumer.wakeup()
            assert seen == [0, 1, 2, 3, 4]

    def test_a_poll_in_between_loses_nothing(self, cluster):
        with cluster.consumer() as consumer:
            consumer.assign(places(cluster.topic(1, 5), 1))
            seen = offsets([next(consumer), next(consumer)])
            assert seen + offsets(consumer.poll(5)) == [0, 1, 2, 3, 4]

    def test_pause_and_seek_in_between(self, cluster):
        first, _ = places(cluster.topic(2, 4), 2)
        with cluster.consumer() as consumer:
            consumer.assign([first])
            assert next(consumer).offset == 0
            consumer.pause(first)
            assert list(consumer.records(idle=0.2)) == []
            consumer.resume(first)
            assert next(consumer).offset == 1
            consumer.seek(first, 3)
            assert next(consumer).offset == 3


class TestCommits:
    @pytest.mark.contract("B67", "B77", "B61")
    def test_what_was_read_is_committed_and_gone_on_from(self, cluster, group):
        (place,) = places(cluster.topic(1, 10), 1)
        with cluster.consumer(group=group, enable_auto_commit=False, max_poll_records=4) as consumer:
            consumer.assign([place])
            assert consumer.committed([place]) == {place: None}
            consumer.poll(10)
            consumer.commit()
            assert consumer.committed([place])[place].offset == 4
        with cluster.consumer(group=group) as consumer:
            consumer.assign([place])
            assert offsets(read(consumer, 6))[0] == 4

    @pytest.mark.contract("B68", "B78", "B45")
    def test_offset_text_and_epoch(self, cluster, group):
        first, second = places(cluster.topic(2, 1), 2)
        with cluster.consumer(group=group) as consumer:
            consumer.assign([first, second])
            consumer.commit_sync({first: OffsetAndMetadata(7, "a text", 0), second: 3})
            assert consumer.committed([first, second]) == {
                first: OffsetAndMetadata(7, "a text", 0),
                second: OffsetAndMetadata(3),
            }

    @pytest.mark.contract("B69")
    def test_nothing_to_commit_is_success(self, cluster, group):
        with cluster.consumer(group=group) as consumer:
            consumer.commit()
            consumer.commit({})

    @pytest.mark.contract("B72", "B70", "B80")
    def test_asynchronous_ones_are_told_in_their_order(self, cluster, group):
        (place,) = places(cluster.topic(1, 1), 1)
        told = []
        with cluster.consumer(group=group) as consumer:
            consumer.assign([place])
            futures = [
                consumer.commit_async({place: n}, lambda offsets, error: told.append((offsets[place].offset, error)))
                for n in range(20)
            ]
            futures[-1].result(SECONDS_MAX)
            assert all(each.done() for each in futures) and told == []
            consumer.poll()
            assert told == [(n, None) for n in range(20)]
            assert consumer.committed([place])[place].offset == 19

    @pytest.mark.contract("B70")
    def test_a_synchronous_one_waits_for_those_before_it(self, cluster, group):
        (place,) = places(cluster.topic(1, 1), 1)
        told = []
        with cluster.consumer(group=group) as consumer:
            consumer.assign([place])
            consumer.commit_async({place: 1}, lambda offsets, error: told.append(error))
            consumer.commit_sync({place: 2})
            assert told == [None]

    @pytest.mark.contract("B35", "B20")
    def test_there_is_no_commit_without_a_group(self, cluster):
        topic = cluster.topic(1, 1)
        with cluster.consumer() as consumer:
            consumer.assign(places(topic, 1))
            read(consumer, 1)
            for call in (consumer.commit, consumer.commit_async, lambda: consumer.committed(places(topic, 1))):
                with pytest.raises(errors.InvalidGroupId):
                    call()
            with pytest.raises(errors.InvalidGroupId):
                consumer.subscribe(topic)

    @pytest.mark.contract("B79", "B21")
    def test_automatic_ones_come_with_the_polls(self, cluster, group):
        (place,) = places(cluster.topic(1, 10), 1)
        with cluster.consumer(group=group, auto_commit_interval_ms=50, max_poll_records=5) as consumer:
            consumer.assign([place])
            read(consumer, 5)
            committed = consumer.committed([place])[place]
            assert committed is None or committed.offset == 0
            consumer.pause(place)
            until(
                lambda: (consumer.poll(0.05), consumer.committed([place])[place])[1], lambda at: at and at.offset == 5
            )

    @pytest.mark.contract("B79")
    def test_the_close_commits(self, cluster, group):
        (place,) = places(cluster.topic(1, 10), 1)
        with cluster.consumer(group=group) as consumer:
            consumer.assign([place])
            read(consumer, 10)
        assert cluster.committed(group, place).offset == 10

    def test_the_close_after_an_error_commits_what_was_finished(self, cluster, group):
        (place,) = places(cluster.topic(1, 10), 1)
        with contextlib.suppress(ZeroDivisionError), cluster.consumer(group=group, max_poll_records=4) as consumer:
            consumer.assign([place])
            consumer.poll(10)
            consumer.poll(10)
            raise ZeroDivisionError
        assert cluster.committed(group, place).offset == 4

    def test_and_in_a_loop_over_records_all_but_the_one_that_failed(self, cluster, group):
        (place,) = places(cluster.topic(1, 10), 1)
        consumer = cluster.consumer(group=group)
        consumer.assign([place])
        with contextlib.suppress(ZeroDivisionError):
            try:
                for record in consumer:
                    if record.offset == 6:
                        raise ZeroDivisionError
            finally:
                consumer.close()
        assert cluster.committed(group, place).offset == 6

    def test_a_close_without_commit(self, cluster, group):
        (place,) = places(cluster.topic(1, 3), 1)
        consumer = cluster.consumer(group=group)
        consumer.assign([place])
        read(consumer, 3)
        consumer.close(commit=False)
        with cluster.consumer(group=group) as other:
            assert other.committed([place]) == {place: None}


class Told(RebalanceListener):
    def __init__(self):
        self.told = []

    def on_partitions_assigned(self, partitions):
        self.told.append(("assigned", list(partitions)))

    def on_partitions_revoked(self, partitions):
        self.told.append(("revoked", list(partitions)))

    def on_partitions_lost(self, partitions):
        self.told.append(("lost", list(partitions)))


class TestGroups:
    @pytest.mark.contract("B83", "B85", "B76", "B49")
    def test_one_member_has_all(self, cluster, group, kind):
        topic = cluster.topic(3, 4)
        with cluster.consumer(topic, group=group, kind=kind) as consumer:
            assert consumer.state == "unsubscribed"
            read(consumer, 12)
            assert consumer.assignment() == set(places(topic, 3)) and consumer.subscription() == {topic}
            assert consumer.state == "stable"
            who = consumer.group_metadata()
            assert who.group_id == group and who.member_id and who.generation_id > 0
        assert cluster.committed(group, TopicPartition(topic, 0)).offset == 4

    @pytest.mark.contract("B83", "B86", "B92")
    def test_two_share(self, cluster, group, kind):
        topic = cluster.topic(4, 2)
        with (
            cluster.consumer(topic, group=group, kind=kind) as one,
            cluster.consumer(topic, group=group, kind=kind) as two,
        ):
            seen = polled_until([one], lambda: len(one.assignment()) == 4)
            seen += polled_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 2)
            assert one.assignment() | two.assignment() == set(places(topic, 4))
            for number in range(4):
                cluster.write(topic, number, first=2)
            in_time = Patience()
            while in_time() and len(seen) < 12:
                seen += polled_until([one, two], lambda: True) or [*one.poll(0.1), *two.poll(0.1)]
            assert sorted((each.partition, each.offset) for each in seen) == [
                (p, n) for p in range(4) for n in range(3)
            ]

    def test_when_one_leaves_the_other_has_all(self, cluster, group, kind):
        topic = cluster.topic(4)
        with cluster.consumer(topic, group=group, kind=kind) as one:
            two = cluster.consumer(topic, group=group, kind=kind)
            polled_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 2)
            two.close()
            polled_until([one], lambda: len(one.assignment()) == 4)

    @pytest.mark.contract("B84")
    def test_two_groups_read_the_same(self, cluster, group, kind):
        topic = cluster.topic(1, 3)
        with cluster.consumer(topic, group=group, kind=kind) as one, cluster.consumer(topic, group=f"{group}-2") as two:
            assert offsets(read(one, 3)) == offsets(read(two, 3)) == [0, 1, 2]

    @pytest.mark.contract("B89")
    def test_the_listener_is_told(self, cluster, group, kind):
        topic = cluster.topic(2, 1)
        listener = Told()
        with cluster.consumer(group=group, kind=kind) as one:
            one.subscribe([topic], listener=listener)
            read(one, 2)
            assert listener.told == [("assigned", places(topic, 2))]
            with cluster.consumer(topic, group=group, kind=kind) as two:
                polled_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 1)
                assert ("revoked" in {what for what, _ in listener.told}) and "lost" not in dict(listener.told)
            polled_until([one], lambda: len(one.assignment()) == 2)
        assert listener.told[-1] == ("revoked", places(topic, 2))

    @pytest.mark.contract("B89", "B65", "B81", "B75")
    def test_callbacks_may_commit_and_seek(self, cluster, group, kind):
        (place,) = places(cluster.topic(1, 10), 1)
        with cluster.consumer(group=group, kind=kind, enable_auto_commit=False) as consumer:
            consumer.subscribe(
                place.topic,
                on_assigned=lambda found: consumer.seek(place, 6),
                on_revoked=lambda found: consumer.commit({place: OffsetAndMetadata(8, "by hand")}),
            )
            assert offsets(read(consumer, 4))[0] == 6
        assert cluster.committed(group, place)[:2] == (8, "by hand")

    def test_a_callback_must_not_poll_and_its_error_is_raised(self, cluster, group, kind):
        (place,) = places(cluster.topic(1, 3), 1)
        with cluster.consumer(group=group, kind=kind) as consumer:
            consumer.subscribe(place.topic, on_assigned=lambda found: consumer.poll())
            with pytest.raises(ConcurrentAccess):
                read(consumer, 3)
            assert offsets(read(consumer, 3)) == [0, 1, 2], "the state is whole"

    def test_revoked_partitions_are_committed_before(self, cluster, group, kind):
        topic = cluster.topic(2, 3)
        with cluster.consumer(topic, group=group, kind=kind) as one:
            read(one, 6)
            with cluster.consumer(topic, group=group, kind=kind) as two:
                polled_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 1)
                assert not two.poll(0.2), "it goes on behind what was read"

    def test_unsubscribe_leaves(self, cluster, group, kind):
        topic = cluster.topic(1, 1)
        listener = Told()
        with cluster.consumer(group=group, kind=kind) as consumer:
            consumer.subscribe(topic, listener=listener)
            read(consumer, 1)
            consumer.unsubscribe()
            assert consumer.assignment() == set() == consumer.subscription()
            assert listener.told[-1][0] == "revoked"
            until(lambda: members(cluster, group), lambda found: found == 0)
            consumer.subscribe([topic])
            cluster.write(topic, first=1)
            assert offsets(read(consumer, 1)) == [1]

    @pytest.mark.contract("B38", "B41")
    def test_another_subscription(self, cluster, group, kind):
        one, two = cluster.topic(1, 2), cluster.topic(1, 3)
        with cluster.consumer(one, group=group, kind=kind) as consumer:
            read(consumer, 2)
            consumer.subscribe([two])
            assert {each.topic for each in read(consumer, 3)} == {two}
            assert consumer.assignment() == set(places(two, 1))
            consumer.subscribe([one, two])
            polled_until([consumer], lambda: len(consumer.assignment()) == 2)

    @pytest.mark.contract("B42")
    def test_a_pattern_finds_topics_that_come_later(self, cluster, group, kind):
        prefix = f"pattern-{next(numbers)}"
        one = cluster.topic(1, 1, name=f"{prefix}-a")
        cluster.topic(1, 1, name=f"other-{prefix}-a")
        with cluster.consumer(group=group, kind=kind, metadata_max_age_ms=300) as consumer:
            consumer.subscribe(re.compile(f"{prefix}-.*"))
            assert {each.topic for each in read(consumer, 1)} == {one}
            if kind == "newer" and cluster.release == "4.3":
                return  # the coordinator looks for new topics every ten seconds
            two = cluster.topic(1, 2, name=f"{prefix}-b")
            assert {each.topic for each in read(consumer, 2)} == {two}
            assert consumer.subscription() == {one, two}

    @pytest.mark.contract("B43")
    def test_new_partitions_are_read(self, cluster, group, kind):
        topic = cluster.topic(1, 1)
        with cluster.consumer(topic, group=group, kind=kind, metadata_max_age_ms=300) as consumer:
            read(consumer, 1)
            cluster.admin.create_partitions({topic: 2}).raise_any()
            polled_until([consumer], lambda: len(consumer.assignment()) == 2)

    @pytest.mark.contract("B91")
    def test_a_static_member_comes_back_to_its_partitions(self, cluster, group, kind):
        topic = cluster.topic(2, 2)
        with cluster.consumer(topic, group=group, kind=kind, group_instance_id="me") as consumer:
            read(consumer, 4)
        with cluster.consumer(topic, group=group, kind=kind, group_instance_id="me") as consumer:
            polled_until([consumer], lambda: len(consumer.assignment()) == 2)
            assert consumer.group_metadata().group_instance_id == "me"
            assert members(cluster, group) == 1

    @pytest.mark.contract("B87")
    def test_who_does_not_poll_leaves_and_comes_back(self, cluster, group, kind, caplog):
        topic = cluster.topic(1, 2)
        listener = Told()
        with cluster.consumer(group=group, kind=kind, max_poll_interval_ms=2000, max_poll_records=1) as consumer:
            consumer.subscribe(topic, listener=listener)
            assert offsets(read(consumer, 1)) == [0]
            caplog.clear()  # a machine that is busy enough may have stalled it before
            until(lambda: consumer.state, lambda state: state == "expired")
            assert caplog.text.count("max.poll.interval.ms") == 1
            with pytest.raises((CommitFailed, errors.RebalanceInProgress)):
                consumer.commit()
            seen = polled_until([consumer], lambda: consumer.state == "stable" and len(consumer.assignment()) == 1)
            assert ("lost", places(topic, 1)) in listener.told and listener.told[-1][0] == "assigned"
            seen = seen or read(consumer, 1)
            assert seen[0].offset in (0, 1)

    def test_a_rebalance_by_hand(self, cluster, group):
        topic = cluster.topic(1, 1)
        with cluster.consumer(topic, group=group) as consumer:
            read(consumer, 1)
            before = consumer.group_metadata().generation_id
            consumer.enforce_rebalance()
            polled_until([consumer], lambda: consumer.group_metadata().generation_id > before)

    @pytest.mark.contract("B19")
    @pytest.mark.parametrize(
        "assignor", ["range", "roundrobin", "sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"]
    )
    def test_every_assignor(self, cluster, group, assignor):
        topic = cluster.topic(4)
        configs = {"group": group, "partition_assignment_strategy": assignor}
        with cluster.consumer(topic, **configs) as one, cluster.consumer(topic, **configs) as two:
            polled_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 2)

    @pytest.mark.contract("B40", "B36")
    def test_kinds_of_subscription_exclude_each_other(self, cluster, group):
        topic = cluster.topic()
        with cluster.consumer(group=group) as consumer:
            consumer.subscribe([topic])
            with pytest.raises(RuntimeError):
                consumer.assign(places(topic, 1))
            with pytest.raises(RuntimeError):
                consumer.subscribe(re.compile("a"))
            consumer.subscribe([])
            consumer.assign(places(topic, 1))
            with pytest.raises(RuntimeError):
                consumer.subscribe([topic])
            with pytest.raises(ValueError, match="no name"):
                consumer.subscribe([" "])


def members(cluster, group):
    return len(cluster.admin.describe_groups([group])[group].members)


class TestThreads:
    @pytest.mark.contract("B93", "B48")
    def test_wakeup_strikes_who_waits_and_who_will(self, cluster):
        with cluster.consumer() as consumer:
            consumer.assign(places(cluster.topic(), 1))
            waker = threading.Timer(0.2, consumer.wakeup)
            waker.start()
            with pytest.raises(Wakeup):
                consumer.poll(SECONDS_MAX)
            waker.join(SECONDS_MAX)
            consumer.wakeup()
            with pytest.raises(Wakeup):
                consumer.poll(SECONDS_MAX)
            assert not consumer.poll(0.05), "it strikes once"

    @pytest.mark.contract("B33", "B34")
    def test_a_second_thread_is_refused(self, cluster):
        with cluster.consumer() as consumer:
            consumer.assign(places(cluster.topic(), 1))
            polling = threading.Thread(target=lambda: contextlib.suppress(Wakeup).__enter__() or _poll(consumer))
            polling.start()

            def refused():
                try:
                    consumer.paused(), consumer.position(next(iter(consumer.assignment())))
                except ConcurrentAccess:
                    return True
                return False

            until(refused)
            assert consumer.state in ("stable", "unsubscribed")
            consumer.wakeup()
            polling.join(SECONDS_MAX)

    def test_a_closed_one_says_so(self, cluster):
        consumer = cluster.consumer()
        consumer.assign(places(cluster.topic(), 1))
        consumer.close()
        consumer.close()
        assert consumer.state == "closed"
        with pytest.raises(Exception, match="closed"):
            consumer.poll()
        assert list(consumer) == []


def _poll(consumer):
    with contextlib.suppress(Wakeup):
        consumer.poll(SECONDS_MAX)


class TestInterceptors:
    @pytest.mark.contract("B53", "B71", "B10")
    def test_they_see_records_and_commits(self, cluster, group, caplog):
        (place,) = places(cluster.topic(1, 3), 1)
        committed = []

        class Broken(ConsumerInterceptor):
            def on_consume(self, records):
                raise ZeroDivisionError

        class Shouting(ConsumerInterceptor):
            def on_consume(self, records):
                for record in records:
                    record.deserialized(record.key, record.value + b"!")
                return records

            def on_commit(self, offsets):
                committed.append(offsets[place].offset)

        with cluster.consumer(group=group, interceptors=[Broken(), Shouting()]) as consumer:
            consumer.assign([place])
            assert [each.value for each in read(consumer, 3)] == [b"0!", b"1!", b"2!"]
            consumer.commit()
            consumer.commit_async({place: 1})
            consumer.commit({place: 2})
        assert committed[:3] == [3, 1, 2]
        assert "Broken" in caplog.text


class TestTransactions:
    @pytest.mark.contract("B14", "B97", "B98", "B100", "B101", "B103")
    def test_a_reader_of_committed_records(self, cluster):
        (place,) = places(cluster.topic(), 1)
        producer = kafka_python.KafkaProducer(
            bootstrap_servers=cluster.bootstrap, transactional_id=f"txn-{next(numbers)}"
        )
        producer.init_transactions()
        for value, ends in ((b"kept", producer.commit_transaction), (b"gone", producer.abort_transaction)):
            producer.begin_transaction()
            producer.send(place.topic, value, partition=0).get(SECONDS_MAX)
            ends()
        producer.begin_transaction()
        producer.send(place.topic, b"open", partition=0).get(SECONDS_MAX)
        with cluster.consumer(isolation_level="read_committed") as consumer:
            consumer.assign([place])
            assert [each.value for each in read(consumer, 1)] == [b"kept"]
            assert not consumer.poll(0.3)
            assert consumer.end_offsets([place]) == {place: 4} and consumer.position(place) == 4
        with cluster.consumer() as consumer:
            consumer.assign([place])
            assert [each.value for each in read(consumer, 3)] == [b"kept", b"gone", b"open"]
        producer.abort_transaction()
        producer.close()
