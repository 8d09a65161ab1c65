"""How records are printed, filtered, decoded, and written as JSON that can be read back."""

import argparse
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.cli.client import record_decode, record_filter, record_format, record_json
from odradek.cli.client.escaping import escaped, shown, unescaped
from odradek.cli.failure import Failure
from odradek.client.consumer.pure_records import ConsumerRecord
from odradek.serde import AvroSerde, SchemaRegistry
from odradek.serde.registry import RegistryError
from schema_registry import schema_registry

RECORD = ConsumerRecord(
    "orders",
    3,
    258,
    timestamp=1_700_000_000_123,
    key=b"k\xff",
    value=b'{"a": 1}\n',
    headers=[("trace", b"1"), ("none", None)],
    leader_epoch=5,
)
NULLS = ConsumerRecord("t", 0, 0, timestamp=-1)

SAME_EXAMPLES = settings(deadline=None, derandomize=True)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("%t %p %o\\n", b"orders 3 258\n"),
        ("%k:%s", b'k\xff:{"a": 1}\n'),
        ("%k{hex} %k{base64} %k{escape}", b"6bff a/8= k\\xff"),
        ("%s{json}", b'"{\\"a\\": 1}\\n"'),
        ("%K %S %H %e", b"2 9 2 5"),
        ("%R", b"\0\0\0\x09"),
        ("%o{big16}%o{little32}%o{hex}", b"\x01\x02\x02\x01\0\x00102"),
        ("%T", b"1700000000123"),
        ("%h", b"trace=1,none="),
        ("100%%\\t\\x41", b"100%\tA"),
    ],
)
def test_a_format(text, printed):
    assert record_format.compiled(text).render(RECORD) == printed


def test_a_date(monkeypatch):
    found = record_format.compiled("%d{%Y}").render(RECORD)
    assert found == b"2023"
    assert record_format.compiled("%d").render(ConsumerRecord("t", 0, 0, timestamp=2**62)) == b"%d" % 2**62


def test_nulls():
    assert record_format.compiled("%k|%s|%K|%S|%h").render(NULLS) == b"||-1|-1|"
    assert record_format.compiled("%R").render(NULLS) == b"\xff\xff\xff\xff"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("%y", "there is no %y; there are %t"),
        ("%s{gzip}", "expected {hex}, {base64}"),
        ("%o{base64}", "expected {hex}, {big32}"),
        ("50%", "ends with a single %"),
        ("\\q", "behind a backslash"),
    ],
)
def test_a_format_that_is_none(text, told):
    with pytest.raises(Failure, match=told):
        record_format.compiled(text)


@SAME_EXAMPLES
@given(st.binary())
def test_escaped_bytes_come_back(data):
    assert unescaped(escaped(data).encode()) == data
    assert escaped(data).isprintable()


def test_what_is_shown():
    assert shown("é\n".encode() + b"\xff\\") == "é\\n\\xff\\"
    assert shown(b"a\nb\x1b", keep="\n") == "a\nb\\x1b"


nullable_bytes = st.none() | st.binary() | st.text().map(str.encode)


@SAME_EXAMPLES
@given(nullable_bytes, nullable_bytes, st.lists(st.tuples(st.text(), nullable_bytes)))
def test_a_line_of_json_gives_the_very_record_back(key, value, headers):
    record = ConsumerRecord("t", 1, 2, timestamp=3, key=key, value=value, headers=headers)
    line = record_json.as_line(record)
    assert "\n" not in line
    read = record_json.from_line(line.encode(), 1)
    assert read == (key, value, headers, 1, 3, "t")


def test_a_line_with_less():
    assert record_json.from_line(b'{"value": {"a": 1}, "headers": {"x": "y"}}', 1) == (
        None,
        b'{"a":1}',
        [("x", b"y")],
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "line 7 is no JSON"),
        (b"[]", "line 7: expected an object"),
        (b'{"partition": "0"}', "line 7: partition has to be a number"),
        (b'{"headers": [1]}', "line 7: headers are pairs"),
        (b'{"value": {"base64": "!"}}', "line 7: "),
    ],
)
def test_a_line_that_is_no_record(line, told):
    with pytest.raises(Failure, match=told):
        record_json.from_line(line, 7)


