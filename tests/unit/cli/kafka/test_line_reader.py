"""Lines as records, and records as lines."""

import pytest

from odradek.cli.failure import Refusal
from odradek.cli.kafka.latencies import Latencies
from odradek.cli.kafka.line_reader import LineReader
from odradek.cli.kafka.message_formatter import formatter
from odradek.client.consumer.records import ConsumerRecord
from odradek.client.settings import client_config
from odradek.config.consumer import TABLE

CONFIG = client_config(TABLE, {"bootstrap.servers": "localhost:1"}, {})
DEFAULT = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"


def read(line, **properties):
    named = {name.replace("_", "."): setting for name, setting in properties.items()}
    return next(iter(LineReader(named).records([line])))


def test_a_line_is_a_value_unless_keys_and_headers_are_asked_for():
    assert read("a\tb\n") == (None, b"a\tb", [])
    assert read("k:v:w\n", parse_key="true", key_separator=":") == (b"k", b"v:w", [])
    found = read("a:1,b:2\tk\tv\n", parse_key="true", parse_headers="true")
    assert found == (b"k", b"v", [("a", b"1"), ("b", b"2")])


def test_a_marker_stands_for_null():
    assert read("NULL\tNULL\n", parse_key="true", null_marker="NULL") == (None, None, [])


def test_a_line_without_its_separator_is_refused_or_taken_as_a_value():
    with pytest.raises(Refusal, match="No key separator found on line number 1: 'x'"):
        read("x\n", parse_key="true")
    assert read("x\n", parse_key="true", ignore_error="true") == (None, b"x", [])


def test_a_record_is_printed_with_what_is_asked_for():
    record = ConsumerRecord("t", 3, 7, timestamp=5, timestamp_type=0, key=b"k", value=None, headers=[("h", b"1")])
    asked = ("timestamp", "partition", "offset", "headers", "key")
    line = formatter(DEFAULT, {f"print.{name}": "true" for name in asked}, CONFIG)
    assert line(record) == b"CreateTime:5\tPartition:3\tOffset:7\th:1\tk\tnull\n"
    number = formatter(
        DEFAULT, {"value.deserializer": "org.apache.kafka.common.serialization.LongDeserializer"}, CONFIG
    )
    assert number(ConsumerRecord("t", 0, 0, value=(5).to_bytes(8, "big"))) == b"5\n"


def test_an_unknown_formatter_is_refused():
    with pytest.raises(Refusal, match=r"no\.such is not served"):
        formatter("no.such", {}, CONFIG)


def test_latencies_are_told_by_their_shares():
    latencies = Latencies(60_000)
    for latency_ms in range(1000):
        latencies.add(latency_ms, 1024)
    told = latencies.total()
    assert told.startswith("1000 records sent, ")
    assert told.endswith(
        "499.50 ms avg latency, 999.00 ms max latency, 500 ms 50th, 950 ms 95th, 990 ms 99th, 999 ms 99.9th."
    )
