"""Which columns are written, and what is said of those that cannot be."""

import pytest

from odradek.spark.errors import SinkColumnError
from odradek.spark.sink.columns import written_columns

HEADERS = "array<struct<key:string,value:binary>>"
ALL = [("topic", "string"), ("partition", "int"), ("key", "binary"), ("value", "string"), ("headers", HEADERS)]


def test_all_five_columns_in_any_order():
    assert written_columns(reversed(ALL), None) == ["headers", "value", "key", "partition", "topic"]


def test_the_option_goes_before_the_column():
    assert written_columns(ALL, "orders") == ["partition", "key", "value", "headers"]
    assert written_columns([("value", "binary"), ("topic", "int")], "orders") == ["value"], "nobody reads it"


def test_what_was_read_may_be_written_as_it_is():
    read = [("key", "binary"), ("value", "binary"), ("topic", "string"), ("partition", "int"), ("offset", "bigint")]
    assert written_columns([*read, ("timestamp", "timestamp"), ("timestampType", "int")], None) == [
        "key",
        "value",
        "topic",
        "partition",
    ]


def test_a_string_is_a_string_however_it_is_compared():
    assert written_columns([("value", "string collate UTF8_LCASE")], "orders") == ["value"]


@pytest.mark.parametrize(
    ("fields", "topic", "why"),
    [
        ([("key", "string")], "orders", "there is no column value"),
        ([("Value", "string")], "orders", "there is no column value"),
        ([("value", "string")], None, "give the option topic, or a column topic"),
        ([("value", "bigint")], "orders", "column value is of type bigint: it has to be string or binary"),
        ([("value", "string"), ("key", "int")], "orders", "column key is of type int"),
        ([("value", "string"), ("topic", "int")], None, "column topic is of type int: it has to be string"),
        ([("value", "string"), ("partition", "bigint")], "orders", "column partition is of type bigint"),
        ([("value", "string"), ("headers", "map<string,binary>")], "orders", "column headers is of type map"),
        ([("value", "string"), ("value", "string")], "orders", "there are 2 columns value"),
    ],
)
def test_what_cannot_be_written(fields, topic, why):
    with pytest.raises(SinkColumnError, match=why):
        written_columns(fields, topic)
