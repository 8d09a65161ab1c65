"""The same read through Spark's own connector and through ours: rows, schema, offsets, and what refusals mean."""

import json
import re

import pytest
from parity_cases import BATCHES, MS, REFUSALS, STREAM_REFUSALS, STREAMS

import spark_kit
from odradek import KafkaProducer, TopicPartition

FORMATS = ("kafka", "odradek")


@pytest.fixture(scope="module")
def filled(broker, connector_jars):
    """A broker with the topics of the cases."""
    fill(broker)
    return broker


def fill(broker):
    for name, partitions in {"plain": 3, "pattern-a": 1, "pattern-b": 2}.items():
        broker.create_topic(name, partitions=partitions)
    for name in ("headers", "nulls", "codecs", "transactions", "trimmed", "empty", "large"):
        broker.create_topic(name, partitions=1)
    broker.create_topic("appended", partitions=1, config={"message.timestamp.type": "LogAppendTime"})
    send = lambda topic, records, **configs: spark_kit.produce(broker.bootstrap, topic, records, **configs)  # noqa: E731
    send("plain", [record(n, 0, key=f"key-{n % 7}") for n in range(50)])
    send("plain", [record(n, 1) for n in range(30)])
    for topic in ("pattern-a", "pattern-b"):
        send(topic, [record(n, 0) for n in range(4)])
    pairs = [[], [("a", b"1")], [("a", b"1"), ("a", None)], [], [("ü", b"\xff\x00")], [("", b"")]]
    send("headers", [{"value": b"h", "timestamp_ms": MS + n, "headers": each} for n, each in enumerate(pairs)])
    odd = [(None, None), (b"", b""), (b"k", None), (None, b"v"), (b"\xff\xfe", b"\x00" * 100)]
    send("nulls", [{"key": key, "value": value, "timestamp_ms": MS} for key, value in odd])
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        send("codecs", [record(n, 0, value=f"{codec}-{n}") for n in range(20)], compression_type=codec)
    send("appended", [record(n, 0) for n in range(5)])
    send("large", [record(n, 0, value="x" * 50) for n in range(5000)], batch_size=4096)
    send("trimmed", [record(n, 0) for n in range(30)])
    with spark_kit.admin(broker.bootstrap) as admin:
        admin.delete_records({TopicPartition("trimmed", 0): 20}).raise_any()
    transactions(broker)


def record(number, partition, key=None, value=None):
    return {
        "key": None if key is None else key.encode(),
        "value": (value or f"value-{number}").encode(),
        "partition": partition,
        "timestamp_ms": MS + 1000 * number,
    }


def transactions(broker):
    """Committed, aborted, committed, and one that is aborted at the end of the log."""
    with KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id="parity") as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            for each in range(5):
                producer.send("transactions", b"%d-%d" % (number, each), timestamp_ms=MS)
            producer.flush()
            producer.abort_transaction() if number % 2 else producer.commit_transaction()


def given(broker, options):
    merged = {"kafka.bootstrap.servers": broker.bootstrap, **options}
    return {name: value for name, value in merged.items() if value is not None}


def sorted_rows(rows):
    return sorted((tuple(map(plain, row)) for row in rows), key=repr)


def plain(value):
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.parametrize("case", BATCHES, ids=lambda case: case.name)
def test_a_batch(spark, filled, case):
    found = {}
    for kind in FORMATS:
        frame = spark.read.format(kind).options(**given(filled, case.options)).load()
        compared = frame if case.compares is None else case.compares(frame)
        found[kind] = (compared.schema, sorted_rows(compared.collect()))
        assert case.tasks is None or frame.rdd.getNumPartitions() == case.tasks
    assert found["odradek"] == found["kafka"]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_a_batch_that_is_refused(spark, filled, case):
    for kind, said in zip(FORMATS, (case.theirs, case.ours), strict=True):
        with pytest.raises(Exception) as refused:
            spark.read.format(kind).options(**given(filled, case.options)).load().collect()
        assert re.search(said, str(refused.value)), f"{kind} said: {str(refused.value)[:3000]}"


