"""More of what a consumer does and is told with whole brokers, ours and Apache Kafka's. Most tests read one topic that
nobody changes: three partitions of ten records.
"""

import asyncio
import re
import threading
import uuid
from datetime import UTC, datetime

import pytest
from test_consumer_client import (
    FIRST_MS,
    SECONDS_MAX,
    Told,
    cluster,  # noqa: F401 - this and the next ones are fixtures
    group,  # noqa: F401
    kind,  # noqa: F401
    members,
    offsets,
    places,
    polled_until,
    read,
    until,
)

from odradek import KafkaConsumer, KafkaProducer, TopicPartition, aio, errors
from odradek.consumer import (
    ConsumerInterceptor,
    FetchOffsetOutOfRange,
    NoOffsetForPartition,
    OffsetAndMetadata,
    RecordDeserializationError,
    Wakeup,
)

# ruff: noqa: F811 - a fixture has the name of what it is
COUNT = 10
ABSENT = TopicPartition("nobody-knows-it", 0)
WRONG_USE = {
    "a poll backwards": (lambda consumer, place: consumer.poll(-1), ValueError, "negative"),
    "a seek below zero": (lambda consumer, place: consumer.seek(place, -1), ValueError, "negative"),
    "a seek where it does not read": (lambda consumer, place: consumer.seek(ABSENT, 0), ValueError, "not assigned"),
    "a pause where it does not read": (lambda consumer, place: consumer.pause(ABSENT), ValueError, "not assigned"),
    "going on where it does not read": (lambda consumer, place: consumer.resume(ABSENT), ValueError, "not assigned"),
    "the position where it does not read": (
        lambda consumer, place: consumer.position(ABSENT),
        ValueError,
        "not assigned",
    ),
    "the beginning where it does not read": (
        lambda consumer, place: consumer.seek_to_beginning(ABSENT),
        ValueError,
        "not assigned",
    ),
    "a time before 1970": (lambda consumer, place: consumer.offsets_for_times({place: -5}), ValueError, "negative"),
    "subscription to a name without letters": (
        lambda consumer, place: (consumer.unsubscribe(), consumer.subscribe([""])),
        (ValueError, errors.KafkaError),
        "",
    ),
    "subscription to nothing that is a name": (
        lambda consumer, place: consumer.subscribe(None),
        TypeError,
        "give names, or a pattern",
    ),
    "members of no group": (
        lambda consumer, place: (consumer.unsubscribe(), consumer.subscribe([place.topic])),
        errors.InvalidGroupId,
        "",
    ),
    "a commit in no group": (lambda consumer, place: consumer.commit({place: 1}), errors.InvalidGroupId, ""),
    "what no group has committed": (lambda consumer, place: consumer.committed([place]), errors.InvalidGroupId, ""),
    "where no group has committed": (lambda consumer, place: consumer.seek_to_committed(), errors.InvalidGroupId, ""),
}
RESETS = {  # the policy, and where a consumer is then of ten records from FIRST_MS on
    "earliest": 0,
    "latest": COUNT,
    "by_duration:PT1S": COUNT,
    "by_duration:P30000D": 0,
}
WHENS = {  # a time, and the first record at or after it
    "long before": (0, 0),
    "the first one's": (FIRST_MS, 0),
    "in between": (FIRST_MS + 4, 4),
    "the last one's": (FIRST_MS + 9, 9),
    "behind the last one's": (FIRST_MS + 10, None),
}
DESERIALIZED = {
    "ByteArrayDeserializer": b"7",
    "StringDeserializer": "7",
}


@pytest.fixture(scope="module")
def shelf(cluster):
    """The partitions of a topic that nobody changes."""
    return places(cluster.topic(3, COUNT), 3)


@pytest.fixture
def reader(cluster, shelf):
    """It reads the first partition, in no group."""
    with cluster.consumer() as consumer:
        consumer.assign([shelf[0]])
        yield consumer


@pytest.fixture
def writer(cluster):
    with KafkaProducer(bootstrap_servers=cluster.bootstrap, max_block_ms=20_000) as producer:
        yield producer


class TestWrongUse:
    @pytest.mark.parametrize("what", WRONG_USE)
    def test_it_is_named_at_once(self, reader, shelf, what):
        call, error, words = WRONG_USE[what]
        with pytest.raises(error, match=words or None):
            call(reader, shelf[0])

    def test_it_reads_on_afterwards(self, reader):
        with pytest.raises(ValueError, match="negative"):
            reader.poll(-1)
        assert offsets(read(reader, COUNT)) == list(range(COUNT))


