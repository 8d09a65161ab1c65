"""Sinks of a declared pipeline: topics, Parquet, Delta, Iceberg, console, functions; a repeated batch is once."""

import json

import deltalake
import pytest
from pyiceberg.catalog import load_catalog

import spark_kit
from odradek.spark.pipeline.lake import DeltaTable, IcebergTable
from odradek.spark.pipeline.mistakes import PipelineError, Place
from odradek.spark.pipeline.model import Sink
from pipeline_kit import Rows, pipeline, run

EARLIEST = {"startingOffsets": "earliest"}


def written(rows, *names):
    return sorted(tuple(row[name] for name in names) for row in rows)


def test_every_sink_gets_every_row_once_over_a_restart(spark, broker, new_topic, tmp_path, capfd):
    orders, out, plain = new_topic(partitions=2), new_topic(), new_topic()
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/iceberg"}
    found = Rows()
    declared = pipeline(broker, tmp_path / "ck")
    declared.source("orders", topic=orders, decode="json", schema="id INT, name STRING, at TIMESTAMP", options=EARLIEST)
    declared.sql("named", "SELECT *, CAST(_key AS STRING) AS key, name AS value FROM orders")
    declared.sink("out", "orders", topic=out, key="id")
    declared.sink("plain", "named", topic=plain, encode="string")
    declared.sink("files", "orders", parquet=str(tmp_path / "files"), partition_by="id")
    declared.sink("delta", "orders", delta=str(tmp_path / "delta"))
    declared.sink("iceberg", "orders", iceberg="shop.orders", catalog=catalog)
    declared.sink("shown", "orders", console=True)
    declared.sink("found", "orders", function=found)
    for number in (1, 2):
        value = {"id": number, "name": f"n{number}", "at": "2026-01-01T00:00:00Z"}
        spark_kit.produce(broker.bootstrap, orders, [{"key": b"k", "value": json.dumps(value).encode()}])
        run(declared, spark)

    expected = [(1, "n1"), (2, "n2")]
    records = spark_kit.records_of(broker.bootstrap, out)
    assert [record.key for record in records] == [b"1", b"2"]
    assert [json.loads(record.value) for record in records] == [
        {"id": number, "name": name, "at": "2026-01-01T00:00:00.000Z"} for number, name in expected
    ]
    assert [(each.key, each.value) for each in spark_kit.records_of(broker.bootstrap, plain)] == [
        (b"k", b"n1"),
        (b"k", b"n2"),
    ]
    assert written(spark.read.parquet(str(tmp_path / "files")).collect(), "id", "name") == expected
    delta = deltalake.DeltaTable(str(tmp_path / "delta")).to_pyarrow_table()
    assert written(delta.to_pylist(), "id", "name") == expected and delta.column_names == ["id", "name", "at"]
    iceberg = load_catalog("default", **catalog).load_table("shop.orders").scan().to_arrow()
    assert written(iceberg.to_pylist(), "id", "name") == expected
    assert written(found.rows, "id", "name") == expected
    assert "n1" in capfd.readouterr().out


def changes(spark, *rows):
    return spark.createDataFrame(list(rows), "id INT, name STRING, n INT, op STRING, _offset BIGINT")


def test_delta_merges_the_latest_change_and_knows_a_batch_again(spark, tmp_path):
    """Inserts, updates and deletes; a batch that comes twice, or that an earlier life has written, is left out."""
    path = str(tmp_path / "t")
    sink = Sink(
        name="t",
        place=Place("", 1),
        input="x",
        kind="delta",
        target=path,
        merge_on=("id",),
        latest_by=("_offset",),
        delete_when="op = 'd'",
    )
    table = DeltaTable(sink, lambda: "query-1")

    def now():
        return written(deltalake.DeltaTable(path).to_pyarrow_table().to_pylist(), "id", "name")

    table.write(changes(spark, (1, "a", 1, "c", 1), (2, "b", 1, "c", 2), (3, "z", 1, "c", 3), (3, "z", 1, "d", 4)), 0)
    assert now() == [(1, "a"), (2, "b")]
    second = changes(spark, (1, "aa", 2, "u", 6), (1, "old", 2, "u", 5), (2, None, 2, "d", 7), (4, "d", 1, "c", 8))
    table.write(second, 1)
    assert now() == [(1, "aa"), (4, "d")]
    version = deltalake.DeltaTable(path).version()
    DeltaTable(sink, lambda: "query-1").write(changes(spark, (9, "again", 1, "c", 9)), 1)
    assert deltalake.DeltaTable(path).version() == version
    DeltaTable(sink, lambda: "query-2").write(changes(spark, (9, "new query", 1, "c", 9)), 0)
    assert now() == [(1, "aa"), (4, "d"), (9, "new query")]


def test_iceberg_knows_a_batch_again(spark, tmp_path):
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/iceberg"}
    sink = Sink(name="t", place=Place("", 1), input="x", kind="iceberg", target="shop.t", catalog=catalog)
    frame = spark.createDataFrame([(1,)], "id INT")
    for batch in (0, 0, 1, 1):
        IcebergTable(sink, lambda: "query-1").write(frame, batch)
    table = load_catalog("default", **catalog).load_table("shop.t")
    assert table.scan().to_arrow().num_rows == 2
    assert [each.summary["odradek.batch-id"] for each in table.metadata.snapshots] == ["0", "1"]


def test_what_only_spark_can_tell_has_its_line_too(spark, broker, new_topic, tmp_path):
    topic = new_topic()

    def refused(**sink):
        declared = pipeline(broker, tmp_path)
        declared.source("orders", topic=topic, decode="json", schema="id INT", options=EARLIEST)
        declared.sql("large", sink.pop("query", "SELECT id FROM orders"))
        declared.sink("out", "large", **sink)
        with pytest.raises(PipelineError) as caught:
            declared.start(spark)
        return str(caught.value)

    assert "the step large: [UNRESOLVED_COLUMN" in refused(query="SELECT idd FROM orders", console=True)
    assert "the step large: [PARSE_SYNTAX_ERROR" in refused(query="SELECT id FROM orders WHERE (id", console=True)
    assert "the sink out: the key name is no column; there are id" in refused(topic=topic, key="name")
    assert "encode: raw writes the column value" in refused(topic=topic, encode="raw")
    assert "gone:flag cannot be had: No module named 'gone'" in refused(function="gone:flag")
    assert "the sink out: [" in refused(query="SELECT count(*) AS n FROM orders", parquet=str(tmp_path / "p"))
    assert spark.streams.active == []
