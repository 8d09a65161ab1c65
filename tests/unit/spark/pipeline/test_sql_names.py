"""What can be told of SQL without a parser: tokens, the tables that a query reads, whether it aggregates, schemas."""

import pytest

from odradek.spark.pipeline.ddl import check_ddl
from odradek.spark.pipeline.mistakes import PipelineError, Place
from odradek.spark.pipeline.sql_lexer import tokens
from odradek.spark.pipeline.sql_names import aggregates_without_watermark, names_read

HERE = Place("f", 10)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT * FROM a", ["a"]),
        ("select * from A, `b c` as x, d e where 1", ["A", "b c", "d"]),
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x JOIN c USING (x)", ["a", "b", "c"]),
        ("SELECT * FROM (SELECT * FROM a) x JOIN (SELECT 1 FROM b) y", ["a", "b"]),
        ("SELECT EXTRACT(HOUR FROM at), TRIM(BOTH 'x' FROM y) FROM a", ["a"]),
        ("SELECT x IS DISTINCT FROM y, x IS NOT DISTINCT FROM z FROM a", ["a"]),
        ("WITH w AS (SELECT * FROM a), v (x) AS (SELECT * FROM w) SELECT * FROM v JOIN w", ["a"]),
        ("SELECT * FROM spark_catalog.default.t JOIN parquet.`/x`", []),
        ("SELECT * FROM range(10) JOIN a", ["a"]),
        ("SELECT * FROM VALUES (1, 2)", []),
        ("FROM a SELECT b", ["a"]),
        ("SELECT 'FROM x', \"FROM y\" -- FROM z\n FROM /* FROM w */ a", ["a"]),
        ("SELECT * FROM a WHERE x IN (SELECT y FROM b) UNION ALL SELECT * FROM c", ["a", "b", "c"]),
        ("SELECT * FROM a, LATERAL explode(b) AS t(x)", ["a"]),
        ("SELECT a.from FROM b", ["b"]),
        ("SELECT 1", []),
    ],
)
def test_the_names_that_a_query_reads(query, names):
    assert [read.name for read in names_read(query, HERE)] == names


def test_a_name_has_its_line():
    read = names_read("SELECT *\nFROM a\n  -- and\nJOIN b", HERE)
    assert [(each.name, each.place.line) for each in read] == [("a", 11), ("b", 13)]


@pytest.mark.parametrize(
    ("query", "is_so"),
    [
        ("SELECT a, count(*) FROM b GROUP BY a", True),
        ("SELECT a FROM b", False),
        ("SELECT 'GROUP BY' FROM b -- GROUP BY a", False),
        ("SELECT a FROM b WATERMARK x DELAY OF INTERVAL 1 SECOND GROUP BY a", False),
    ],
)
def test_aggregations(query, is_so):
    assert aggregates_without_watermark(query, HERE) is is_so


def test_texts_and_names_mean_what_they_say():
    found = tokens(r"""'it''s' "a\n\"b" `c``d` e_1 2.5e3 <=> <> ;""", HERE)
    assert [token.value for token in found] == ["it's", 'a\n"b', "c`d", "e_1", "2.5e3", "<=>", "<>", ";"]
    assert [token.kind for token in found][:5] == ["text", "text", "name", "word", "number"]


@pytest.mark.parametrize("text", ["'a", '"a', "`a", "/* a", "a\n'b"])
def test_what_does_not_end(text):
    with pytest.raises(PipelineError) as caught:
        tokens(text, HERE)
    assert caught.value.mistakes[0].place.line == 10 + text.count("\n")


@pytest.mark.parametrize(
    "schema",
    [
        "id BIGINT",
        "id bigint NOT NULL COMMENT 'the id', `a b` STRING",
        "a ARRAY<STRUCT<x: INT, y DECIMAL(10, 2)>>, m MAP<STRING, ARRAY<DOUBLE>>",
        "c VARCHAR(10), d DECIMAL, t TIMESTAMP_NTZ, -- more\n v VARIANT",
    ],
)
def test_schemas_that_are_fine(schema):
    check_ddl(schema, HERE)


@pytest.mark.parametrize(
    ("schema", "part"),
    [
        ("", "the name of a column is expected"),
        ("id", "a name and no type"),
        ("id BIGNT", "did you mean BIGINT?"),
        ("id INT name STRING", "a comma is expected between columns, not 'name'"),
        ("id INT,", "the name of a column is expected"),
        ("a ARRAY<INT", "'>' is expected"),
        ("a MAP<STRING>", "',' is expected"),
        ("a STRUCT<x>", "there is no type '>'"),
        ("a DECIMAL(x)", "a number is expected"),
        ("a DECIMAL(1", "not closed"),
        ("a INT NOT b", "NOT is followed by NULL"),
        ("a INT COMMENT b", "COMMENT is followed by a text"),
    ],
)
def test_schemas_that_are_not(schema, part):
    with pytest.raises(PipelineError, match="in the schema") as caught:
        check_ddl(schema, HERE)
    assert part in str(caught.value)
