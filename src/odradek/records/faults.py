"""The ways in which a record section can be wrong, in one table, so that both executors say the same words.

A walk stops at the first fault. Its position is that of the field that shows it, counted from the first byte of the
uncompressed record section.
"""

from odradek.protocol.errors import InvalidRecord

NO_FAULT = 0
COUNT_BEYOND_SECTION = 1
SECTION_ENDS_EARLY = 2
FIELD_CUT_OFF = 3
VARINT_TOO_LONG = 4
RECORD_LENGTH = 5
KEY_LENGTH = 6
VALUE_LENGTH = 7
HEADER_COUNT = 8
NULL_HEADER_KEY = 9
HEADER_KEY_LENGTH = 10
HEADER_VALUE_LENGTH = 11
LENGTH_MISMATCH = 12
TRAILING_BYTES = 13

_REASONS = {
    COUNT_BEYOND_SECTION: "the batch names more records than its bytes can hold, or less than none",
    SECTION_ENDS_EARLY: "the section ends before the record count of the batch is reached",
    FIELD_CUT_OFF: "a field is cut off",
    VARINT_TOO_LONG: "a varint is longer than its type allows",
    RECORD_LENGTH: "the record length is negative or larger than what remains",
    KEY_LENGTH: "the key length is below -1 or larger than what remains of the record",
    VALUE_LENGTH: "the value length is below -1 or larger than what remains of the record",
    HEADER_COUNT: "the header count is negative or larger than what remains of the record",
    NULL_HEADER_KEY: "a header key is null",
    HEADER_KEY_LENGTH: "a header key is longer than what remains of the record",
    HEADER_VALUE_LENGTH: "a header value length is below -1 or larger than what remains of the record",
    LENGTH_MISMATCH: "the record length does not match the record's content",
    TRAILING_BYTES: "bytes follow the last record",
}

RECORD_BYTES_MIN = 7  # length, attributes, timestamp delta, offset delta, key length, value length, header count
HEADER_BYTES_MIN = 2  # key length, value length


def invalid_record(fault: int, index: int, position: int) -> InvalidRecord:
    return InvalidRecord(f"record {index}, byte {position} of the record section: {_REASONS[fault]}")
