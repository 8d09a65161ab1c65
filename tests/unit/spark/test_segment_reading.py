"""Closed segments read in place, beside a real broker: the same rows as through the broker, whatever becomes of the
files.
"""

import re
import shutil
import struct
import time
from pathlib import Path

import pytest

from odradek import AdminClient, KafkaProducer, TopicPartition
from odradek.protocol.uuids import format_uuid
from odradek.spark import options as checked
from odradek.spark.errors import DataLossError, SparkOptionError
from odradek.spark.source import client_cache, segment_reading, transaction_ends
from odradek.spark.source.planning import OffsetRange
from odradek.spark.source.task_reading import RangeReading, consumer_configs
from odradek.testing import Broker

WAIT_S = 60
ALL = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
SMALL = {"internal.segment.bytes": 8000, "index.interval.bytes": 500}
COMPACTED = {
    **SMALL,
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": 0.001,
    "delete.retention.ms": 0,
    "file.delete.delay.ms": 50,
}


@pytest.fixture(scope="module")
def broker():
    config = {"auto.create.topics.enable": "false", "log.cleaner.backoff.ms": 50, "log.retention.ms": -1}
    with Broker(config={**config, "log.cleaner.dedupe.buffer.size": 4 << 20}) as running:
        yield running


@pytest.fixture(scope="module")
def admin(broker):
    with AdminClient(bootstrap_servers=broker.bootstrap) as client:
        yield client


@pytest.fixture
def place(request, broker):
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    broker.create_topic(name, partitions=1, config=COMPACTED if "compact" in name else SMALL)
    return TopicPartition(name, 0)


@pytest.fixture
def small_pieces(monkeypatch):
    """A file is read in many steps."""
    monkeypatch.setattr(segment_reading, "_PIECE_BYTES", 1500)
    monkeypatch.setattr(transaction_ends, "_PIECE_BYTES", 1500)


@pytest.fixture
def copied(broker, place, tmp_path):
    """A copy of the partition's dir, to be damaged: the log dir that it is in, and its segments from the first on."""

    def make():
        shutil.copytree(segments_dir(broker, place), tmp_path / f"{place.topic}-0")
        return tmp_path, sorted(tmp_path.glob("*/*.log"))

    return make


def segments_dir(broker, place):
    return Path(broker.data) / f"{place.topic}-{place.partition}"


def bases(broker, place):
    return sorted(int(path.stem) for path in segments_dir(broker, place).glob("*.log"))


def send(broker, place, count, linger=25, **configs):
    """In batches of so many records."""
    with KafkaProducer(bootstrap_servers=broker.bootstrap, **configs) as producer:
        for first in range(0, count, linger):
            numbers = range(first, min(first + linger, count))
            values = [b"value %d of them" % number for number in numbers]
            keys = [b"%d" % number if number % 3 else None for number in numbers]
            producer.send_many(place.topic, values, keys=keys, partition=0).result(WAIT_S)


def reading(broker, place, start, stop, consumer, log_dirs=None, **more):
    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": place.topic, **more}
    given |= {"odradek.log.dirs": str(log_dirs)} if log_dirs is not None else {}
    options = checked.source_options(given, is_streaming=False)
    return RangeReading(consumer(options), options, ALL, OffsetRange(place, start, stop)).batches()


def rows(broker, place, start, stop, log_dirs=None, **more):
    with Borrowing() as consumer:
        batches = list(reading(broker, place, start, stop, consumer, log_dirs, **more))
    return of(batches)


def of(batches):
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


class Borrowing:
    """Borrows a consumer for as long as the block lasts."""

    def __enter__(self):
        self._borrowed = None
        return self._consumer

    def _consumer(self, options):
        self._borrowed = client_cache.borrowed(consumer_configs(options), is_retry=False)
        return self._borrowed.__enter__()

    def __exit__(self, *error):
        return self._borrowed.__exit__(*error)


def compare(broker, place, start, stop, log_dirs=None, **more):
    """The rows, which are the same both ways; and how often the broker was asked for any beside its segments."""
    expected = rows(broker, place, start, stop, **more)
    with broker.faults.on("Fetch", topic=place.topic).delay(1) as fetches:
        found = rows(broker, place, start, stop, log_dirs or broker.data, **more)
        asked = fetches.hits
    assert found == expected
    return found, asked


def eventually(condition, what):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.02)


# What lies in segments


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_closed_segments_are_read_in_place_and_the_tail_from_the_broker(broker, place, codec):
    send(broker, place, 3000, compression_type=codec)
    active = bases(broker, place)[-1]
    found, asked = compare(broker, place, 0, active)
    assert (len(found), asked) == (active, 0)
    found, asked = compare(broker, place, 0, 3000)
    assert [row[4] for row in found] == list(range(3000))
    assert asked > 0