class TestWhereItReads:
    @pytest.mark.parametrize("policy", RESETS)
    def test_policies_of_a_group_that_has_committed_nothing(self, cluster, shelf, group, policy):
        with cluster.consumer(group=group, auto_offset_reset=policy) as consumer:
            consumer.assign([shelf[0]])
            assert consumer.position(shelf[0]) == RESETS[policy]

    @pytest.mark.parametrize("when", WHENS)
    def test_offsets_by_time(self, reader, shelf, when):
        time_ms, offset = WHENS[when]
        found = reader.offsets_for_times({shelf[1]: time_ms})[shelf[1]]
        assert (found and found.offset) == offset
        assert found is None or found.timestamp == FIRST_MS + offset

    def test_several_times_at_once(self, reader, shelf):
        found = reader.offsets_for_times({place: FIRST_MS + place.partition for place in shelf})
        assert [found[place].offset for place in shelf] == [0, 1, 2]

    def test_both_ends_of_all(self, reader, shelf):
        assert reader.beginning_offsets(shelf) == dict.fromkeys(shelf, 0)
        assert reader.end_offsets(shelf) == dict.fromkeys(shelf, COUNT)

    def test_nothing_asked_is_nothing_told(self, reader):
        assert reader.beginning_offsets([]) == reader.end_offsets([]) == reader.offsets_for_times({}) == {}

    def test_a_date_to_seek_to(self, reader, shelf):
        reader.seek_to_time(datetime.fromtimestamp((FIRST_MS + 6) / 1000, UTC), shelf[0])
        assert offsets(read(reader, 4)) == [6, 7, 8, 9]

    def test_a_time_behind_all_is_the_end(self, reader, shelf):
        reader.seek_to_time(FIRST_MS + 1_000_000)
        assert reader.position(shelf[0]) == COUNT

    def test_the_end_and_the_beginning_of_all_that_is_assigned(self, cluster, shelf):
        with cluster.consumer() as consumer:
            consumer.assign(shelf)
            consumer.seek_to_end()
            assert [consumer.position(place) for place in shelf] == [COUNT] * 3
            consumer.seek_to_beginning()
            assert [consumer.position(place) for place in shelf] == [0] * 3

    def test_the_last_seek_counts(self, reader, shelf):
        reader.seek_to_end(shelf[0])
        reader.seek(shelf[0], 3)
        assert offsets(read(reader, 7))[0] == 3

    def test_a_seek_drops_what_was_fetched(self, reader, shelf):
        assert reader.poll(SECONDS_MAX, max_records=2)[0].offset == 0
        reader.seek(shelf[0], 8)
        assert offsets(read(reader, 2)) == [8, 9]

    def test_a_seek_to_the_end_waits_for_more(self, cluster):
        (place,) = places(cluster.topic(1, 3), 1)
        with cluster.consumer() as consumer:
            consumer.assign([place])
            consumer.seek(place, 3)
            assert not consumer.poll(0.1)
            cluster.write(place.topic, first=3)
            assert offsets(read(consumer, 1)) == [3]

    def test_a_position_behind_the_end_is_reset(self, reader, shelf):
        reader.seek(shelf[0], 1000)
        assert offsets(read(reader, COUNT))[0] == 0

    def test_a_position_behind_the_end_is_told_of_without_a_policy(self, cluster, shelf):
        with cluster.consumer(auto_offset_reset="none") as consumer:
            consumer.assign([shelf[0]])
            consumer.seek(shelf[0], 1000)
            with pytest.raises(FetchOffsetOutOfRange) as error:
                read(consumer, 1)
            assert error.value.offsets == {shelf[0]: 1000}
            consumer.seek(shelf[0], 9)
            assert offsets(read(consumer, 1)) == [9]

    def test_a_group_without_offsets_and_policy(self, cluster, shelf, group):
        with cluster.consumer(group=group, auto_offset_reset="none") as consumer:
            consumer.assign(shelf[:2])
            with pytest.raises(NoOffsetForPartition) as error:
                consumer.poll(SECONDS_MAX)
            assert error.value.partitions == shelf[:2]

    def test_records_that_were_deleted_before_it_came(self, cluster):
        (place,) = places(cluster.topic(1, 5), 1)
        cluster.admin.delete_records({place: 3}).raise_any()
        with cluster.consumer() as consumer:
            consumer.assign([place])
            assert offsets(read(consumer, 2)) == [3, 4]
            assert consumer.beginning_offsets([place]) == {place: 3}

    def test_lag_shrinks_with_each_poll(self, cluster, shelf):
        with cluster.consumer(max_poll_records=4) as consumer:
            consumer.assign([shelf[2]])
            assert [len(consumer.poll(SECONDS_MAX)) and consumer.current_lag(shelf[2]) for _ in range(3)] == [6, 2, 0]

    def test_another_assignment_forgets_the_first(self, reader, shelf):
        read(reader, COUNT)
        reader.assign([shelf[1]])
        assert {each.partition for each in read(reader, COUNT)} == {1}
        assert reader.assignment() == {shelf[1]}

    def test_what_stays_assigned_goes_on(self, cluster, shelf):
        with cluster.consumer(max_poll_records=5) as consumer:
            consumer.assign([shelf[0]])
            assert len(consumer.poll(SECONDS_MAX)) == 5
            consumer.assign(shelf[:2])
            assert consumer.position(shelf[0]) == 5

    def test_no_assignment_is_as_none_before(self, reader):
        reader.assign([])
        assert reader.assignment() == set()
        with pytest.raises(RuntimeError, match="reads nothing"):
            reader.poll()

    def test_a_partition_that_is_not_there_yet_brings_nothing(self, cluster, shelf):
        with cluster.consumer(allow_auto_create_topics=False) as consumer:
            consumer.assign([shelf[0], TopicPartition(shelf[0].topic, 9)])
            assert {each.partition for each in read(consumer, COUNT)} == {0}

    def test_ends_of_what_is_not_there(self, cluster):
        with cluster.consumer(allow_auto_create_topics=False) as consumer, pytest.raises(errors.KafkaError):
            consumer.end_offsets([ABSENT], timeout=0.5)


