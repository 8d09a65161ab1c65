"""What the driver decides and what a task reads, against a real broker; Spark itself is not needed for it."""

import json
import threading
import time

import pytest

import started
from odradek import AdminClient, KafkaProducer, TopicPartition
from odradek.spark import options as checked
from odradek.spark.errors import DataLossError, SourceError, SparkOptionError
from odradek.spark.source import client_cache, stream_progress
from odradek.spark.source.cluster_offsets import ClusterOffsets
from odradek.spark.source.group_offsets import GroupOffsets
from odradek.spark.source.planning import OffsetRange, ranges_between
from odradek.spark.source.stream_progress import StreamProgress
from odradek.spark.source.task_reading import RangeReading, consumer_configs
from odradek.testing import Broker
from sasl_listener import sasl_properties

WAIT_S = 60
ALL = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.fixture(scope="module")
def admin(broker):
    with AdminClient(bootstrap_servers=broker.bootstrap) as client:
        yield client


@pytest.fixture
def topic(request, broker):
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    broker.create_topic(name, partitions=2)
    return name


@pytest.fixture
def source(broker, topic):
    """Checked options of a stream that reads the topic."""

    def make(**more):
        given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, **more}
        return checked.source_options(given, is_streaming=True)

    return make


@pytest.fixture
def progress(source):
    opened = []

    def make(**more):
        cluster = ClusterOffsets(source(**more))
        opened.append(cluster)
        return StreamProgress(source(**more), cluster)

    yield make
    for cluster in opened:
        cluster.close()


def send(broker, topic, count, partition=0, **configs):
    with KafkaProducer(bootstrap_servers=broker.bootstrap, **configs) as producer:
        producer.send_many(topic, [b"%d" % number for number in range(count)], partition=partition).result(WAIT_S)


def rows(source, place, start, stop, columns=("offset", "value"), **more):
    options = source(**more)
    with client_cache.borrowed(consumer_configs(options), is_retry=False) as consumer:
        batches = list(RangeReading(consumer, options, columns, OffsetRange(place, start, stop)).batches())
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def end(progress, start, **more):
    return progress.next_end(dict(start), is_limited=True, **more)


# The driver


def test_a_stream_goes_on_to_what_there_is(broker, topic, progress):
    here = progress(startingOffsets="earliest")
    first = here.first()
    assert first == {(topic, 0): 0, (topic, 1): 0}
    send(broker, topic, 5)
    assert end(here, first) == {(topic, 0): 5, (topic, 1): 0} == here.latest


def test_latest_is_pinned_by_an_empty_batch(broker, topic, progress):
    send(broker, topic, 5)
    here = progress()
    first = here.first()
    send(broker, topic, 5)
    assert end(here, first) == first == {(topic, 0): 5, (topic, 1): 0}
    assert end(here, first)[topic, 0] == 10


def test_times_and_times_before_now(broker, topic, progress):
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        old = int(time.time() * 1000) - 3_600_000
        times = [old, old + 1, int(time.time() * 1000)]
        producer.send_many(topic, [b"a", b"b", b"c"], timestamps_ms=times, partition=0).result(WAIT_S)
    assert progress(startingOffsets="-30m").first() == {(topic, 0): 2, (topic, 1): 0}
    assert progress(startingOffsets="-2h").first() == {(topic, 0): 0, (topic, 1): 0}
    found = progress(startingTimestamp=str(old + 1), startingOffsetsByTimestampStrategy="latest").first()
    assert found == {(topic, 0): 1, (topic, 1): 0}
    with pytest.raises(SparkOptionError, match=f"topic {topic} partition 1 has no record at or after it"):
        progress(startingTimestamp=str(old + 1)).first()
    by_time = json.dumps({topic: {"0": old + 1}})
    with pytest.raises(SparkOptionError, match=f"missing are {topic}-1"):
        progress(startingOffsetsByTimestamp=by_time).first()


def test_every_partition_has_to_be_named(topic, progress):
    with pytest.raises(SparkOptionError, match=f"missing are {topic}-1, not read are {topic}-7"):
        progress(startingOffsets=json.dumps({topic: {"0": 1, "7": 1}})).first()


def test_a_missing_topic_is_named(progress):
    with pytest.raises(SourceError, match="topic no-such-topic does not exist"):
        progress(subscribe="no-such-topic").first()


def test_an_unreachable_cluster_is_named_after_the_retries(source):
    given = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "300"}
    given |= {"kafka.request.timeout.ms": "200", "fetchOffset.numRetries": "2", "fetchOffset.retryIntervalMs": "1"}
    with pytest.raises(SourceError, match=r"the cluster at 127\.0\.0\.1:1 did not answer"):
        ClusterOffsets(source(**given)).topics()


