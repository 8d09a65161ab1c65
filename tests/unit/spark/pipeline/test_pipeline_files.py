"""Pipelines as files: YAML, SQL and Python make the same model, and every mistake is told with its line."""

import sys
from dataclasses import replace

import pytest

import outside
from odradek.spark.pipeline.loading import load
from odradek.spark.pipeline.mistakes import PipelineError, Place
from odradek.spark.pipeline.model import SqlStep, TopicSource

YAML = """\
pipeline: shop
checkpoint: /ck
trigger: 5 seconds
options:
  kafka.bootstrap.servers: localhost:9092
spark:
  spark.sql.shuffle.partitions: 2
sources:
  orders:
    topic: orders
    decode: json
    schema: id BIGINT NOT NULL, amount DECIMAL(10,2), at TIMESTAMP
    event_time: at
    watermark: 10 minutes
    dead_letters: orders-dead
    options:
      startingOffsets: earliest
  customers:
    table: /data/customers
steps:
  large:
    sql: SELECT o.id, c.name FROM orders o JOIN customers c ON o.id = c.id
sinks:
  out:
    from: large
    topic: large
    key: id
    guarantee: exactly-once
  lake:
    from: large
    parquet: /lake
    partition_by: name
"""

SQL = """\
SET pipeline = 'shop';  -- the name; of it all
SET checkpoint = '/ck';
SET trigger = '5 seconds';
SET kafka.bootstrap.servers = 'localhost:9092';
SET spark.sql.shuffle.partitions = 2;
CREATE SOURCE orders FROM TOPIC 'orders'
    DECODE JSON (id BIGINT NOT NULL, amount DECIMAL(10,2), at TIMESTAMP)
    WATERMARK at DELAY '10 minutes'
    WITH (startingOffsets = 'earliest', dead_letters = 'orders-dead');
CREATE SOURCE customers FROM TABLE '/data/customers';
/* what is sold; to whom */
CREATE VIEW large AS SELECT o.id, c.name FROM orders o JOIN customers c ON o.id = c.id;
INSERT INTO TOPIC 'large' WITH (name = 'out', key = 'id', guarantee = 'exactly-once') SELECT * FROM large;
INSERT INTO PARQUET '/lake' WITH (partition_by = 'name') SELECT * FROM large
"""

PYTHON = """\
from odradek.spark import Pipeline

pipeline = Pipeline(
    "shop", checkpoint="/ck", trigger="5 seconds", options={"kafka.bootstrap.servers": "localhost:9092"},
    spark={"spark.sql.shuffle.partitions": 2},
)
pipeline.source("orders", topic="orders", decode="json",
                schema="id BIGINT NOT NULL, amount DECIMAL(10,2), at TIMESTAMP",
                event_time="at", watermark="10 minutes", dead_letters="orders-dead",
                options={"startingOffsets": "earliest"})
pipeline.source("customers", table="/data/customers")
pipeline.sql("large", "SELECT o.id, c.name FROM orders o JOIN customers c ON o.id = c.id")
pipeline.sink("out", "large", topic="large", key="id", guarantee="exactly-once")
pipeline.sink("lake", "large", parquet="/lake", partition_by=["name"])
if __name__ == "__main__":
    pipeline.run()
"""

HEAD = "checkpoint: /ck\noptions: {kafka.bootstrap.servers: 'localhost:9092'}\n"  # two lines
SOURCE = "sources: {orders: {topic: orders, decode: json, schema: 'id INT, at TIMESTAMP'}}\n"
SINK = "sinks: {out: {from: orders, parquet: /lake}}\n"