def test_ranges_that_begin_and_end_anywhere(broker, place, small_pieces):
    send(broker, place, 2000)
    closed = bases(broker, place)
    assert len(closed) > 5
    edges = [0, 1, 24, 25, 26, closed[2] - 1, closed[2], closed[2] + 1, closed[3] + 13, closed[-1] - 1, closed[-1]]
    for start in edges:
        for stop in (each for each in edges if each >= start):
            with broker.faults.on("Fetch", topic=place.topic).delay(1) as fetches:
                found = rows(broker, place, start, stop, broker.data)
                assert fetches.hits == 0
            assert [row[4] for row in found] == list(range(start, stop))


def transactions(broker, place, count):
    """Of three producers in turn, of which every other transaction is aborted and some reach over several segments."""
    opened = []
    for number in range(3):
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=f"{place.topic}-{number}")
        producer.init_transactions()
        producer.begin_transaction()
        opened.append(producer)
    for step in range(count):
        for number, producer in enumerate(opened):
            values = [b"%d %d %d" % (step, number, each) for each in range(20)]
            producer.send_many(place.topic, values, partition=0).result(WAIT_S)
            if step % (2 + 9 * number) == number:
                producer.commit_transaction() if step % 4 < 2 else producer.abort_transaction()
                producer.begin_transaction()
    return opened


@pytest.mark.parametrize("is_small", [False, True], ids=["whole", "in-pieces"])
def test_aborted_transactions_are_left_out(request, broker, place, is_small):
    if is_small:
        request.getfixturevalue("small_pieces")
    opened = transactions(broker, place, 60)
    for producer in opened[:2]:
        producer.abort_transaction()
    with Borrowing() as make:
        options = checked.source_options(
            {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": place.topic}, is_streaming=False
        )
        stable = make(options).end_offsets([place])[place]
    closed = [each for each in bases(broker, place)[:-1] if each < stable]
    assert len(closed) > 3
    found, asked = compare(broker, place, 0, closed[-1])
    dirty, asked_dirty = compare(broker, place, 0, closed[-1], **{"kafka.isolation.level": "read_uncommitted"})
    assert (asked, asked_dirty) == (0, 0)
    assert 100 < len(found) < len(dirty) - 100
    for start in range(0, stable, 97):
        compare(broker, place, start, min(start + 300, stable))
    for producer in opened:
        producer.close()


def test_compacted_segments(broker, place, small_pieces):
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for number in range(200):
            keys = [b"%d" % (number * number % (each + 40)) for each in range(20)]
            producer.send_many(place.topic, [b"%d" % number] * 20, keys=keys, partition=0).result(WAIT_S)
    eventually(lambda: len(rows(broker, place, 0, 4000)) < 1000, "the cleaner")
    assert compare_unchanged(broker, place, 0, 4000)[0][4] > 0
    for start in range(0, 4000, 333):
        compare_unchanged(broker, place, start, min(start + 100, 4000))


def compare_unchanged(broker, place, start, stop):
    """As `compare`, once the cleaner has let the rows be from before to after it."""
    while True:
        before = rows(broker, place, start, stop)
        found = rows(broker, place, start, stop, broker.data)
        if before == rows(broker, place, start, stop):
            assert found == before
            return found


def test_while_the_broker_compacts_beneath(broker, place, small_pieces):
    """Keys that are written once stay, in order and each once; those of aborted transactions are never seen."""
    written = []
    with KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=place.topic) as producer:
        producer.init_transactions()
        for number in range(150):
            producer.begin_transaction()
            keys = [b"once %d" % number, *[b"%d" % (each % 7) for each in range(30)]]
            producer.send_many(place.topic, [b"%d" % number] * len(keys), keys=keys, partition=0).result(WAIT_S)
            is_kept = number % 3 != 1
            written += [b"once %d" % number] if is_kept else []
            producer.commit_transaction() if is_kept else producer.abort_transaction()
            if number % 10 == 9:
                stop = (number + 1) * 32
                ensure_once(rows(broker, place, 0, stop, broker.data), written)
    eventually(lambda: len(ensure_once(rows(broker, place, 0, stop, broker.data), written)) < 1000, "the cleaner")


def ensure_once(found, written):
    assert [row[0] for row in found if row[0].startswith(b"once")] == written
    offsets = [row[4] for row in found]
    assert offsets == sorted(set(offsets))
    return found


# What becomes of files


def test_records_that_the_broker_has_deleted_are_lost_though_their_file_is_there(broker, admin, place):
    send(broker, place, 1000)
    middle = bases(broker, place)[1] + 3
    admin.delete_records({place: middle}).raise_any()
    with pytest.raises(DataLossError, match=f"the log begins at {middle}"):
        rows(broker, place, 0, 1000, broker.data)
    found, _ = compare(broker, place, 0, 1000, failOnDataLoss="false")
    assert [row[4] for row in found] == list(range(middle, 1000))


