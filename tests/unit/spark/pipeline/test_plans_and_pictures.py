"""What would run, as text and as pictures; `odradek spark plan` and `status` as commands."""

import sys
import xml.etree.ElementTree as Xml

import pytest

from odradek.cli.main import main
from odradek.spark.pipeline.loading import load
from odradek.spark.pipeline.picture import dot, nodes_and_edges, svg
from odradek.spark.pipeline.plan import plan_text, query_names

TEXT = """\
pipeline: shop
checkpoint: /ck
options: {kafka.bootstrap.servers: "localhost:9092"}
sources:
  orders: {topic: orders, decode: string, dead_letters: bad}
  prices: {table: /prices, format: csv, schema: "id INT, price DOUBLE"}
steps:
  priced: {sql: "SELECT * FROM orders JOIN prices"}
  flagged: {function: "shop:flag", inputs: [priced, orders]}
sinks:
  out: {from: flagged, topic: out}
  all: {from: orders, console: true}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shop.yaml"
    path.write_text(TEXT)
    return str(path)


def test_the_plan_tells_every_part(file):
    plan = plan_text(load(file))
    assert plan.splitlines()[:3] == [
        "pipeline shop",
        "  checkpoint  /ck",
        "  trigger     as soon as there is something",
    ]
    for part in (
        f"source orders  ({file}:5)",
        "bad records go to the topic bad",
        "reads       priced, orders",
        "function    shop:flag",
        "writes      topic out as json, at-least-once, mode append",
        "checkpoint  /ck/orders-dead-letters",
    ):
        assert part in plan
    assert plan.index("source prices") < plan.index("step priced") < plan.index("step flagged")


def test_each_sink_and_each_dead_letter_topic_is_a_query(file):
    assert query_names(load(file)) == ["orders-dead-letters", "out", "all"]


def test_the_graph_has_layers(file):
    nodes, edges = nodes_and_edges(load(file))
    layers = {node.title: node.layer for node in nodes}
    assert layers == {"orders": 0, "prices": 0, "priced": 1, "flagged": 2, "out": 3, "all": 1, "topic bad": 1}
    assert ("part orders", "part flagged") in edges and ("part flagged", "sink out") in edges
    assert len(edges) == 7


def test_the_pictures_are_whole(file):
    declaration = load(file)
    assert dot(declaration).count(" -> ") == 7
    drawn = Xml.fromstring(svg(declaration))
    kinds = [each.tag.rpartition("}")[2] for each in drawn]
    assert kinds.count("rect") == 7 and kinds.count("path") == 7


def test_the_plan_command(file, tmp_path, capsys):
    assert main(["spark", "plan", file]) == 0
    assert capsys.readouterr().out.startswith("pipeline shop\n")
    picture = tmp_path / "shop.svg"
    assert main(["spark", "plan", file, "--svg", str(picture)]) == 0
    assert picture.read_text().startswith("<svg ")
    assert main(["spark", "plan", file, "--dot"]) == 0
    assert capsys.readouterr().out.startswith('digraph "shop"')


def test_mistakes_are_told_by_the_command(file, tmp_path, capsys):
    bad = tmp_path / "bad.yaml"
    bad.write_text(TEXT.replace("table: /prices", "tabel: /prices").replace("decode: string", "decode: strng"))
    assert main(["spark", "plan", str(bad)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "odradek: the pipeline cannot be run:"
    assert said[1].startswith(f"{bad}:5: ") and said[2].startswith(f"{bad}:6: ")
    assert main(["spark", "run", str(tmp_path / "none.yaml")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["spark", "plan", file, "--svg", str(tmp_path / "no" / "x.svg")]) == 2


def test_without_pyspark_the_command_says_what_to_install(file, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert main(["spark", "run", file]) == 1
    assert "pip install 'odradek[spark]'" in capsys.readouterr().err


def test_status_where_nothing_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert main(["spark", "status"]) == 0
    assert capsys.readouterr().out == "no pipeline runs here\n"
    assert main(["spark", "status", "--json"]) == 0
    assert capsys.readouterr().out == ""
