"""The same read through Spark's own connector and through ours: rows, schema, offsets, and what refusals mean."""

import re

import pytest
from parity_cases import BATCHES, REFUSALS, STREAM_REFUSALS, STREAMS
from parity_reads import FORMATS, fill, given, sorted_rows, streamed

import spark_kit


@pytest.fixture(scope="module")
def filled(broker, connector_jars):
    """A broker with the topics of the cases."""
    fill(broker)
    return broker


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
    def run(kind, broker, options, checkpoint=None):
        return streamed(spark, kind, given(broker, options), tmp_path / (checkpoint or kind))

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