@pytest.fixture
def written(tmp_path):
    def write(text, name="pipeline.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def mistakes(written):
    """The lines and texts of what is wrong, without the name of the file."""

    def find(text, name="pipeline.yaml"):
        file = written(text, name)
        with pytest.raises(PipelineError) as caught:
            load(file)
        assert all(mistake.place.file == file for mistake in caught.value.mistakes)
        return [(mistake.place.line, mistake.text) for mistake in caught.value.mistakes]

    return find


def without_places(parts):
    nowhere = Place("", 0)
    return [replace(part, place=nowhere) for part in parts]


def test_all_front_ends_make_the_same_model(written):
    by_yaml = load(written(YAML))
    by_python = load(written(PYTHON, "pipeline.py"))
    by_sql = load(written(SQL, "pipeline.sql"))
    for other in (by_python, by_sql):
        assert (other.name, other.checkpoint, other.trigger) == ("shop", "/ck", "5 seconds")
        assert other.options == by_yaml.options and other.conf == by_yaml.conf
        assert without_places(other.sources) == without_places(by_yaml.sources)
    assert without_places(by_python.steps) == without_places(by_yaml.steps)
    assert without_places(by_python.sinks) == without_places(by_yaml.sinks)
    assert [step.name for step in by_sql.steps] == ["large", "into_out", "into_lake"]
    assert by_sql.steps[0].text == by_yaml.steps[0].text
    assert [(sink.kind, sink.target, sink.key, sink.guarantee) for sink in by_sql.sinks] == [
        ("topic", "large", "id", "exactly-once"),
        ("parquet", "/lake", None, None),
    ]


def test_each_part_knows_its_line(written):
    by_yaml, by_sql, by_python = (
        load(written(YAML)),
        load(written(SQL, "pipeline.sql")),
        load(written(PYTHON, "pipeline.py")),
    )
    assert [part.place.line for part in (*by_yaml.sources, *by_yaml.steps, *by_yaml.sinks)] == [9, 18, 22, 24, 29]
    assert [part.place.line for part in (*by_sql.sources, *by_sql.steps, *by_sql.sinks)] == [6, 10, 12, 13, 14, 13, 14]
    assert [part.place.line for part in (*by_python.sources, *by_python.steps, *by_python.sinks)] == [7, 11, 12, 13, 14]


def test_validation_needs_no_pyspark(written):
    code = (
        "import sys; from odradek.spark.pipeline.loading import load; "
        "from odradek.spark.pipeline.plan import plan_text; plan_text(load(sys.argv[1])); "
        "print('pyspark' in sys.modules, 'pyarrow' in sys.modules)"
    )
    for file in (written(YAML), written(SQL, "p.sql"), written(PYTHON, "p.py")):
        assert outside.run([sys.executable, "-c", code, file], check=True).stdout.split() == ["False", "False"]


def test_all_mistakes_are_told_together(mistakes):
    found = mistakes(
        "pipelin: shop\n"
        "options:\n"
        "  kafka.bootstrap.servers: localhost:9092\n"
        "  startingOffsets: earliest\n"
        "sources:\n"
        "  orders:\n"
        "    topic: orders\n"
        "    decode: jsn\n"
        "    watermark: soon\n"
        "    options:\n"
        "      startingOffset: earliest\n"
        "steps:\n"
        "  large:\n"
        "    sql: |\n"
        "      SELECT *\n"
        "      FROM ordrs\n"
        "sinks:\n"
        "  out: {from: lrge, topic: large, kye: id}\n"
    )
    assert [line for line, _ in found] == [1, 1, 4, 6, 8, 9, 11, 16, 18, 18]
    said = " | ".join(text for _, text in found)
    for part in (
        "no checkpoint",
        "did you mean pipeline?",
        "startingOffsets belongs to one source or sink",
        "a watermark and no event_time",
        "did you mean json?",
        "such as '10 minutes', not 'soon'",
        "did you mean startingOffsets?",
        "reads 'ordrs', which is not there; did you mean orders?",
        "did you mean key?",
        "writes 'lrge', which is not there; did you mean large?",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("a: [1\n", 2, "no YAML"),
        ("", 1, "the file is empty"),
        ("- 1\n", 1, "the pipeline is to be names with values, not a list"),
        (HEAD + SOURCE, 1, "no sinks"),
        (HEAD + SINK, 1, "no sources"),
        (HEAD + SOURCE + SINK + "checkpoint: /other\n", 5, "the key checkpoint comes twice"),
        (HEAD + SOURCE + SINK + "trigger: often\n", 5, "such as '10 minutes'"),
        (HEAD + SOURCE + SINK + "steps: {b: {sql: 7}}\n", 5, "sql of the step b is to be a text, not a number"),
        (HEAD + SOURCE + SINK + "steps: {b-c: {sql: SELECT 1}}\n", 5, "'b-c' is no name"),
        (HEAD + SOURCE + SINK + "steps: {b: {}}\n", 5, "one of sql, function"),
        (HEAD + SOURCE + SINK + "steps: {b: {function: here, inputs: orders}}\n", 5, "module:function, not 'here'"),
        (HEAD + SOURCE + SINK + "steps: {b: {function: 'a:b'}}\n", 5, "the step b has no inputs"),
        (HEAD + SOURCE + SINK + "steps: {ORDERS: {sql: SELECT 1}}\n", 5, "the name ORDERS is taken"),
        (HEAD + SOURCE + SINK + "steps: {b: {sql: SELECT ' FROM x}}\n", 5, "a quote that is opened is not closed"),
        (HEAD + "sources: {a: {topic: x, table: y}}\n" + SINK, 3, "only one of topic, table"),
        (HEAD + "sources: {a: {topic: x, decode: json}}\n" + SINK, 3, "needs a schema"),
        (HEAD + "sources: {a: {topic: x, decode: avro}}\n" + SINK, 3, "a schema (Avro's own, in JSON) or the address"),
        (HEAD + "sources: {a: {topic: x, decode: protobuf, message: b.C}}\n" + SINK, 3, "needs descriptor"),
        (HEAD + "sources: {a: {topic: x, registry: 'http://r'}}\n" + SINK, 3, "registry belongs to"),
        (HEAD + "sources: {a: {topic: x, decode: json, schema: 'id BIGNT'}}\n" + SINK, 3, "did you mean BIGINT?"),
        (HEAD + "sources: {a: {topic: x, options: {subscribe: y}}}\n" + SINK, 3, "but the field topic"),
        ("checkpoint: /c\nsources: {a: {topic: x}}\n" + SINK, 2, "kafka.bootstrap.servers"),
        (HEAD + SOURCE + "sinks: {out: {from: orders}}\n", 4, "one of topic, parquet, delta"),
        (HEAD + SOURCE + "sinks: {out: {parquet: /lake}}\n", 4, "has no from"),
        (HEAD + SOURCE + "sinks: {out: {from: orders, parquet: /l, mode: update}}\n", 4, "mode append, not update"),
        (HEAD + SOURCE + "sinks: {out: {from: orders, parquet: /l, key: id}}\n", 4, "no field 'key'"),
        (HEAD + SOURCE + "sinks: {out: {from: orders, delta: /l, merge_on: id}}\n", 4, "go together"),
        (HEAD + SOURCE + "sinks: {out: {from: orders, iceberg: a.b}}\n", 4, "needs a catalog"),
        (HEAD + SOURCE + "sinks: {out: {from: orders, console: maybe}}\n", 4, "is to be true"),
        (HEAD + SOURCE + "sinks: {out: {from: orders, console: true, rows: -1}}\n", 4, "a whole number above 0"),
        (HEAD + SOURCE + "sinks: {o: {from: orders, topic: t, options: {kafka.ackz: 1}}}\n", 4, "kafka.acks"),
        (HEAD + SOURCE + "sinks: {o: {from: orders, delta: /l, options: {a: 1}}}\n", 4, "has no options"),
    ],
)
def test_a_mistake_in_yaml_has_its_line(mistakes, text, line, part):
    assert any(at == line and part in said for at, said in mistakes(text)), mistakes(text)


