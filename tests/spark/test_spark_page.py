"""The snippets of docs/spark.md, one after the other, as a reader would run them."""

import re
from pathlib import Path

import spark_kit

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs_from_top_to_bottom(spark, broker, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    broker.create_topic("orders", partitions=2)
    for written_to in ("orders-seen", "orders-copy"):
        broker.create_topic(written_to)
    spark_kit.produce_values(broker.bootstrap, "orders", range(20))
    snippets = SNIPPET.findall(PAGE.read_text(encoding="utf-8"))
    text = "\n".join(snippets).replace("127.0.0.1:9092", broker.bootstrap)
    text = text.replace('"orders-table"', repr(str(tmp_path / "table")))
    text = text.replace('"orders-checkpoint"', repr(str(tmp_path / "checkpoint")))
    text = text.replace('"copy-checkpoint"', repr(str(tmp_path / "copy")))
    names = {}
    exec(compile(text, str(PAGE), "exec"), names)
    for name, value in spark_kit.RUNTIME_CONF.items():  # the page's session is this one, with the page's settings
        spark.conf.set(name, value)
    assert "|value|" in capsys.readouterr().out
    written = spark.read.parquet(str(tmp_path / "table"))
    assert sorted(int(row.value) for row in written.collect()) == list(range(20))
    assert topic_values(spark, broker, "orders-seen") == sorted(f"seen: {number}" for number in range(20))
    assert topic_values(spark, broker, "orders-copy") == sorted(map(str, range(20)))
    with spark_kit.admin(broker.bootstrap) as admin:
        committed = admin.list_group_offsets("orders-to-parquet")["orders-to-parquet"]
    assert sum(each.offset for each in committed.values()) == 20  # the last batch, too


def topic_values(spark, broker, topic):
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
    rows = spark.read.format("odradek").options(**options).load().collect()
    return sorted(bytes(row.value).decode() for row in rows)