class TestPolls:
    def test_partitions_of_what_came(self, cluster, shelf):
        with cluster.consumer() as consumer:
            consumer.assign(shelf)
            found = []
            while len(found) < 3 * COUNT:
                polled = consumer.poll(SECONDS_MAX)
                assert polled
                assert [each for place in polled.partitions() for each in polled.records(place)] == list(polled)
                assert len(polled.records(shelf[0].topic)) == len(polled)
                found += polled
            assert sorted((each.partition, each.offset) for each in found) == [
                (p, n) for p in range(3) for n in range(COUNT)
            ]

    def test_the_next_offsets_are_what_to_commit(self, cluster, shelf, group):
        with cluster.consumer(group=group, max_poll_records=6, enable_auto_commit=False) as consumer:
            consumer.assign([shelf[0]])
            polled = consumer.poll(SECONDS_MAX)
            assert polled.next_offsets() == {shelf[0]: OffsetAndMetadata(6, "", 0)}
            consumer.commit(polled.next_offsets())
            assert consumer.committed([shelf[0]])[shelf[0]].offset == 6

    def test_a_pause_of_all_brings_nothing_and_loses_nothing(self, reader, shelf):
        reader.poll(SECONDS_MAX, max_records=1)
        reader.pause(shelf[0])
        assert not reader.poll(0.1)
        reader.resume(shelf[0])
        assert offsets(read(reader, 9)) == list(range(1, COUNT))

    def test_a_pause_survives_a_seek(self, reader, shelf):
        reader.pause(shelf[0])
        reader.seek(shelf[0], 5)
        assert not reader.poll(0.1) and reader.paused() == {shelf[0]}
        reader.resume(shelf[0])
        assert offsets(read(reader, 5))[0] == 5

    def test_paused_twice_and_resumed_once(self, reader, shelf):
        reader.pause(shelf[0])
        reader.pause([shelf[0]])
        reader.resume(shelf[0])
        assert reader.paused() == set() and offsets(read(reader, COUNT))[0] == 0

    @pytest.mark.parametrize(
        "limit", [{"max_partition_fetch_bytes": 1}, {"fetch_max_bytes": 1}, {"fetch_min_bytes": 10**6}]
    )
    def test_limits_of_a_fetch_lose_nothing(self, cluster, shelf, limit):
        with cluster.consumer(fetch_max_wait_ms=100, **limit) as consumer:
            consumer.assign(shelf)
            assert len(read(consumer, 3 * COUNT)) == 3 * COUNT

    def test_sums_of_batches_are_checked_or_not(self, cluster, shelf):
        with cluster.consumer(check_crcs=False) as consumer:
            consumer.assign([shelf[0]])
            assert offsets(read(consumer, COUNT)) == list(range(COUNT))

    def test_headers_times_and_sizes(self, cluster, writer):
        (place,) = places(cluster.topic(), 1)
        headers = [("a", b"1"), ("a", None), ("ü", b"")]
        writer.send(place.topic, b"value", b"key", headers=headers, timestamp_ms=FIRST_MS).result(SECONDS_MAX)
        writer.send(place.topic, None, None).result(SECONDS_MAX)
        with cluster.consumer() as consumer:
            consumer.assign([place])
            full, bare = read(consumer, 2)
        assert (full.headers, full.timestamp, full.timestamp_type) == (tuple(headers), FIRST_MS, 0)
        assert (full.serialized_key_size, full.serialized_value_size, full.leader_epoch) == (3, 5, 0)
        assert (bare.key, bare.value, bare.headers) == (None, None, ())
        assert (bare.serialized_key_size, bare.serialized_value_size) == (-1, -1)

    def test_the_broker_s_own_times(self, cluster, writer):
        (place,) = places(cluster.topic(message_timestamp_type="LogAppendTime"), 1)
        told = writer.send(place.topic, b"v", timestamp_ms=1000).result(SECONDS_MAX)
        with cluster.consumer() as consumer:
            consumer.assign([place])
            (record,) = read(consumer, 1)
        assert (record.timestamp, record.timestamp_type) == (told.timestamp, 1)

    @pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
    def test_every_compression(self, cluster, codec):
        (place,) = places(cluster.topic(), 1)
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, compression_type=codec, linger_ms=1000) as producer:
            producer.send_many(place.topic, [b"again and again %d" % n for n in range(50)])
            producer.flush(SECONDS_MAX)
        with cluster.consumer() as consumer:
            consumer.assign([place])
            assert [each.value for each in read(consumer, 50)] == [b"again and again %d" % n for n in range(50)]

    @pytest.mark.parametrize("name", DESERIALIZED)
    def test_deserializers_that_java_s_programs_name(self, cluster, shelf, name):
        given = {"value.deserializer": f"org.apache.kafka.common.serialization.{name}"}
        with KafkaConsumer(given | {"bootstrap.servers": cluster.bootstrap}) as consumer:
            consumer.assign([shelf[0]])
            consumer.seek(shelf[0], 7)
            assert next(consumer).value == DESERIALIZED[name]

    def test_a_key_that_cannot_be_read_is_named(self, cluster, shelf):
        with cluster.consumer(key_deserializer=int) as consumer:
            consumer.assign([shelf[0]])
            with pytest.raises(RecordDeserializationError) as error:
                consumer.poll(SECONDS_MAX)
        assert error.value.offset == 0 and "key.deserializer" in str(error.value)

    def test_compacted_records_leave_gaps(self, cluster):
        (place,) = places(cluster.topic(1, 6), 1)
        cluster.admin.delete_records({place: 2}).raise_any()
        with cluster.consumer() as consumer:
            consumer.assign([place])
            consumer.seek(place, 2)
            assert offsets(read(consumer, 4)) == [2, 3, 4, 5]


