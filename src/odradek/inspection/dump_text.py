"""The files of a log for people: a title per file, a table line per batch or entry, records indented below their batch.

Every cell is one word, `-` where Kafka has -1 or nothing, so that the lines can be cut by a script as well. Keys and
values are quoted text where they are text, otherwise hex: a log may hold anything, and a terminal obeys some of it.
"""

import json
from collections.abc import Iterator, Sequence

from odradek.inspection import dump_files, file_forms
from odradek.inspection.batch_walk import BatchWalk
from odradek.inspection.dump import TIMESTAMP_TYPES, SegmentReading, base_offset, control_fields, producer_object
from odradek.inspection.dump_decode import Decoder, control_message
from odradek.inspection.dump_files import DumpFile
from odradek.protocol import errors
from odradek.reactor.ports import Disk
from odradek.records.batch import Batch
from odradek.records.record import Record

Column = tuple[str, int]  # its title, and how wide it is at least

BATCH_COLUMNS: tuple[Column, ...] = (
    ("position", 10),
    ("first", 8),
    ("last", 8),
    ("count", 6),
    ("size", 8),
    ("magic", 5),
    ("codec", 6),
    ("time", 13),
    ("timestamp", 13),
    ("epoch", 5),
    ("producer", 8),
    ("prod.epoch", 10),
    ("seq.first", 9),
    ("seq.last", 8),
    ("crc", 10),
    ("flags", 0),
)
OFFSET_INDEX_COLUMNS: tuple[Column, ...] = (("offset", 10), ("position", 10))
TIME_INDEX_COLUMNS: tuple[Column, ...] = (("timestamp", 13), ("offset", 10))
ABORTED_COLUMNS: tuple[Column, ...] = (
    *(("version", 7), ("producer", 8), ("first", 10), ("last", 10)),
    ("last.stable", 11),
)
PRODUCER_COLUMNS: tuple[Column, ...] = (
    *(("producer", 8), ("prod.epoch", 10), ("seq.last", 8), ("last", 10), ("offset.delta", 12), ("timestamp", 13)),
    *(("coord.epoch", 11), ("txn.first", 9)),
)


def text_lines(
    disk: Disk, file: DumpFile, *, with_records: bool, decoder: Decoder | None = None
) -> Iterator[tuple[str, bool]]:
    """The lines, each with whether it reports damage."""
    yield f"{file.name}: {file.kind}, {file.size} bytes", False
    if file.kind == dump_files.SEGMENT:
        yield from _segment_lines(disk, file, with_records, decoder)
        return
    try:
        for line in _entry_lines(disk.read(file.path), file):
            yield f"  {line}", False
    except file_forms.MalformedFile as error:
        yield _damage(error.position, error.reason), True


def _damage(position: int, reason: str) -> str:
    return f"  DAMAGED at {position}: {reason}"


def _segment_lines(
    disk: Disk, file: DumpFile, with_records: bool, decoder: Decoder | None
) -> Iterator[tuple[str, bool]]:
    opened = disk.open(file.path, writable=False)
    try:
        reading = SegmentReading(BatchWalk(opened), with_records=with_records)
        if reading.walk.size:
            yield _titles(BATCH_COLUMNS), False
        for position, batch, records in reading:
            yield _batch_line(position, batch), False
            for record in records:
                yield _record_line(batch, record, decoder), False
        if reading.zero_tail:
            yield f"  {reading.zero_tail} bytes of zeros from {reading.walk.tail.position} on", False
        if reading.damage is not None:
            yield _damage(reading.damage.position, reading.damage.reason), True
    finally:
        opened.close()


def _titles(columns: Sequence[Column]) -> str:
    return "  " + " ".join(title.rjust(width) for title, width in columns).rstrip()


def _row(columns: Sequence[Column], cells: Sequence[object]) -> str:
    return " ".join(_cell(value).rjust(width) for value, (_, width) in zip(cells, columns, strict=True)).rstrip()


def _cell(value: object) -> str:
    return "-" if value is None or value == -1 else str(value)


