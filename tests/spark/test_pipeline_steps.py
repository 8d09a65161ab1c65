"""Steps of a declared pipeline: windows with a watermark, joins with topics and tables, functions with state."""

import json

import spark_kit
from odradek.spark.pipeline.loading import load
from odradek.spark.pipeline.running import start
from pipeline_kit import WAIT_S_MAX, Rows, pipeline, run

EARLIEST = {"startingOffsets": "earliest"}

COUNTING = """\
import pandas
from pyspark.sql.streaming import StatefulProcessor


class Counting(StatefulProcessor):
    def init(self, handle):
        self.count = handle.getValueState("count", "n BIGINT")

    def handleInputRows(self, key, rows, timers):
        n = (self.count.get()[0] if self.count.exists() else 0) + sum(len(each) for each in rows)
        self.count.update((n,))
        yield pandas.DataFrame({"who": [key[0]], "n": [n]})


def counted(orders):
    return orders.groupBy("who").transformWithStateInPandas(
        Counting(), outputStructType="who STRING, n BIGINT", outputMode="Update", timeMode="None"
    )


def keep(frame, batch_id):
    import builtins

    builtins.kept_by_a_test.extend((row.who, row.n) for row in frame.collect())
"""

STATEFUL = """\
checkpoint: {checkpoint}
options: {{kafka.bootstrap.servers: "{bootstrap}"}}
spark:
  spark.sql.streaming.stateStore.providerClass: org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
sources:
  orders: {{topic: {topic}, decode: json, schema: who STRING, options: {{startingOffsets: earliest}}}}
steps:
  counted: {{function: "counting_of_a_test:counted", inputs: [orders]}}
sinks:
  kept: {{from: counted, function: "counting_of_a_test:keep", mode: update}}
"""


def at(minute):
    return f"2026-01-01T00:{minute:02}:00Z"


def send(broker, topic, *rows):
    spark_kit.produce(broker.bootstrap, topic, [{"value": json.dumps(row).encode()} for row in rows])


def test_windows_joins_and_tables(spark, broker, new_topic, tmp_path):
    """A window is told when the watermark has passed its end; a join of streams keeps what may still match."""
    clicks, orders = new_topic(), new_topic()
    (tmp_path / "names.csv").write_text("anna,Anna A.\nbert,Bert B.\n")
    windows, joined = Rows(), Rows()
    declared = pipeline(broker, tmp_path / "ck")
    declared.source(
        "clicks",
        topic=clicks,
        decode="json",
        schema="who STRING, clicked TIMESTAMP",
        event_time="clicked",
        watermark="1 minute",
        options=EARLIEST,
    )
    declared.source(
        "orders",
        topic=orders,
        decode="json",
        schema="buyer STRING, ordered TIMESTAMP",
        event_time="ordered",
        watermark="1 minute",
        options=EARLIEST,
    )
    declared.source("names", table=str(tmp_path / "names.csv"), format="csv", schema="who STRING, name STRING")
    declared.sql("windows", "SELECT window.start AS s, count(*) AS n FROM clicks GROUP BY window(clicked, '5 minutes')")
    declared.sql(
        "joined",
        "SELECT n.name, o.ordered FROM clicks c JOIN orders o ON c.who = o.buyer "
        "AND o.ordered BETWEEN c.clicked AND c.clicked + INTERVAL 10 MINUTES JOIN names n ON n.who = c.who",
    )
    declared.sink("windows", "windows", function=windows)
    declared.sink("joined", "joined", function=joined)
    send(broker, clicks, {"who": "anna", "clicked": at(1)}, {"who": "bert", "clicked": at(2)})
    send(broker, orders, {"buyer": "bert", "ordered": at(30)})
    run(declared, spark)
    assert windows.rows == [] and joined.rows == []
    send(broker, clicks, {"who": "cara", "clicked": at(20)})
    send(broker, orders, {"buyer": "anna", "ordered": at(8)})
    run(declared, spark)
    assert [(str(row["s"]), row["n"]) for row in windows.rows] == [("2026-01-01 00:00:00", 2)]
    assert [row["name"] for row in joined.rows] == ["Anna A."]


def test_a_function_beside_the_file_keeps_state_over_a_restart(spark, broker, new_topic, tmp_path, monkeypatch):
    """Workers know nothing of the module: it travels by value."""
    import builtins

    kept = []
    monkeypatch.setattr(builtins, "kept_by_a_test", kept, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    topic = new_topic()
    (tmp_path / "counting_of_a_test.py").write_text(COUNTING)
    file = tmp_path / "stateful.yaml"
    file.write_text(STATEFUL.format(checkpoint=tmp_path / "ck", bootstrap=broker.bootstrap, topic=topic))
    for rows in (["anna", "bert", "anna"], ["anna"]):
        send(broker, topic, *({"who": who} for who in rows))
        running = start(load(str(file)), spark, once=True)
        try:
            assert running.wait(WAIT_S_MAX)
        finally:
            running.stop()
    assert sorted(kept[:2]) == [("anna", 2), ("bert", 1)] and kept[2:] == [("anna", 3)]