class TestArrow:
    @pytest.fixture
    def table_reader(self, reader):
        pytest.importorskip("pyarrow")
        return reader

    def test_a_table_has_all_columns(self, table_reader, shelf):
        table = table_reader.poll_arrow(SECONDS_MAX)
        assert table.column_names == ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]
        assert table["offset"].to_pylist() == list(range(COUNT))
        assert set(table["topic"].to_pylist()) == {shelf[0].topic}
        assert table["value"].to_pylist() == [b"%d" % n for n in range(COUNT)]

    def test_it_goes_on_where_records_ended(self, table_reader, shelf):
        assert offsets(table_reader.poll(SECONDS_MAX, max_records=3)) == [0, 1, 2]
        assert table_reader.poll_arrow(SECONDS_MAX)["offset"].to_pylist() == list(range(3, COUNT))
        assert table_reader.position(shelf[0]) == COUNT

    def test_nothing_in_time_is_an_empty_table(self, table_reader, shelf):
        table_reader.seek_to_end()
        assert table_reader.poll_arrow(0.1).num_rows == 0

    def test_what_it_returned_can_be_committed(self, cluster, shelf, group):
        pytest.importorskip("pyarrow")
        with cluster.consumer(group=group) as consumer:
            consumer.assign([shelf[0]])
            assert consumer.poll_arrow(SECONDS_MAX).num_rows == COUNT
            consumer.commit()
            assert consumer.committed([shelf[0]])[shelf[0]].offset == COUNT


