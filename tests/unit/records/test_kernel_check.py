"""check_records: what a broker learns of a section, and every way in which a section can be wrong."""

import pytest

from odradek.protocol import errors
from odradek.records import kernel
from odradek.records.record import Record, write_record
from odradek.records.varint import write_varint, write_varlong

pytestmark = pytest.mark.usefixtures("executor")


def section(*records: tuple[int, int, bytes | None, bytes | None]) -> bytes:
    out = bytearray()
    for offset_delta, timestamp_delta, key, value in records:
        write_record(out, Record(0, key, value), offset_delta, timestamp_delta)
    return bytes(out)


def raw_record(*fields: int | bytes, length: int | None = None) -> bytes:
    """A record from varints and raw bytes; its length is right unless given."""
    body = bytearray()
    for field in fields:
        if isinstance(field, bytes):
            body += field
        else:
            write_varlong(body, field)
    out = bytearray()
    write_varint(out, len(body) if length is None else length)
    return bytes(out + body)


def test_summary_of_ordinary_records() -> None:
    body = section((0, 5, b"a", b"1"), (1, 9, None, b"2"), (2, 9, b"c", None), (3, -2, None, None))
    summary = kernel.check_records(body, 4)
    assert (summary.first_offset_delta, summary.last_offset_delta) == (0, 3)
    assert summary.offsets_consecutive is True
    assert (summary.min_timestamp_delta, summary.max_timestamp_delta) == (-2, 9)
    assert summary.max_timestamp_index == 1  # the first of those that share the maximum
    assert summary.keyless_index == 1
    assert summary.null_value_count == 2


def test_every_record_keyed() -> None:
    assert kernel.check_records(section((0, 0, b"", b"")), 1).keyless_index == -1


@pytest.mark.parametrize("deltas", [(0, 2), (0, 0), (1, 0), (0, 1, 3)])
def test_gaps_and_repeats_are_not_consecutive(deltas: tuple[int, ...]) -> None:
    summary = kernel.check_records(section(*((delta, 0, None, b"") for delta in deltas)), len(deltas))
    assert summary.offsets_consecutive is False
    assert (summary.first_offset_delta, summary.last_offset_delta) == (deltas[0], deltas[-1])


def test_a_batch_without_records() -> None:
    summary = kernel.check_records(b"", 0)
    assert (summary.first_offset_delta, summary.last_offset_delta) == (0, -1)
    assert (summary.max_timestamp_index, summary.keyless_index) == (-1, -1)


def test_widest_integers() -> None:
    summary = kernel.check_records(section((2**31 - 1, -(2**63), b"k", b"v"), (-(2**31), 2**63 - 1, b"k", b"v")), 2)
    assert (summary.first_offset_delta, summary.last_offset_delta) == (2**31 - 1, -(2**31))
    assert (summary.min_timestamp_delta, summary.max_timestamp_delta) == (-(2**63), 2**63 - 1)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_will_do(kind: type) -> None:
    assert kernel.check_records(kind(section((0, 0, b"k", b"v"))), 1).last_offset_delta == 0


GOOD = raw_record(b"\0", 0, 0, 1, b"k", 1, b"v", 0)

FAULTS = {
    "more records than bytes": (GOOD, 2**31 - 1, 0, 0, "more records"),
    "negative count": (GOOD, -1, 0, 0, "more records"),
    "fewer records than count": (raw_record(b"\0", 0, 0, 20, b"k" * 20, -1, 0), 2, 1, 27, "ends before"),
    "trailing bytes": (GOOD + b"\0", 1, 1, 9, "bytes follow"),
    "negative record length": (b"\x01" + GOOD, 1, 0, 0, "record length"),
    "record beyond the section": (raw_record(b"\0" * 7, length=8), 1, 0, 0, "record length"),
    "record longer than its fields": (raw_record(b"\0", 0, 0, -1, -1, 0, b"\0"), 1, 0, 7, "does not match"),
    "record shorter than its fields": (raw_record(b"\0", 0, 0, -1, -1, 0, length=5), 1, 0, 6, "cut off"),
    "empty record": (b"\0" * 7, 1, 0, 1, "cut off"),
    "length of six bytes": (b"\x80" * 5 + b"\0" * 9, 1, 0, 0, "longer than its type"),
    "offset delta of six bytes": (raw_record(b"\0\0" + b"\x80" * 5 + b"\0" * 4), 1, 0, 3, "longer than its type"),
    "timestamp delta of eleven bytes": (raw_record(b"\0" + b"\xff" * 10 + b"\0" * 5), 1, 0, 2, "longer than its type"),
    "key length below -1": (raw_record(b"\0", 0, 0, -2, -1, 0), 1, 0, 4, "key length"),
    "key beyond the record": (raw_record(b"\0", 0, 0, 9, -1, 0), 1, 0, 4, "key length"),
    "key beyond a short section": (raw_record(b"\0", 0, 0, 60, -1, 0, bytes(20)), 1, 0, 4, "key length"),
    "value length below -1": (raw_record(b"\0", 0, 0, -1, -2, 0), 1, 0, 5, "value length"),
    "value beyond the record": (raw_record(b"\0", 0, 0, -1, 2**31 - 1, 0), 1, 0, 5, "value length"),
    "negative header count": (raw_record(b"\0", 0, 0, -1, -1, -1), 1, 0, 6, "header count"),
    "header count beyond the record": (raw_record(b"\0", 0, 0, -1, -1, 2**30), 1, 0, 6, "header count"),
    "header count just beyond the record": (raw_record(b"\0", 0, 0, -1, -1, 1, b"\0"), 1, 0, 6, "header count"),
    "null header key": (raw_record(b"\0", 0, 0, -1, -1, 1, -1, -1), 1, 0, 7, "header key is null"),
    "header key beyond the record": (raw_record(b"\0", 0, 0, -1, -1, 1, 7, -1), 1, 0, 7, "header key is longer"),
    "header value below -1": (raw_record(b"\0", 0, 0, -1, -1, 1, 0, -2), 1, 0, 8, "header value length"),
    "header value beyond": (raw_record(b"\0", 0, 0, -1, -1, 1, 0, 5), 1, 0, 8, "header value length"),
    "second record": (GOOD + raw_record(b"\0", 0, 1, -2, -1, 0), 2, 1, 13, "key length"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_name_record_byte_and_reason(name: str) -> None:
    body, count, index, position, reason = FAULTS[name]
    with pytest.raises(errors.InvalidRecord) as caught:
        kernel.check_records(body, count)
    assert str(caught.value).startswith(f"record {index}, byte {position} of the record section: ")
    assert reason in str(caught.value)


def test_truncation_at_every_byte_is_invalid() -> None:
    body = bytearray()
    write_record(body, Record(0, b"key", b"value" * 30, headers=[("h", b"x"), ("i", None)]), 0, 1000)
    write_record(body, Record(0, None, b"value" * 30), 1, 1000)
    assert kernel.check_records(bytes(body), 2).last_offset_delta == 1
    for end in range(len(body)):
        with pytest.raises(errors.InvalidRecord):
            kernel.check_records(bytes(body[:end]), 2)


def test_padded_varints_are_taken_as_kafka_takes_them() -> None:
    padded = raw_record(b"\0" + b"\x80\x80\x00" + b"\x82\x00", -1, -1, 0)
    summary = kernel.check_records(padded, 1)
    assert (summary.max_timestamp_delta, summary.first_offset_delta) == (0, 1)