def test_a_pattern_finds_topics_by_their_whole_name_and_new_ones_later(broker, topic):
    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribePattern": f"{topic}-[ab]"}
    options = checked.source_options({**given, "startingOffsets": "earliest"}, is_streaming=True)
    broker.create_topic(f"{topic}-a", partitions=1)
    broker.create_topic(f"{topic}-ax", partitions=1)
    cluster = ClusterOffsets(options)
    here = StreamProgress(options, cluster)
    assert here.first() == {(f"{topic}-a", 0): 0}
    broker.create_topic(f"{topic}-b", partitions=1)
    send(broker, f"{topic}-b", 3)
    start = {TopicPartition(f"{topic}-a", 0): 0}
    found = end(here, start)
    assert found == {(f"{topic}-a", 0): 0, (f"{topic}-b", 0): 3}
    assert ranges_between(start, found) == [OffsetRange(TopicPartition(f"{topic}-b", 0), 0, 3)]
    cluster.close()


def test_available_now_ends_where_it_was_when_it_began(broker, topic, progress):
    here = progress(startingOffsets="earliest", minOffsetsPerTrigger="1000")
    send(broker, topic, 5)
    here.freeze()
    first = here.first()
    send(broker, topic, 5)
    assert end(here, first)[topic, 0] == 5
    assert end(here, {TopicPartition(topic, 0): 7, TopicPartition(topic, 1): 0})[topic, 0] == 7  # never back


def test_a_micro_batch_waits_for_enough_or_long_enough(broker, topic, progress, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(stream_progress.time, "monotonic", lambda: clock[0])
    here = progress(startingOffsets="earliest", minOffsetsPerTrigger="10", maxTriggerDelay="60s")
    send(broker, topic, 5)
    first = end(here, here.first())
    assert first[topic, 0] == 5  # the first is not held back
    send(broker, topic, 5)
    assert end(here, first) == first
    clock[0] += 61
    assert end(here, first)[topic, 0] == 10
    second = end(here, first)
    send(broker, topic, 12)
    assert end(here, second)[topic, 0] == 22


def test_bytes_of_a_micro_batch(broker, topic, progress):
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        producer.send_many(topic, [bytes(1000)] * 1000, partition=0).result(WAIT_S)
    here = progress(startingOffsets="earliest", maxBytesPerTrigger="100k")
    found = end(here, here.first())[topic, 0]
    assert 80 <= found <= 120  # about a hundred records of a kilobyte


def test_without_committed_only_records_of_open_transactions_are_not_read(broker, topic, progress):
    here = progress(startingOffsets="earliest")
    dirty = progress(startingOffsets="earliest", **{"kafka.isolation.level": "read_uncommitted"})
    first = here.first()
    with KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"x", partition=0)
        producer.flush()
        assert end(here, first)[topic, 0] == 0
        assert end(dirty, dirty.first())[topic, 0] == 1
        # an earlier run has not waited for the transaction: the stream stays where it is, it is no topic made again
        assert end(here, {TopicPartition(topic, 0): 1, TopicPartition(topic, 1): 0})[topic, 0] == 1
        producer.commit_transaction()
    assert end(here, first)[topic, 0] == 2


def made_again(admin, broker, topic, partitions=2):
    admin.delete_topics([topic]).raise_any()
    broker.create_topic(topic, partitions=partitions)


@pytest.mark.parametrize("count", [3, 30], ids=["shorter", "longer"])
def test_a_topic_that_was_made_again_is_noticed_by_its_id(broker, admin, topic, progress, count):
    strict, lenient = progress(startingOffsets="earliest"), progress(startingOffsets="earliest", failOnDataLoss="false")
    send(broker, topic, 10)
    start = end(strict, strict.first())
    assert end(lenient, lenient.first()) == start
    made_again(admin, broker, topic)
    send(broker, topic, count)
    with pytest.raises(DataLossError, match=f"topic {topic} was deleted and made again: its id was"):
        end(strict, start)
    read, here = [], start
    for _ in range(4):
        there = end(lenient, here)
        read += [offset for each in ranges_between(here, there) for offset in range(each.start, each.stop)]
        here = there
    assert read == list(range(count))  # all of the new topic, each once