class TestCommits:
    @pytest.fixture
    def committing(self, cluster, shelf, group):
        with cluster.consumer(group=group, enable_auto_commit=False) as consumer:
            consumer.assign(shelf)
            yield consumer

    def test_the_text_that_comes_with_an_offset(self, committing, shelf):
        wanted = OffsetAndMetadata(3, "grüße")
        committing.commit({shelf[0]: wanted})
        assert committing.committed([shelf[0]]) == {shelf[0]: wanted}

    def test_a_text_that_is_too_long(self, committing, shelf):
        with pytest.raises(errors.OffsetMetadataTooLarge):
            committing.commit({shelf[0]: OffsetAndMetadata(3, "x" * 5000)})

    def test_an_unknown_topic(self, committing):
        with pytest.raises(errors.KafkaError):
            committing.commit({ABSENT: 1}, timeout=0.5)

    def test_a_negative_offset(self, committing, shelf):
        with pytest.raises(ValueError, match="negative"):
            committing.commit({shelf[0]: -1})

    def test_some_partitions_leave_the_others_alone(self, committing, shelf):
        committing.commit({shelf[0]: 1, shelf[1]: 2})
        committing.commit({shelf[1]: 5})
        found = committing.committed(shelf)
        assert [each and each.offset for each in found.values()] == [1, 5, None]

    def test_an_offset_may_go_back(self, committing, shelf):
        for offset in (7, 2):
            committing.commit({shelf[0]: offset})
        assert committing.committed([shelf[0]])[shelf[0]].offset == 2

    def test_what_was_read_has_its_leader_s_epoch(self, committing, shelf):
        read(committing, 3 * COUNT)
        committing.commit()
        assert committing.committed([shelf[0]]) == {shelf[0]: OffsetAndMetadata(COUNT, "", 0)}

    def test_a_refused_one_is_told_to_its_callback(self, committing, shelf):
        told = []
        future = committing.commit_async(
            {shelf[0]: OffsetAndMetadata(3, "x" * 5000)}, lambda offsets, error: told.append((offsets, error))
        )
        assert isinstance(future.exception(SECONDS_MAX), errors.OffsetMetadataTooLarge)
        committing.poll()
        ((found, error),) = told
        assert found == future.offsets and error is future.exception(0)

    def test_callbacks_come_with_the_close(self, cluster, shelf, group):
        told = []
        with cluster.consumer(group=group) as consumer:
            consumer.assign([shelf[0]])
            consumer.commit_async({shelf[0]: 3}, lambda offsets, error: told.append(error))
        assert told == [None]

    def test_back_to_what_was_committed(self, committing, shelf):
        committing.commit({shelf[0]: 8, shelf[1]: 9})
        committing.pause(shelf[2])
        committing.seek_to_end()
        committing.seek_to_committed(shelf[0], shelf[1])
        assert sorted((each.partition, each.offset) for each in read(committing, 3)) == [(0, 8), (0, 9), (1, 9)]

    def test_a_group_goes_on_where_another_member_ended(self, cluster, shelf, group):
        for first in (0, 4, 8):
            with cluster.consumer(group=group, max_poll_records=4) as consumer:
                consumer.assign([shelf[0]])
                assert consumer.poll(SECONDS_MAX)[0].offset == first

    def test_without_automatic_ones_nothing_is_committed(self, cluster, shelf, group):
        with cluster.consumer(group=group, enable_auto_commit=False) as consumer:
            consumer.assign([shelf[0]])
            read(consumer, COUNT)
        assert cluster.admin.list_group_offsets(group)[group] == {}

    def test_of_what_is_not_committed_nothing_is_told(self, committing, shelf):
        assert committing.committed(shelf) == dict.fromkeys(shelf)


