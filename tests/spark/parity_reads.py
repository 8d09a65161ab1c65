"""The topics of the cases, and one read through either format."""

import json

from parity_cases import MS

import spark_kit
from odradek import KafkaProducer, TopicPartition

FORMATS = ("kafka", "odradek")


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


def streamed(spark, kind, options, checkpoint):
    """A stream over what there is now: its rows, and the offsets at which its micro-batches with rows have ended."""
    rows = []
    frame = spark.readStream.format(kind).options(**options).load()
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    with spark_kit.stopped_after(query):
        assert query.awaitTermination(spark_kit.WAIT_S_MAX)
    ends = [json.loads(each["sources"][0]["endOffset"]) for each in query.recentProgress if each["numInputRows"]]
    return sorted_rows(rows), ends