def _batch_line(position: int, batch: Batch) -> str:
    cells = (
        *(position, base_offset(batch), batch.last_offset, batch.count, batch.size, batch.magic),
        *(batch.codec_name.replace(" ", "-"), TIMESTAMP_TYPES[batch.timestamp_type], batch.max_timestamp),
        *(batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch),
        *(batch.base_sequence, batch.last_sequence, batch.crc, _flags(batch)),
    )
    return "  " + _row(BATCH_COLUMNS, cells)


def _flags(batch: Batch) -> str:
    flags = []
    if batch.is_transactional:
        flags.append("transactional")
    if batch.is_control:
        flags.append("control")
    if batch.delete_horizon_ms is not None:
        flags.append(f"delete-horizon={batch.delete_horizon_ms}")
    if not batch.is_valid:
        flags.append("INVALID")
    return ",".join(flags) or "-"


def _record_line(batch: Batch, record: Record, decoder: Decoder | None) -> str:
    parts = [f"offset={record.offset}", f"{TIMESTAMP_TYPES[batch.timestamp_type]}={record.timestamp}"]
    if batch.has_sequence:
        parts.append(f"sequence={record.sequence}")
    if batch.is_control:
        parts += _control_parts(record)
    else:
        parts += _payload_parts(record, decoder)
    if record.headers:
        shown = ", ".join(f"{_shown(_raw(key))}: {_shown(value)}" for key, value in record.headers)
        parts.append(f"headers={{{shown}}}")
    return "      " + " ".join(parts)


def _raw(header_key: str) -> bytes:
    return header_key.encode("utf-8", "surrogateescape")


def _payload_parts(record: Record, decoder: Decoder | None) -> list[str]:
    plain = [f"key={_shown(record.key)}", f"value={_shown(record.value)}"]
    if decoder is None:
        return plain
    decoded = decoder.decode(record)
    if decoded.problem is not None:
        return [*plain, f"({decoded.problem})"]
    parts = [] if decoded.key is None else [f"key={_compact(decoded.key)}"]
    return [*parts, f"value={_compact(decoded.value)}"]


def _control_parts(record: Record) -> list[str]:
    parts = [f"{name}={value}" for name, value in control_fields(record).items()]
    try:
        message = control_message(record)
    except errors.KafkaError:
        message = None
    return parts if message is None else [*parts, f"value={_compact(message)}"]


def _compact(form: object) -> str:
    text = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    return text if text.isprintable() else json.dumps(form, separators=(",", ":"))


def _shown(data: bytes | None) -> str:
    if data is None:
        return "null"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{data.hex()}"
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else f"0x{data.hex()}"


def _entry_lines(data: bytes, file: DumpFile) -> Iterator[str]:
    if file.kind == dump_files.OFFSET_INDEX:
        yield from _index_lines(OFFSET_INDEX_COLUMNS, file_forms.offset_index(data, file.base_offset))
    elif file.kind == dump_files.TIME_INDEX:
        yield from _index_lines(TIME_INDEX_COLUMNS, file_forms.time_index(data, file.base_offset))
    elif file.kind == dump_files.TRANSACTION_INDEX:
        yield from _table(ABORTED_COLUMNS, file_forms.transaction_index(data))
    elif file.kind == dump_files.PRODUCER_SNAPSHOT:
        yield from _snapshot_lines(data)
    else:
        yield from data.decode("utf-8", "backslashreplace").splitlines()


def _table(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    if rows:
        yield _titles(columns).removeprefix("  ")
    for row in rows:
        yield _row(columns, row)


def _index_lines(columns: Sequence[Column], index: file_forms.SparseIndex) -> Iterator[str]:
    yield from _table(columns, index.entries)
    if index.zero_tail:
        yield f"{index.zero_tail} bytes of zeros follow, preallocated"
    if index.odd_bytes:
        yield f"{index.odd_bytes} bytes at the end are too few for an entry"


def _snapshot_lines(data: bytes) -> Iterator[str]:
    snapshot = file_forms.producer_snapshot(data)
    yield from _table(PRODUCER_COLUMNS, [tuple(producer_object(entry).values()) for entry in snapshot.entries])
    if not snapshot.crc_ok:
        raise file_forms.MalformedFile("the crc is not that of the bytes that follow", 2)