def test_a_file_that_is_deleted_while_it_is_read_stays_whole(broker, place, copied, small_pieces):
    send(broker, place, 1000)
    log_dir, files = copied()
    second = int(files[1].stem)
    with Borrowing() as make, broker.faults.on("Fetch", topic=place.topic).delay(1) as fetches:
        batches = reading(broker, place, 0, 1000, make, log_dir)
        found = [next(batches)]
        for file in files:
            file.unlink()
        while len(of(found)) < second:
            found.append(next(batches))
        assert fetches.hits == 0
        found += list(batches)
        assert fetches.hits > 0
    assert [row[4] for row in of(found)] == list(range(1000))


def test_transactions_in_a_file_that_was_replaced_are_the_brokers_to_tell(broker, place, copied, small_pieces):
    """Compaction may have taken markers since: what is still in the old file might seem to be committed."""
    for producer in transactions(broker, place, 20):
        producer.abort_transaction()
        producer.close()
    log_dir, files = copied()
    stop = int(files[1].stem)
    expected = rows(broker, place, 0, stop)
    with Borrowing() as make, broker.faults.on("Fetch", topic=place.topic).delay(1) as fetches:
        batches = reading(broker, place, 0, stop, make, log_dir)
        found = [next(batches)]
        assert fetches.hits == 0
        data = files[0].read_bytes()
        files[0].rename(f"{files[0]}.deleted")
        files[0].write_bytes(data)
        found += list(batches)
        assert fetches.hits > 0
    assert of(found) == expected


def cut_inside(files):
    files[1].write_bytes(files[1].read_bytes()[:-5])


def cut_between(files):
    data = files[1].read_bytes()
    files[1].write_bytes(data[: 12 + int.from_bytes(data[8:12], "big")])


def flip(files):
    data = bytearray(files[1].read_bytes())
    data[len(data) // 2] ^= 1
    files[1].write_bytes(data)


def fill_with_zeros(files):
    files[1].write_bytes(files[1].read_bytes() + bytes(1000))


def grow_over_the_next(files):
    files[1].write_bytes(files[1].read_bytes() + files[2].read_bytes())


def mislead(files):
    """The index says that the second offset lies in the last batch."""
    data, last, following = files[1].read_bytes(), 0, 0
    while following < len(data):
        last, following = following, following + 12 + int.from_bytes(data[following + 8 : following + 12], "big")
    files[1].with_suffix(".index").write_bytes(struct.pack(">ii", 1, last))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut_inside, "it ends inside a batch"),
        (cut_between, None),
        (flip, "CRC|crc"),
        (fill_with_zeros, "cannot be read from byte"),
        (grow_over_the_next, "the next one begins at"),
        (mislead, None),
        (lambda files: files[1].write_bytes(b""), None),
        (lambda files: files[1].unlink(), None),
        (lambda files: files[0].unlink(), None),
    ],
    ids=["cut inside", "cut between", "flipped", "zeros", "grown", "misled", "empty", "gone", "first gone"],
)
def test_what_a_segment_does_not_have_the_broker_has(broker, place, copied, small_pieces, caplog, damage, said):
    send(broker, place, 1000)
    log_dir, files = copied()
    damage(files)
    found, asked = compare(broker, place, 0, 1000, log_dir)
    assert [row[4] for row in found] == list(range(1000))
    compare(broker, place, int(files[1].stem) + 30, 1000, log_dir)
    assert asked < 10  # a seam or two, the second segment and the tail
    lines = [each.getMessage() for each in caplog.records if "odradek.log.dirs" in each.getMessage()]
    assert bool(lines) == (said is not None)
    if said:
        assert re.search(said, lines[0])
        assert "the broker is asked" in lines[0]


def test_the_dir_of_another_topic_is_not_read(broker, place, copied, caplog):
    send(broker, place, 1000)
    log_dir, files = copied()
    other = format_uuid(bytes(range(16)))
    (files[0].parent / "partition.metadata").write_text(f"version: 0\ntopic_id: {other}")
    _, asked = compare(broker, place, 0, bases(broker, place)[-1], log_dir)
    assert asked > 0
    assert f"is of another topic, with the id {other}" in caplog.text
    _, asked = compare(broker, place, 0, bases(broker, place)[-1], f"{log_dir}, {broker.data}")
    assert asked == 0  # another of the dirs has it


def test_where_the_dir_is_not_there_the_broker_is_asked(broker, place, caplog):
    send(broker, place, 100)
    found, _ = compare(broker, place, 0, 100, "/no/such/dir")
    assert len(found) == 100
    rows(broker, place, 0, 100, "/no/such/dir")
    assert caplog.text.count("/no/such/dir") == 1


def test_paths_are_whole():
    given = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t", "odradek.log.dirs": "data"}
    with pytest.raises(SparkOptionError, match="must be whole paths of log dirs"):
        checked.source_options(given, is_streaming=False)