def test_steps_that_wait_for_each_other(mistakes):
    steps = "steps:\n  a: {sql: SELECT * FROM b}\n  b: {sql: SELECT * FROM orders JOIN A}\n"
    assert mistakes(HEAD + SOURCE + SINK + steps) == [(6, "these steps wait for each other: a reads b reads a")]


def test_a_sink_without_a_stream(mistakes):
    text = HEAD + "sources: {a: {table: /x}}\nsinks: {out: {from: a, parquet: /lake}}\n"
    assert mistakes(text) == [(4, "the sink out reads no topic: there is nothing that would stream")]


def test_an_aggregation_that_could_never_end(mistakes, written):
    steps = "steps:\n  n:\n    sql: SELECT id, count(*) FROM orders GROUP BY id\n"
    sink = "sinks: {out: {from: n, parquet: /lake}}\n"
    assert [line for line, _ in mistakes(HEAD + SOURCE + steps + sink)] == [6]
    for fine in (
        HEAD + SOURCE + steps + "sinks: {out: {from: n, console: true, mode: update}}\n",
        HEAD + SOURCE.replace("decode", "event_time: at, watermark: 1 minute, decode") + steps + sink,
        HEAD + SOURCE + "steps: {f: {function: 'm:f', inputs: [n]}, n: {sql: SELECT id FROM orders GROUP BY id}}\n"
        "sinks: {out: {from: f, parquet: /l}}\n",
    ):
        load(written(fine))