class TestInterceptors:
    def test_they_may_drop_records(self, cluster, shelf):
        class EvenOnly(ConsumerInterceptor):
            def on_consume(self, records):
                return type(records)([each for each in records if each.offset % 2 == 0])

        with cluster.consumer(interceptors=[EvenOnly()]) as consumer:
            consumer.assign([shelf[0]])
            assert offsets(read(consumer, COUNT // 2)) == [0, 2, 4, 6, 8]
            assert consumer.position(shelf[0]) == COUNT

    def test_they_are_closed_once(self, cluster, shelf):
        closed = []

        class Closing(ConsumerInterceptor):
            def close(self):
                closed.append(self)

        with cluster.consumer(interceptors=[Closing()]) as consumer:
            consumer.assign([shelf[0]])
            consumer.poll(SECONDS_MAX)
        consumer.close()
        assert len(closed) == 1

    def test_automatic_commits_are_seen(self, cluster, shelf, group):
        seen = []

        class Noting(ConsumerInterceptor):
            def on_commit(self, offsets):
                seen.append(dict(offsets))

        with cluster.consumer(group=group, interceptors=[Noting()]) as consumer:
            consumer.assign([shelf[0]])
            read(consumer, COUNT)
        assert seen[-1][shelf[0]].offset == COUNT


class TestGroups:
    def test_who_it_is(self, cluster, shelf, group, kind):
        with cluster.consumer(shelf[0].topic, group=group, kind=kind) as consumer:
            read(consumer, 3 * COUNT)
            who = consumer.group_metadata()
        assert (who.group_id, who.group_instance_id) == (group, None)
        assert who.generation_id > 0 and who.member_id

    def test_who_assigns_is_no_member(self, cluster, shelf, group):
        with cluster.consumer(group=group) as consumer:
            consumer.assign([shelf[0]])
            read(consumer, COUNT)
            who = consumer.group_metadata()
        assert (who.generation_id, who.member_id) == (-1, "")

    def test_more_members_than_partitions(self, cluster, group, kind):
        topic = cluster.topic(1, 1)
        with (
            cluster.consumer(topic, group=group, kind=kind) as one,
            cluster.consumer(topic, group=group, kind=kind) as two,
        ):
            polled_until([one, two], lambda: "stable" == one.state == two.state and members(cluster, group) == 2)
            polled_until([one, two], lambda: sorted(len(each.assignment()) for each in (one, two)) == [0, 1])

    def test_topics_of_each_member_s_own(self, cluster, group, kind):
        mine, ours = cluster.topic(2), cluster.topic(2)
        with (
            cluster.consumer(mine, ours, group=group, kind=kind) as one,
            cluster.consumer(ours, group=group, kind=kind) as two,
        ):
            polled_until(
                [one, two],
                lambda: two.assignment() and len(one.assignment()) + len(two.assignment()) == 4,
            )
            assert set(places(mine, 2)) <= one.assignment()
            assert {place.topic for place in two.assignment()} == {ours}

    def test_pauses_end_with_another_subscription(self, cluster, shelf, group, kind):
        other = cluster.topic(1, 1)
        with cluster.consumer(shelf[0].topic, group=group, kind=kind) as consumer:
            polled_until([consumer], lambda: len(consumer.assignment()) == 3)
            consumer.pause(shelf)
            consumer.subscribe([other])
            polled_until([consumer], lambda: consumer.assignment() == set(places(other, 1)))
            assert consumer.paused() == set()

    def test_a_close_gives_the_partitions_back(self, cluster, shelf, group, kind):
        listener = Told()
        with cluster.consumer(group=group, kind=kind) as consumer:
            consumer.subscribe([shelf[0].topic], listener=listener)
            polled_until([consumer], lambda: len(consumer.assignment()) == 3)
        assert [what for what, _ in listener.told] == ["assigned", "revoked"]
        assert set(listener.told[-1][1]) == set(shelf)

    def test_a_listener_s_error_is_raised_by_the_poll(self, cluster, shelf, group, kind):
        def fails(_):
            raise ZeroDivisionError

        with cluster.consumer(group=group, kind=kind) as consumer:
            consumer.subscribe([shelf[0].topic], on_assigned=fails)
            with pytest.raises(ZeroDivisionError):
                polled_until([consumer], lambda: False)
            assert len(read(consumer, 3 * COUNT)) == 3 * COUNT

    def test_the_same_subscription_again_changes_nothing(self, cluster, shelf, group, kind):
        listener = Told()
        with cluster.consumer(group=group, kind=kind) as consumer:
            consumer.subscribe([shelf[0].topic], listener=listener)
            read(consumer, 3 * COUNT)
            consumer.subscribe([shelf[0].topic], listener=listener)
            assert not consumer.poll(0.2)
            assert [what for what, _ in listener.told] == ["assigned"]

    def test_a_topic_that_is_not_there_yet(self, cluster, shelf, group, kind):
        topic = f"later-{uuid.uuid4()}"
        configs = {"group": group, "kind": kind, "metadata_max_age_ms": 300, "allow_auto_create_topics": False}
        with cluster.consumer(shelf[0].topic, topic, **configs) as consumer:
            read(consumer, 3 * COUNT)
            cluster.topic(1, 1, name=topic)
            assert {each.topic for each in read(consumer, 1)} == {topic}

    def test_a_pattern_that_finds_nothing(self, cluster, group):
        with cluster.consumer(group=group) as consumer:
            consumer.subscribe(re.compile(f"no-such-{uuid.uuid4()}.*"))
            assert not consumer.poll(0.2)
            assert consumer.assignment() == set()

    def test_a_pattern_has_to_match_the_whole_name(self, cluster, group, kind):
        prefix = f"whole-{uuid.uuid4().hex}"
        cluster.topic(1, 1, name=f"{prefix}-more")
        one = cluster.topic(1, 1, name=prefix)
        with cluster.consumer(group=group, kind=kind) as consumer:
            consumer.subscribe(re.compile(prefix))
            assert {each.topic for each in read(consumer, 1)} == {one}

    def test_a_static_member_is_described_by_its_name(self, cluster, shelf, group, kind):
        with cluster.consumer(shelf[0].topic, group=group, kind=kind, group_instance_id="me") as consumer:
            polled_until([consumer], lambda: len(consumer.assignment()) == 3)
            (member,) = cluster.admin.describe_groups([group])[group].members
            assert member.instance_id == "me" == consumer.group_metadata().group_instance_id

    def test_an_admin_sees_which_partitions_it_has(self, cluster, shelf, group, kind):
        with cluster.consumer(shelf[0].topic, group=group, kind=kind, client_id="seen") as consumer:
            polled_until([consumer], lambda: len(consumer.assignment()) == 3)
            found = until(
                lambda: cluster.admin.describe_groups([group])[group],
                lambda told: told.state == "Stable" and told.members[0].assignment == set(shelf),
            )
            assert found.members[0].client_id == "seen"

    def test_offsets_of_a_group_at_work_cannot_be_set(self, cluster, shelf, group, kind):
        with cluster.consumer(shelf[0].topic, group=group, kind=kind) as consumer:
            polled_until([consumer], lambda: len(consumer.assignment()) == 3)
            error = cluster.admin.alter_group_offsets(group, {shelf[0]: 1}).errors[shelf[0]]
            assert isinstance(error, errors.UnknownMemberId)
            gone = cluster.admin.delete_group_offsets(group, [shelf[0]]).errors[shelf[0]]
            assert isinstance(gone, errors.GroupSubscribedToTopic)


class TestWaiting:
    def test_a_wakeup_ends_other_calls_as_well(self, cluster, reader):
        reader.wakeup()
        with pytest.raises(Wakeup):
            reader.end_offsets(list(reader.assignment()))

    def test_a_wakeup_before_a_poll_with_records_is_not_lost(self, reader):
        reader.wakeup()
        with pytest.raises(Wakeup):
            reader.poll(SECONDS_MAX)
        assert offsets(read(reader, COUNT))[0] == 0

    def test_a_poll_ends_when_a_record_comes(self, cluster):
        (place,) = places(cluster.topic(), 1)
        with cluster.consumer() as consumer:
            consumer.assign([place])
            consumer.poll(0.05)
            later = threading.Timer(0.2, cluster.write, [place.topic])
            later.start()
            assert len(consumer.poll(SECONDS_MAX)) == 1
            later.join(SECONDS_MAX)

    def test_nobody_answers(self, cluster):
        with (
            KafkaConsumer(bootstrap_servers="127.0.0.1:1") as consumer,
            pytest.raises(errors.KafkaError, match=r"127\.0\.0\.1:1|no answer|time"),
        ):
            consumer.list_topics(timeout=0.2)

    def test_health(self, reader, shelf):
        read(reader, COUNT)
        assert reader.state == "stable"
        assert (reader.state.error, reader.state.lag) == (None, 0)

    def test_what_it_counts(self, reader):
        read(reader, COUNT)
        counted = {name.name: value for name, value in reader.metrics().items()}
        assert counted["records-consumed-total"] == COUNT
        assert counted["records-lag-max"] == 0 and counted["polls-total"] >= 1


class TestTransactions:
    @pytest.fixture
    def transactional(self, cluster):
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id=str(uuid.uuid4())) as producer:
            producer.init_transactions(SECONDS_MAX)
            yield producer

    def test_markers_are_no_records(self, cluster, transactional):
        (place,) = places(cluster.topic(), 1)
        for _ in range(3):
            with transactional.transaction():
                transactional.send(place.topic, b"v", partition=0)
        with cluster.consumer(isolation_level="read_committed") as consumer:
            consumer.assign([place])
            assert offsets(read(consumer, 3)) == [0, 2, 4]
            polled_until([consumer], lambda: consumer.position(place) == 6)

    def test_ends_differ_by_what_one_may_see(self, cluster, transactional):
        (place,) = places(cluster.topic(1, 2), 1)
        transactional.begin_transaction()
        transactional.send(place.topic, b"v", partition=0).result(SECONDS_MAX)
        for level, end in (("read_committed", 2), ("read_uncommitted", 3)):
            with cluster.consumer(isolation_level=level) as consumer:
                assert consumer.end_offsets([place]) == {place: end}
        transactional.abort_transaction()

    def test_records_wait_for_a_transaction_before_them(self, cluster, transactional):
        (place,) = places(cluster.topic(), 1)
        transactional.begin_transaction()
        transactional.send(place.topic, b"open", partition=0).result(SECONDS_MAX)
        cluster.write(place.topic)
        with cluster.consumer(isolation_level="read_committed") as consumer:
            consumer.assign([place])
            assert not consumer.poll(0.2)
            transactional.abort_transaction()
            assert [each.value for each in read(consumer, 1)] == [b"0"]

    def test_offsets_that_a_transaction_committed_are_gone_on_from(self, cluster, transactional, shelf, group):
        with cluster.consumer(group=group, enable_auto_commit=False, max_poll_records=4) as consumer:
            consumer.assign([shelf[0]])
            assert len(consumer.poll(SECONDS_MAX)) == 4
            with transactional.transaction(consumer):
                pass
        with cluster.consumer(group=group) as consumer:
            consumer.assign([shelf[0]])
            assert consumer.position(shelf[0]) == 4

    def test_a_transaction_of_a_consumer_that_reads_nothing_yet(self, cluster, transactional, shelf, group):
        with cluster.consumer(shelf[0].topic, group=group) as consumer, transactional.transaction(consumer):
            pass


class TestAsyncio:
    def run(self, cluster, work, *topics, **configs):
        async def main():
            given = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 100} | configs
            async with aio.KafkaConsumer(*topics, bootstrap_servers=cluster.bootstrap, **given) as consumer:
                return await asyncio.wait_for(work(consumer), SECONDS_MAX)

        return asyncio.run(main())

    def test_a_loop_over_records(self, cluster, shelf):
        async def work(consumer):
            await consumer.assign([shelf[0]])
            found = []
            async for record in consumer:
                found.append(record.offset)
                if len(found) == COUNT:
                    break
            return found

        assert self.run(cluster, work) == list(range(COUNT))

    def test_positions_and_ends(self, cluster, shelf):
        async def work(consumer):
            await consumer.assign([shelf[0]])
            await consumer.seek(shelf[0], 7)
            return await consumer.position(shelf[0]), await consumer.end_offsets([shelf[0]])

        assert self.run(cluster, work) == (7, {shelf[0]: COUNT})

    def test_a_cancelled_poll_loses_nothing(self, cluster):
        (place,) = places(cluster.topic(), 1)

        async def work(consumer):
            await consumer.assign([place])
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(consumer.poll(SECONDS_MAX), 0.1)
            cluster.write(place.topic, count=3)
            found = []
            while len(found) < 3:
                found += await consumer.poll(1.0)
            return offsets(found)

        assert self.run(cluster, work) == [0, 1, 2]

    def test_a_member_commits(self, cluster, shelf, group):
        async def work(consumer):
            found = []
            while len(found) < 3 * COUNT:
                found += await consumer.poll(1.0)
            await consumer.commit()
            return await consumer.committed(shelf)

        found = self.run(cluster, work, shelf[0].topic, group_id=group, enable_auto_commit=False)
        assert [each.offset for each in found.values()] == [COUNT] * 3

    def test_callbacks_may_be_coroutines(self, cluster, shelf, group):
        told = []

        async def assigned(partitions):
            await asyncio.sleep(0)
            told.append(set(partitions))

        async def work(consumer):
            await consumer.subscribe([shelf[0].topic], on_assigned=assigned)
            while not told:
                await consumer.poll(0.1)

        self.run(cluster, work, group_id=group)
        assert told == [set(shelf)]
