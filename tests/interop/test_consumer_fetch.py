"""Fetching from whole brokers, ours and Apache Kafka's: sessions, compressed and transactional data, look-ups."""

import pytest
from test_admin_client import cluster  # noqa: F401 - a fixture

from fetching_client import fetching
from odradek import TopicPartition
from odradek.client.admin.admin_client import AdminClient
from odradek.client.consumer.fetch_config import FetchConfig
from odradek.client.consumer.offset_lookups import beginning_offsets, end_offsets, offsets_for_times
from odradek.client.consumer.offset_reset import LATEST, ResetStrategy

kafka_python = pytest.importorskip("kafka", reason="pip install kafka-python")

COUNT = 300
NAMES = iter(range(1000))


def topic(bootstrap, partitions=1):
    name = f"fetched-{next(NAMES)}"
    with AdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topic(name, partitions=partitions, replication=1)
    return name


def produce(bootstrap, name, values, *, partition=0, **configs):
    producer = kafka_python.KafkaProducer(bootstrap_servers=bootstrap, **configs)
    try:
        for value in values:
            producer.send(name, value, partition=partition, timestamp_ms=1_700_000_000_000 + int(value))
        producer.flush(30)
    finally:
        producer.close()


def numbers(first, count):
    return [b"%d" % number for number in range(first, first + count)]


@pytest.mark.contract("B57", "B60")
@pytest.mark.parametrize("codec", [None, "gzip", "lz4", "snappy", "zstd"])
def test_what_was_written_is_read_in_order_and_once(cluster, codec):  # noqa: F811
    name = topic(cluster, partitions=2)
    for partition in range(2):
        produce(cluster, name, numbers(0, COUNT), partition=partition, compression_type=codec)
    places = [TopicPartition(name, partition) for partition in range(2)]
    with fetching(cluster, dict.fromkeys(places)) as client:
        found = client.take_all(2 * COUNT)
        produce(cluster, name, numbers(COUNT, 1), compression_type=codec)
        found += client.take_all(1)
        sessions = [node.session.session_id for node in client.session.fetcher._nodes.values()]
    for place, count in zip(places, (COUNT + 1, COUNT), strict=True):
        read = [(each.offset, int(each.value)) for each in found if each.partition == place.partition]
        assert read == [(row, row) for row in range(count)]
    assert all(sessions)


@pytest.mark.contract("B97", "B98", "B99", "B100", "B101", "B103")
def test_a_reader_of_what_is_committed_sees_neither_aborted_nor_open_transactions(cluster):  # noqa: F811
    name = topic(cluster)
    place = TopicPartition(name, 0)
    producer = kafka_python.KafkaProducer(bootstrap_servers=cluster, transactional_id=name)
    producer.init_transactions()
    for first, end in ((0, producer.commit_transaction), (10, producer.abort_transaction), (20, None)):
        producer.begin_transaction()
        for value in numbers(first, 5):
            producer.send(name, value, partition=0)
        producer.flush(30)
        if end is not None:
            end()
    try:
        with fetching(cluster, {place: 0}, config=FetchConfig(is_read_committed=True)) as client:
            assert [int(each.value) for each in client.take_all(5)] == list(range(5))
            assert len(client.take(timeout_s=1)) == 0
            assert client.session.subscriptions.position(place) == 12  # behind both markers
            assert client.session.subscriptions.lag(place) == 0
            asker = client.session.asker
            ends = [
                client.thread.run(lambda _, both=both: end_offsets(asker, [place], is_read_committed=both))[place]
                for both in (True, False)
            ]
            assert ends == [12, 17]
            client.do(lambda session: session.subscriptions.request_reset([place], LATEST))
            assert len(client.take(timeout_s=1)) == 0
            assert client.session.subscriptions.position(place) == 12
        with fetching(cluster, {place: 0}) as client:
            assert [int(each.value) for each in client.take_all(15)] == [*range(5), *range(10, 15), *range(20, 25)]
    finally:
        producer.abort_transaction()
        producer.close()


@pytest.mark.contract("B62", "B64", "B66")
def test_offsets_are_looked_up_by_time_and_place(cluster):  # noqa: F811
    name = topic(cluster)
    place = TopicPartition(name, 0)
    produce(cluster, name, numbers(0, 20))
    with fetching(cluster, {place: 0}) as client:
        asker = client.session.asker
        run = client.thread.run
        assert run(lambda _: beginning_offsets(asker, [place])) == {place: 0}
        assert run(lambda _: end_offsets(asker, [place])) == {place: 20}
        found = run(lambda _: offsets_for_times(asker, {place: 1_700_000_000_007}))[place]
        assert (found.offset, found.timestamp) == (7, 1_700_000_000_007)
        assert run(lambda _: offsets_for_times(asker, {place: 1_800_000_000_000})) == {place: None}
        with pytest.raises(ValueError, match="negative"):
            run(lambda _: offsets_for_times(asker, {place: -5}))
        client.do(lambda session: session.subscriptions.seek(place, 15))
        assert client.take()[0].offset == 15
        strategy = ResetStrategy.at_time(1_700_000_000_003)
        client.do(lambda session: session.subscriptions.request_reset([place], strategy))
        assert client.take(1)[0].offset == 3


def test_what_is_buffered_is_taken_without_waking_the_thread(cluster):  # noqa: F811
    name = topic(cluster)
    produce(cluster, name, numbers(0, COUNT))
    with fetching(cluster, {TopicPartition(name, 0): 0}) as client:
        found = list(client.take(1))
        while len(found) < COUNT:
            if not client.buffer.has_data:
                client.wait(30)
            found += client.buffer.take(3)
        assert [each.offset for each in found] == list(range(COUNT))
        assert client.wakes == 0