def test_a_line_within_a_block_of_text(mistakes):
    schema = "    schema: |\n      id INT,\n      name STRNG\n"
    text = f"{HEAD}sources:\n  orders:\n    topic: orders\n    decode: json\n{schema}{SINK}"
    assert mistakes(text) == [(9, "the source orders: in the schema, there is no type 'STRNG'; did you mean STRING?")]


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("SELECT 1", "a statement begins with SET, CREATE, INSERT, not 'SELECT'"),
        ("CREAT SOURCE x", "did you mean CREATE?"),
        ("SET checkpont = 'x'", "SET knows no 'checkpont'; did you mean checkpoint?"),
        ("SET checkpoint 'x'", "'=' is expected, not 'x'"),
        ("SET checkpoint = 'x' 'y'", "the end of the statement is expected, not 'y'"),
        ("CREATE SOURCE a FROM TOPIC orders", "a name is expected, in quotes, not 'orders'"),
        ("CREATE SOURCE a FROM TOPIC 't' DECODE JASON (id INT)", "did you mean JSON?"),
        ("CREATE SOURCE a FROM TOPIC 't' DECODE JSON (id INT", "a bracket that is opened is not closed"),
        ("CREATE SOURCE a FROM TOPIC 't' DECODE JSON (id INTT)", "did you mean INT?"),
        ("CREATE SOURCE a FROM TOPIC 't' WITH (dead_letter = 'x')", "there is none of this name"),
        ("CREATE SOURCE a FROM TOPIC 't' WITH (a = 1, a = 2)", "a comes twice"),
        ("CREATE SOURCE a FROM PATTERN 'x', 'y'", "PATTERN takes one text"),
        ("CREATE VIEW orders AS SELECT 1", "the name orders is taken"),
        ("CREATE VIEW v AS DELETE FROM x", "a query is expected"),
        ("CREATE VIEW v AS SELECT * FROM ordrs", "did you mean orders?"),
        ("INSERT INTO TABLE 'x' SELECT 1", "behind INSERT INTO comes TOPIC"),
        ("INSERT INTO TOPIC 'out' SELECT * FROM orders", "two sinks are called out"),
    ],
)
def test_a_mistake_in_sql_has_its_line(mistakes, statement, part):
    text = (
        "SET checkpoint = '/ck'; SET kafka.bootstrap.servers = 'h:1';\n"
        "CREATE SOURCE orders FROM TOPIC 'orders';\n"
        "INSERT INTO TOPIC 'out' WITH (encode = 'raw') SELECT * FROM orders;\n"
        f"\n{statement};\n"
    )
    found = mistakes(text, "pipeline.sql")
    assert [line for line, _ in found] == [5] and part in found[0][1], found


def test_a_quote_that_does_not_end_in_sql(mistakes):
    assert mistakes("SET checkpoint = '/ck';\n\nSET pipeline = 'x;\n", "pipeline.sql") == [
        (3, "a quote that is opened is not closed")
    ]