@pytest.fixture
def run(spark, tmp_path):
    """Runs a stream over what there is now: the rows, the offsets of its micro-batches, and its error if it has one."""

    def run(kind, broker, options, checkpoint=None, **trigger):
        rows = []
        frame = spark.readStream.format(kind).options(**given(broker, options)).load()
        query = (
            frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
            .option("checkpointLocation", str(tmp_path / (checkpoint or kind)))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )
        with spark_kit.stopped_after(query):
            assert query.awaitTermination(spark_kit.WAIT_S_MAX)
        ends = [json.loads(each["sources"][0]["endOffset"]) for each in query.recentProgress if each["numInputRows"]]
        return sorted_rows(rows), ends

    return run


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case.name)
def test_a_stream(filled, run, case):
    assert run("odradek", filled, case.options) == run("kafka", filled, case.options)


@pytest.mark.parametrize("case", STREAM_REFUSALS, ids=lambda case: case.name)
def test_a_stream_that_is_refused(filled, run, case):
    for kind, said in zip(FORMATS, (case.theirs, case.ours), strict=True):
        with pytest.raises(Exception) as refused:
            run(kind, filled, case.options)
        assert re.search(said, str(refused.value)), f"{kind} said: {str(refused.value)[:3000]}"


@pytest.mark.parametrize(("first", "second"), [FORMATS, FORMATS[::-1]], ids=["theirs to ours", "ours to theirs"])
def test_a_checkpoint_of_one_is_continued_by_the_other(filled, new_topic, run, first, second):
    topic = new_topic(partitions=2)
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    spark_kit.produce_values(filled.bootstrap, topic, range(10), partition=0)
    before, _ = run(first, filled, options, checkpoint="shared")
    spark_kit.produce_values(filled.bootstrap, topic, range(10, 15), partition=0)
    spark_kit.produce_values(filled.bootstrap, topic, range(15, 20), partition=1)
    after, ends = run(second, filled, options, checkpoint="shared")
    values = [[int(row[1]) for row in rows] for rows in (before, after)]
    assert [sorted(each) for each in values] == [list(range(10)), list(range(10, 20))]
    assert ends[-1] == {topic: {"0": 15, "1": 5}}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_partition_that_is_added_is_read_from_its_first_record(filled, admin, new_topic, run, kind):
    topic = new_topic(partitions=1)
    options = {"subscribe": topic}
    spark_kit.produce_values(filled.bootstrap, topic, range(5))
    assert run(kind, filled, options)[0] == []
    admin.create_partitions({topic: 2}).raise_any()
    spark_kit.produce_values(filled.bootstrap, topic, range(5, 9), partition=1)
    rows, ends = run(kind, filled, options)
    assert sorted(int(row[1]) for row in rows) == [5, 6, 7, 8]
    assert ends == [{topic: {"0": 5, "1": 4}}]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_topic_that_was_made_again_under_a_stream_is_an_error(filled, admin, new_topic, run, kind):
    topic = new_topic(partitions=1)
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    spark_kit.produce_values(filled.bootstrap, topic, range(10))
    run(kind, filled, options)
    admin.delete_topics([topic]).raise_any()
    filled.create_topic(topic, partitions=1)
    spark_kit.produce_values(filled.bootstrap, topic, range(3))
    with pytest.raises(Exception, match="offset was changed from 10 to 3"):
        run(kind, filled, options)


def test_a_topic_that_was_made_again_is_read_where_the_connector_skips_it(filled, admin, new_topic, run):
    topic = new_topic(partitions=1)
    options = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": "false"}
    found = {}
    for kind in FORMATS:
        spark_kit.produce_values(filled.bootstrap, topic, range(10))
        run(kind, filled, options)
        admin.delete_topics([topic]).raise_any()
        filled.create_topic(topic, partitions=1)
        spark_kit.produce_values(filled.bootstrap, topic, range(3))
        found[kind] = [int(row[1]) for row in run(kind, filled, options)[0]]
        admin.delete_topics([topic]).raise_any()
        filled.create_topic(topic, partitions=1)
    assert found == {"kafka": [], "odradek": [0, 1, 2]}