def test_an_end_that_went_back_is_a_topic_made_again_for_who_does_not_know_its_id(broker, topic, progress):
    send(broker, topic, 3)
    start = {TopicPartition(topic, 0): 10, TopicPartition(topic, 1): 0}
    with pytest.raises(DataLossError, match=f"topic {topic} partition 0: its offset was changed from 10 to 3"):
        end(progress(), start)
    found = end(progress(failOnDataLoss="false"), start)
    assert ranges_between(start, found) == [OffsetRange(TopicPartition(topic, 0), 0, 3)]


def test_a_topic_or_a_partition_that_has_gone(broker, admin, topic, progress):
    strict, lenient = progress(startingOffsets="earliest"), progress(startingOffsets="earliest", failOnDataLoss="false")
    start = strict.first()
    lenient.first()
    made_again(admin, broker, topic, partitions=1)
    with pytest.raises(DataLossError, match=f"partitions {topic}-1 have gone"):
        end(strict, start)
    assert end(lenient, start) == {(topic, 0): 0}
    admin.delete_topics([topic]).raise_any()
    with pytest.raises(SourceError, match=f"topic {topic} does not exist"):
        end(strict, start)
    assert end(lenient, start) == {}


def test_offsets_of_finished_batches_are_a_groups(admin, topic, source):
    place = TopicPartition(topic, 0)
    group = GroupOffsets.of_source(source(commitOffsetsToGroup=f"group-{topic}"))
    for offset in (3, 3, 7):
        group.commit({place: offset})
    assert admin.list_group_offsets(group.group)[group.group][place].offset == 7
    group.close()


