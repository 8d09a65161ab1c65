"""scan: batches of every kind into columns, and what is left out of them."""

import struct
import zlib

import pytest

from odradek.protocol import errors
from odradek.records import compression, layout
from odradek.records.build import BatchBuilder, BatchIdentity
from odradek.records.columns import Columns, scan
from odradek.records.crc import crc32c

pytestmark = pytest.mark.usefixtures("executor")

TIME = 1_700_000_000_000


def batch(
    base_offset: int,
    values: list[bytes | None],
    *,
    identity: BatchIdentity | None = None,
    codec: int = 0,
    attributes: int = 0,
    leader_epoch: int = 7,
    key: bytes | None = None,
) -> bytes:
    builder = BatchBuilder(1 << 20, codec)
    for index, value in enumerate(values):
        assert builder.append(TIME + index, key, value)
    out = bytearray(builder.build(identity or BatchIdentity()))
    struct.pack_into(">q", out, 0, base_offset)
    struct.pack_into(">i", out, layout.LEADER_EPOCH_OFFSET, leader_epoch)
    return sealed(out, attributes)


def sealed(out: bytearray, attributes: int = 0) -> bytes:
    (old,) = struct.unpack_from(">h", out, layout.ATTRIBUTES_OFFSET)
    struct.pack_into(">h", out, layout.ATTRIBUTES_OFFSET, old | attributes)
    struct.pack_into(">I", out, layout.CRC_OFFSET, crc32c(memoryview(out)[layout.ATTRIBUTES_OFFSET :]))
    return bytes(out)


def transactional(producer_id: int, base_offset: int, values: list[bytes | None]) -> bytes:
    return batch(base_offset, values, identity=BatchIdentity(producer_id, 0, 0, True))


def marker(producer_id: int, offset: int, control_type: int) -> bytes:
    identity = BatchIdentity(producer_id, 3, -1, True)
    key = struct.pack(">hh", 0, control_type)
    return batch(offset, [bytes(6)], identity=identity, attributes=layout.CONTROL_MASK, key=key)


def message(offset: int, value: bytes | None, magic: int = 1) -> bytes:
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", TIME) if magic else b"")
    body += struct.pack(">i", -1) + (struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value)
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def values_of(columns: Columns) -> list[bytes | None]:
    return columns.values().to_list()


def test_batches_become_one_set_of_columns() -> None:
    buffer = batch(10, [b"a", None]) + batch(20, [b"c"], key=b"k")
    columns = scan(buffer)
    assert len(columns) == 3
    assert columns.offsets().tolist() == [10, 11, 20]
    assert columns.timestamps().tolist() == [TIME, TIME + 1, TIME]
    assert values_of(columns) == [b"a", None, b"c"]
    assert columns.keys().to_list() == [None, None, b"k"]
    assert columns.headers().to_list() == [[], [], []]
    assert (columns.next_offset, columns.end_position) == (21, len(buffer))


def test_batch_facts() -> None:
    first, second = scan(batch(10, [b"a", b"b"]) + transactional(44, 12, [b"c"])).batches()
    assert (first.first_row, first.base_offset, first.last_offset, first.leader_epoch) == (0, 10, 11, 7)
    assert (first.producer_id, first.producer_epoch, first.attributes) == (-1, -1, 0)
    assert (second.first_row, second.producer_id, second.attributes) == (2, 44, layout.TRANSACTIONAL_MASK)


def test_nothing_from_nothing() -> None:
    columns = scan(b"")
    assert (len(columns), columns.next_offset, columns.end_position) == (0, None, 0)
    assert values_of(columns) == []


def test_a_cut_off_batch_is_left_for_the_next_fetch() -> None:
    first, second = batch(0, [b"a"]), batch(1, [b"b" * 200])
    for cut in range(len(first), len(first) + len(second)):
        columns = scan((first + second)[:cut])
        assert (values_of(columns), columns.end_position, columns.next_offset) == ([b"a"], len(first), 1)


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_every_codec(codec: int) -> None:
    buffer = batch(0, [b"x" * 500, None, b""], codec=codec) + batch(3, [b"plain"]) + batch(4, [b"y"], codec=codec)
    columns = scan(buffer)
    assert values_of(columns) == [b"x" * 500, None, b"", b"plain", b"y"]
    assert columns.offsets().tolist() == [0, 1, 2, 3, 4]


def test_decompression_is_bounded_over_the_whole_scan() -> None:
    piece = batch(0, [b"x" * 10_000], codec=compression.GZIP)
    assert len(scan(piece * 3, limit_bytes=31_000)) == 3
    with pytest.raises(errors.RecordListTooLarge):
        scan(piece * 4, limit_bytes=31_000)


def test_append_time_replaces_every_timestamp() -> None:
    out = bytearray(batch(0, [b"a", b"b"]))
    struct.pack_into(">q", out, layout.MAX_TIMESTAMP_OFFSET, TIME + 99)
    for buffer in (sealed(out, layout.TIMESTAMP_TYPE_MASK), sealed(out, layout.TIMESTAMP_TYPE_MASK) * 2):
        assert set(scan(buffer).timestamps()) == {TIME + 99}


def test_from_offset_skips_records_inside_a_batch() -> None:
    columns = scan(batch(0, [b"a", b"b", b"c"]) + batch(3, [b"d"], codec=compression.LZ4), from_offset=2)
    assert columns.offsets().tolist() == [2, 3]
    assert values_of(columns) == [b"c", b"d"]
    assert len(scan(batch(0, [b"a"]), from_offset=1)) == 0


