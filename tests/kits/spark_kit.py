"""Spark for the tests: one session per process, rows into a topic and out of it.

A session starts in about ten seconds, so every test of a process shares it. It runs in `local[2]` with one shuffle
partition, without a UI, and with Java's quick compiler alone: tests are short.
"""

import contextlib
import json
import time
from pathlib import Path

from odradek import AdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from odradek.spark.session import session

WAIT_S_MAX = 60

RUNTIME_CONF = {"spark.sql.shuffle.partitions": "1"}
CONF = {
    **RUNTIME_CONF,
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    "spark.sql.streaming.stopTimeout": "30s",
}


def start(directory, **more):
    """The session; its files lie in the directory."""
    conf = {**CONF, "spark.sql.warehouse.dir": str(Path(directory) / "warehouse"), **more}
    return session("local[2,1]", "odradek-tests", **conf)


def produce(bootstrap, topic, records, **configs):
    """Writes the records, each a dict of what a producer's `send` takes, and returns when they are acknowledged."""
    with KafkaProducer(bootstrap_servers=bootstrap, **configs) as producer:
        futures = [producer.send(topic, **record) for record in records]
        return [future.result(WAIT_S_MAX) for future in futures]


def produce_values(bootstrap, topic, values, partition=None):
    return produce(bootstrap, topic, [{"value": str(value).encode(), "partition": partition} for value in values])


def records_of(bootstrap, topic, isolation_level="read_committed"):
    """Everything that is in a topic now, by partition and offset."""
    configs = {"bootstrap_servers": bootstrap, "isolation_level": isolation_level, "auto_offset_reset": "earliest"}
    with KafkaConsumer(**configs) as consumer:
        consumer.assign([TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)])
        found = list(consumer.records(until_end=True))
    return sorted(found, key=lambda record: (record.partition, record.offset))


def admin(bootstrap):
    return AdminClient(bootstrap_servers=bootstrap)


def reader(spark, bootstrap, topic=None, kind="odradek", **options):
    """A batch reader; options whose names have dots come as a dict in `more`."""
    return _with_options(spark.read.format(kind), bootstrap, topic, options)


def stream_reader(spark, bootstrap, topic=None, kind="odradek", **options):
    return _with_options(spark.readStream.format(kind), bootstrap, topic, options)


def _with_options(source, bootstrap, topic, options):
    given = {"kafka.bootstrap.servers": bootstrap, **options.pop("more", {}), **options}
    if topic is not None:
        given["subscribe"] = topic
    for name, value in given.items():
        source = source.option(name, value if isinstance(value, str) else json.dumps(value))
    return source


@contextlib.contextmanager
def stopped_after(query):
    try:
        yield query
    finally:
        query.stop()


def eventually(condition, what, seconds=WAIT_S_MAX):
    """What the condition returns, once that is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.05)
    return found