def test_sql_has_lists_quotes_and_parts_of_a_catalog(written):
    text = (
        "SET checkpoint = 'it''s; here'; SET 'kafka.bootstrap.servers' = \"h:1\";\n"
        "CREATE SOURCE `orders` FROM TOPIC 'a', 'b';\n"
        "INSERT INTO ICEBERG 'db.t' WITH (catalog.type = 'sql', catalog.uri = 'sqlite:///x')\n"
        "  WITH own AS (SELECT * FROM orders) SELECT * FROM own;\n"
        "INSERT INTO CONSOLE SELECT * FROM orders;;"
    )
    found = load(written(text, "pipeline.sql"))
    assert found.checkpoint == "it's; here"
    assert found.name == "pipeline"
    assert found.sources[0].topics == "a,b"
    assert found.sinks[0].catalog == {"type": "sql", "uri": "sqlite:///x"}
    assert found.steps[0].text == "WITH own AS (SELECT * FROM orders) SELECT * FROM own"
    assert [sink.name for sink in found.sinks] == ["db_t", "console"]


def test_python_files_that_make_no_pipeline(mistakes):
    assert mistakes("x = 1\n", "p.py") == [(1, "the file makes no Pipeline: one, in a global name, is what is run")]
    assert mistakes("\n\nraise KeyError('gone')\n", "p.py") == [(3, "KeyError: 'gone'")]
    assert mistakes("x = 1\ny = (\n", "p.py")[0][0] == 2
    two = "from odradek.spark import Pipeline\na = Pipeline('a')\nb = Pipeline('b')\n"
    assert "makes 2 pipelines" in mistakes(two, "p.py")[0][1]


def test_mistakes_in_python_have_the_line_of_the_call(mistakes):
    text = (
        "from odradek.spark import Pipeline\n"
        "p = Pipeline('a', checkpoint='/ck', options={'kafka.bootstrap.servers': 'h:1'})\n"
        "p.source('orders', topic='orders', decod='raw')\n"
        "p.source('orders', topic='others')\n"
        "@p.step('ordrs')\n"
        "def flagged(orders):\n"
        "    return orders\n"
        "p.sink('out', 'flagged', function=len)\n"
    )
    assert [line for line, _ in mistakes(text, "p.py")] == [4, 5]
    text = text.replace("topic='others'", "topic='others', decod='raw'")
    assert [line for line, _ in mistakes(text, "p.py")] == [4, 4, 5]


def test_a_file_of_another_kind(mistakes):
    assert "ends in .yaml, .yml, .sql, .py" in mistakes("{}", "pipeline.json")[0][1]


def test_files_take_values_from_the_environment(written, mistakes, monkeypatch):
    monkeypatch.setenv("CHECKPOINTS", "/there")
    text = (HEAD + SOURCE + SINK).replace("/ck", "${CHECKPOINTS}/a").replace("/lake", "${LAKE_OF_NOBODY:-/here}")
    found = load(written(text))
    assert (found.checkpoint, found.sinks[0].target) == ("/there/a", "/here")
    assert mistakes(text.replace(":-/here", ""))[0] == (
        4,
        "the environment has no LAKE_OF_NOBODY: set it, or write ${LAKE_OF_NOBODY:-default}",
    )


def test_functions_are_steps_and_sinks(written):
    text = (
        "from odradek.spark import Pipeline\n"
        "p = Pipeline('a', checkpoint='/ck', options={'kafka.bootstrap.servers': 'h:1'})\n"
        "p.source('orders', topic='orders')\n"
        "@p.step('orders', name='other')\n"
        "def flagged(orders):\n"
        "    return orders\n"
        "p.sink('out', 'other', function=flagged)\n"
    )
    found = load(written(text, "p.py"))
    assert found.steps[0].name == "other" and found.steps[0].inputs == ("orders",)
    assert found.steps[0].function("x") == "x" and found.sinks[0].target("y") == "y"
    assert isinstance(found.sources[0], TopicSource) and not isinstance(found.steps[0], SqlStep)