@pytest.mark.parametrize(
    ("form", "data", "text"),
    [
        ("json", b'{"a": [1]}', '{"a": [1]}'),
        ("json", b"[1, 2]", "1 2"),
        (">iq", bytes.fromhex("00000001 0000000000000002"), "1 2"),
        ("<h", b"\x01\x00", "1"),
        ("i", b"\0\0\0\x07", "7"),
        (">is", b"\0\0\0\x07abc", "7 abc"),
    ],
)
def test_what_is_decoded(form, data, text):
    assert record_decode.decoded_text(record_decode.decoder(form)(data)) == text


@pytest.mark.parametrize(("form", "data"), [("json", b"{"), (">i", b"abc"), (">i", b"abcde"), ("json", b"\xff")])
def test_what_is_something_else(form, data):
    assert record_decode.decoder(form)(data) is None


@pytest.mark.parametrize("form", ["", "proto", "sq", ">z"])
def test_a_decoder_that_there_is_not(form):
    with pytest.raises(Failure, match="--decode"):
        record_decode.decoder(form)


def test_avro_by_the_schemas_of_a_registry():
    pytest.importorskip("fastavro", reason="fastavro is not installed; install the extra avro")
    fields = [{"name": "id", "type": "long"}, {"name": "raw", "type": "bytes"}]
    with schema_registry() as server:
        written = AvroSerde(SchemaRegistry(server.url), {"type": "record", "name": "Order", "fields": fields})
        data = written.serialize("orders", (), {"id": 3, "raw": b"\xff"})
        decode = record_decode.decoders(["avro"], server.url).value
        assert decode(data).value == {"id": 3, "raw": {"base64": "/w=="}}
        assert decode(b"something else") is None
        with pytest.raises(RegistryError):
            decode(b"\0\0\0\0\x63x")


def test_avro_needs_a_registry():
    with pytest.raises(Failure, match="--registry URL"):
        record_decode.decoders(["avro"])


def test_decoders_of_key_and_value():
    both = record_decode.decoders(["key=>q", "json"])
    assert both.key(b"\0" * 8).value == [0]
    assert both.value(b"1").value == 1


@SAME_EXAMPLES
@given(st.dictionaries(st.text(), st.integers()) | st.just({"base64": "AAAA"}))
def test_what_was_decoded_is_written_as_the_same_document(document):
    data = json.dumps(document).encode()
    record = ConsumerRecord("t", 0, 0, timestamp=0, value=data)
    line = record_json.as_line(record, value=record_decode.decoder("json")(data))
    assert json.loads(record_json.from_line(line.encode(), 1).value) == document


def passes(*arguments):
    parser = argparse.ArgumentParser()
    record_filter.add_filters(parser)
    test = record_filter.filter_of(parser.parse_args(arguments))
    return test is None or test(RECORD)


@pytest.mark.parametrize(
    ("arguments", "is_let_through"),
    [
        ([], True),
        (["--key", "k*"], True),
        (["--key", "k"], False),
        (["--grep", r'"a": \d'], True),
        (["--grep", "b"], False),
        (["--header", "trace"], True),
        (["--header", "trace=1"], True),
        (["--header", "trace=2"], False),
        (["--header", "none="], True),
        (["--header", "other"], False),
        (["--key", "k*", "--grep", "nothing"], False),
    ],
)
def test_a_filter(arguments, is_let_through):
    assert passes(*arguments) is is_let_through


def test_nulls_are_let_through_by_no_pattern():
    parser = argparse.ArgumentParser()
    record_filter.add_filters(parser)
    for arguments in (["--key", "*"], ["--grep", ""]):
        assert not record_filter.filter_of(parser.parse_args(arguments))(NULLS)


def test_a_regular_expression_that_is_none():
    with pytest.raises(Failure, match="it is no regular expression"):
        passes("--grep", "(")