@pytest.mark.contract("B103")
def test_control_records_are_listed_apart() -> None:
    columns = scan(transactional(5, 0, [b"a"]) + marker(5, 1, 1) + batch(2, [b"b"]))
    assert values_of(columns) == [b"a", b"b"]
    (control,) = columns.control_records
    assert (control.offset, control.producer_id, control.producer_epoch, control.type) == (1, 5, 3, 1)
    assert columns.next_offset == 3


def test_a_marker_at_the_end_still_moves_the_next_offset() -> None:
    assert scan(batch(0, [b"a"]) + marker(5, 1, 1)).next_offset == 2


def test_control_records_can_be_kept() -> None:
    columns = scan(marker(5, 9, 0), keep_control=True)
    assert columns.keys().to_list() == [b"\0\0\0\0"]
    assert columns.control_records == []


@pytest.mark.contract("B97", "B100", "B103")
def test_read_committed_skips_aborted_transactions_only() -> None:
    buffer = b"".join(
        [
            transactional(1, 0, [b"aborted"]),
            transactional(2, 1, [b"committed"]),
            batch(2, [b"plain"]),
            transactional(1, 3, [b"aborted too"]),
            marker(1, 4, 0),
            transactional(1, 5, [b"next, committed"]),
            marker(1, 6, 1),
            marker(2, 7, 1),
            transactional(2, 8, [b"second aborted"]),
            marker(2, 9, 0),
        ]
    )
    columns = scan(buffer, aborted=[(2, 8), (1, 0)])
    assert values_of(columns) == [b"committed", b"plain", b"next, committed"]
    assert columns.next_offset == 10
    assert len(scan(buffer)) == 6  # read_uncommitted


@pytest.mark.contract("B97")
def test_read_committed_leaves_idempotent_batches_alone() -> None:
    idempotent = batch(1, [b"kept"], identity=BatchIdentity(1, 0, 0))
    assert values_of(scan(transactional(1, 0, [b"gone"]) + idempotent, aborted=[(1, 0)])) == [b"kept"]


def test_old_magics_are_scanned_too() -> None:
    buffer = message(3, b"zero", magic=0) + message(4, None) + batch(5, [b"two"])
    columns = scan(buffer)
    assert columns.offsets().tolist() == [3, 4, 5]
    assert columns.timestamps().tolist() == [-1, TIME, TIME]
    assert values_of(columns) == [b"zero", None, b"two"]
    assert columns.headers().to_list() == [[], [], []]


def test_a_flipped_bit_is_corrupt() -> None:
    for buffer in (batch(0, [b"a" * 50]), batch(0, [b"a" * 50], codec=compression.ZSTD), message(0, b"a" * 50)):
        damaged = bytearray(buffer)
        damaged[-3] ^= 4
        with pytest.raises(errors.CorruptMessage):
            scan(bytes(damaged))


def test_without_crc_check_the_bytes_are_taken_as_they_are() -> None:
    damaged = bytearray(batch(0, [b"aaa"]))
    damaged[-2] = ord("b")
    assert values_of(scan(bytes(damaged), check_crc=False)) == [b"aab"]


def test_records_that_do_not_parse_are_invalid_even_with_the_right_crc() -> None:
    out = bytearray(batch(0, [b"a"]))
    out[layout.HEADER_SIZE] = 0x7E
    with pytest.raises(errors.InvalidRecord, match="record 0, byte 0"):
        scan(sealed(out))


def test_good_batches_before_a_bad_one_can_be_kept() -> None:
    good, bad = batch(0, [b"a"]), bytearray(batch(1, [b"b"]))
    bad[-2] ^= 1
    columns = scan(good + bytes(bad) + good, keep_good=True)
    assert values_of(columns) == [b"a"]
    assert (columns.end_position, columns.next_offset) == (len(good), 1)
    assert isinstance(columns.error, errors.CorruptMessage)


def test_a_hostile_count_allocates_nothing() -> None:
    out = bytearray(batch(0, [b"a"]))
    struct.pack_into(">i", out, layout.RECORD_COUNT_OFFSET, 2**31 - 1)
    with pytest.raises(errors.InvalidRecord, match="more records than its bytes can hold"):
        scan(sealed(out))
    empty = bytearray(out[: layout.HEADER_SIZE])
    struct.pack_into(">i", empty, layout.LENGTH_OFFSET, layout.HEADER_SIZE - layout.LOG_OVERHEAD)
    with pytest.raises(errors.InvalidRecord):
        scan(sealed(empty))


@pytest.mark.parametrize(("length", "magic"), [(-1, 2), (13, 0), (48, 2), (60, 3)])
def test_lengths_and_magics_that_cannot_be(length: int, magic: int) -> None:
    out = bytearray(batch(0, [b"a"]))
    struct.pack_into(">i", out, layout.LENGTH_OFFSET, length)
    out[layout.MAGIC_OFFSET] = magic
    with pytest.raises(errors.CorruptMessage):
        scan(bytes(out))


def test_columns_hold_their_source_and_own_their_gathered_bytes() -> None:
    buffer = bytearray(batch(0, [b"before"]))
    columns = scan(buffer)
    gathered = columns.values()
    buffer[:] = bytes(len(buffer))
    assert gathered.to_list() == [b"before"]
    with pytest.raises(BufferError):
        buffer.clear()  # the scan still points into it


def test_a_source_that_changes_under_its_columns_is_reported() -> None:
    builder = BatchBuilder()
    builder.append(TIME, None, b"v", [("h", b"x")])
    buffer = bytearray(builder.build())
    columns = scan(buffer)
    buffer[layout.HEADER_SIZE :] = b"\xff" * (len(buffer) - layout.HEADER_SIZE)
    with pytest.raises(RuntimeError, match="changed since"):
        columns.headers()