def test_a_commit_that_fails_is_a_warning(source, caplog):
    options = source(**{"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "200"})
    group = GroupOffsets("g", options.admin_configs())
    group._configs["request.timeout.ms"] = "100"
    from odradek.spark.source import group_offsets

    before, group_offsets.TIMEOUT_S = group_offsets.TIMEOUT_S, 0.5
    try:
        group.commit({TopicPartition("t", 0): 1})
    finally:
        group_offsets.TIMEOUT_S = before
        group.close()
    assert "offsets were not committed to group g" in caplog.text


# A task


def test_a_range_is_read_to_the_row(broker, topic, source):
    send(broker, topic, 5000)
    place = TopicPartition(topic, 0)
    assert rows(source, place, 17, 4321) == [(offset, b"%d" % offset) for offset in range(17, 4321)]
    assert rows(source, place, 0, 1) == [(0, b"0")]
    assert rows(source, place, 7, 7) == []


def test_columns_and_types(broker, topic, source):
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        producer.send(topic, b"v", b"k", partition=1, timestamp_ms=1234, headers=[("h", b"1"), ("h", None)])
        producer.send(topic, None, None, partition=1, timestamp_ms=1235)
    found = rows(source, TopicPartition(topic, 1), 0, 2, ALL)
    headers = [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert [(*row[:5], int(row[5].timestamp() * 1000), *row[6:]) for row in found] == [
        (b"k", b"v", topic, 1, 0, 1234, 0, headers),
        (None, None, topic, 1, 1, 1235, 0, None),
    ]


def test_the_time_of_the_append_is_said_to_be_one(broker, topic, source):
    name = f"{topic}-appended"
    broker.create_topic(name, partitions=1, config={"message.timestamp.type": "LogAppendTime"})
    send(broker, name, 3)
    assert rows(source, TopicPartition(name, 0), 0, 3, ("timestampType",)) == [(1,), (1,), (1,)]


def test_aborted_records_and_markers_are_passed_over(broker, topic, source):
    with KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for word, is_kept in ((b"a", True), (b"b", False), (b"c", True), (b"d", False)):
            producer.begin_transaction()
            producer.send(topic, word, partition=0)
            producer.flush()
            producer.commit_transaction() if is_kept else producer.abort_transaction()
    place = TopicPartition(topic, 0)
    assert rows(source, place, 0, 8, ("value",)) == [(b"a",), (b"c",)]
    assert rows(source, place, 6, 8, ("value",)) == []  # an aborted record and its marker, nothing else
    dirty = {"kafka.isolation.level": "read_uncommitted"}
    assert rows(source, place, 0, 8, ("value",), **dirty) == [(b"a",), (b"b",), (b"c",), (b"d",)]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records(broker, topic, source, codec):
    send(broker, topic, 2000, compression_type=codec)
    assert len(rows(source, TopicPartition(topic, 0), 100, 1900)) == 1800


def test_deleted_records_are_a_loss_unless_they_may_be(broker, admin, topic, source):
    send(broker, topic, 10)
    place = TopicPartition(topic, 0)
    admin.delete_records({place: 4}).raise_any()
    with pytest.raises(DataLossError, match=rf"offset \[0, 4\) for topic {topic} partition 0: the log begins at 4"):
        rows(source, place, 0, 10)
    assert [row[0] for row in rows(source, place, 0, 10, failOnDataLoss="false")] == [4, 5, 6, 7, 8, 9]
    assert rows(source, place, 0, 3, failOnDataLoss="false") == []


def test_what_never_comes_is_waited_for_as_long_as_the_option_says(broker, topic, source):
    send(broker, topic, 5)
    place = TopicPartition(topic, 0)
    quick = {"kafkaConsumer.pollTimeoutMs": "100"}
    with pytest.raises(DataLossError, match=rf"offset \[5, 9\) for topic {topic} partition 0: the log ends at 5"):
        rows(source, place, 0, 9, **quick)
    assert len(rows(source, place, 0, 9, failOnDataLoss="false", **quick)) == 5
    said = rf"topic {topic} partition 0 offset 0: nothing came within .*broker \d"
    with broker.faults.on("Fetch", topic=topic).error("LEADER_NOT_AVAILABLE"), pytest.raises(SourceError, match=said):
        rows(source, place, 0, 5, **quick)


def test_a_leader_that_moves_and_connections_that_break_are_ridden_out(broker, topic, source):
    send(broker, topic, 3000)
    faults = [
        broker.faults.on("Fetch", topic=topic).error("NOT_LEADER_OR_FOLLOWER", times=2),
        broker.faults.on("Fetch").disconnect(times=2),
        broker.faults.on("Fetch").delay(50, times=3),
    ]
    given = {"kafka.max.partition.fetch.bytes": "4096"}
    assert len(rows(source, TopicPartition(topic, 0), 0, 3000, **given)) == 3000
    assert sum(fault.hits for fault in faults) >= 4


def test_nothing_behind_the_range_is_asked_for(broker, topic, source):
    """A request that waits at the broker for later records would hold up the next task of this client."""
    send(broker, topic, 10)
    options, place = source(), TopicPartition(topic, 0)
    with client_cache.borrowed(consumer_configs(options), is_retry=True) as consumer:
        list(RangeReading(consumer, options, ("offset",), OffsetRange(place, 0, 10)).batches())
        with broker.faults.on("Fetch", topic=topic).delay(1) as seen:
            send(broker, topic, 10)
            threading.Event().wait(0.7)  # longer than fetch.max.wait.ms: one that waited would come again
            assert seen.hits == 0
            list(RangeReading(consumer, options, ("offset",), OffsetRange(place, 10, 20)).batches())
            assert seen.hits > 0


def test_a_client_is_kept_for_the_next_task_and_dropped_when_one_has_failed(broker, topic, source):
    configs = consumer_configs(source(groupIdPrefix="kept"))
    with client_cache.borrowed(configs, is_retry=False) as first:
        pass
    with client_cache.borrowed(configs, is_retry=False) as again:
        assert again is first
    with client_cache.borrowed(configs, is_retry=True) as second:
        assert second is not first
    with pytest.raises(RuntimeError, match="the task"), client_cache.borrowed(configs, is_retry=False) as third:
        assert third is second
        raise RuntimeError("the task")
    with client_cache.borrowed(configs, is_retry=False) as fourth:
        assert fourth is not second


LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'


def test_driver_and_task_log_in_as_the_options_say(tmp_path):
    with started.broker(config=sasl_properties("4.3", tmp_path), data=tmp_path / "data") as (host, port):
        configs = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "bootstrap.servers": f"{host}:{port}",
        }
        admin_configs = {**configs, "sasl.jaas.config": LOGIN.format("admin", "admin-secret")}
        with AdminClient(admin_configs) as client:
            client.create_topic("secret", partitions=1)
        with KafkaProducer(admin_configs) as producer:
            producer.send("secret", b"whisper").result(WAIT_S)

        def source(password="alice-secret", **more):
            login = LOGIN.format("alice", password)
            given = {f"kafka.{name}": value for name, value in {**configs, "sasl.jaas.config": login}.items()}
            return checked.source_options({**given, "subscribe": "secret", **more}, is_streaming=True)

        cluster = ClusterOffsets(source(startingOffsets="earliest"))
        assert cluster.latest(cluster.topics().partitions) == {("secret", 0): 1}
        cluster.close()
        assert rows(source, TopicPartition("secret", 0), 0, 1, ("value",)) == [(b"whisper",)]
        with pytest.raises(SourceError, match=r"(?i)authentication"):
            ClusterOffsets(source("wrong")).topics()
