"""Some of the reads again, of Apache Kafka: both formats, the same rows."""

import pytest
from clusters import cluster_of
from parity_cases import BATCHES, STREAMS
from parity_reads import FORMATS, fill, given, sorted_rows, streamed

import spark_kit
from odradek.admin import NewTopic

BATCH_NAMES = (
    "all of a topic",
    "headers",
    "nulls and empty strings",
    "every codec",
    "LogAppendTime",
    "committed transactions",
    "deleted records that may be missing",
    "from offsets, one of them earliest",
    "from a time between two",
    "to a time",
    "more tasks than partitions",
)
STREAM_NAMES = ("so many at a time", "committed transactions")


class ApacheKafka:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def create_topic(self, name, partitions, config=None):
        with spark_kit.admin(self.bootstrap) as admin:
            admin.create_topics([NewTopic(name, partitions, configs=config or {})]).raise_any()


@pytest.fixture(scope="module")
def filled(tmp_path_factory, connector_jars):
    path = tmp_path_factory.mktemp("kafka")
    with cluster_of("kafka 4.3", path, {"log.retention.ms": -1, "auto.create.topics.enable": "false"}) as bootstrap:
        running = ApacheKafka(bootstrap)
        fill(running)
        yield running


@pytest.mark.parametrize("case", [each for each in BATCHES if each.name in BATCH_NAMES], ids=lambda case: case.name)
def test_a_batch(spark, filled, case):
    found = {}
    for kind in FORMATS:
        frame = spark.read.format(kind).options(**given(filled, case.options)).load()
        found[kind] = (frame.schema, sorted_rows(frame.collect()))
    assert found["odradek"] == found["kafka"] and found["odradek"][1]


@pytest.mark.parametrize("case", [each for each in STREAMS if each.name in STREAM_NAMES], ids=lambda case: case.name)
def test_a_stream(spark, filled, tmp_path, case):
    found = {kind: streamed(spark, kind, given(filled, case.options), tmp_path / kind) for kind in FORMATS}
    assert found["odradek"] == found["kafka"] and found["odradek"][0]


def test_every_name_is_that_of_a_case():
    assert set(BATCH_NAMES) <= {case.name for case in BATCHES} and set(STREAM_NAMES) <= {case.name for case in STREAMS}
