"""The files of a log as JSON: one object per file.

For segments and snapshots of the metadata log

    {"file", "size", "batches": [{"magic", "base_offset", ..., "records": [{"offset", "timestamp", "key", ...}]}]}

with keys, values and header values in hex; damage adds "error": {"position", "reason"} and ends the file. Indexes have
"entries" with absolute offsets, and "zero_tail", the bytes that were preallocated and never used; producer snapshots
are under "parsed"; text files are "text". A segment is written piece by piece, for one may hold a gigabyte.
"""

import json
from collections.abc import Callable, Iterator

from odradek.inspection import dump_files, file_forms
from odradek.inspection.batch_walk import ZEROS, BatchWalk
from odradek.inspection.dump_decode import Decoder
from odradek.inspection.dump_files import DumpFile
from odradek.protocol import errors
from odradek.protocol.json_value import JsonObject
from odradek.protocol.messages.producer_snapshot import ProducerEntry
from odradek.reactor.ports import Disk
from odradek.records import control
from odradek.records.batch import Batch, RecordBatch
from odradek.records.layout import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE
from odradek.records.record import Record

TIMESTAMP_TYPES = {
    NO_TIMESTAMP_TYPE: "NoTimestampType",
    CREATE_TIME: "CreateTime",
    LOG_APPEND_TIME: "LogAppendTime",
}


class Damage:
    __slots__ = ("position", "reason")

    def __init__(self, position: int, reason: str) -> None:
        self.position = position
        self.reason = reason


class SegmentReading:
    """The batches of one file with their records, up to the first damage."""

    __slots__ = ("_with_records", "damage", "walk")

    def __init__(self, walk: BatchWalk, *, with_records: bool) -> None:
        self.walk = walk
        self.damage: Damage | None = None
        self._with_records = with_records

    def __iter__(self) -> Iterator[tuple[int, Batch, list[Record]]]:
        for position, batch in self.walk:
            try:
                batch.ensure_valid()
                records = list(batch.records()) if self._with_records else []
            except errors.KafkaError as error:
                self.damage = Damage(position, str(error))
                yield position, batch, []
                return
            yield position, batch, records
        tail = self.walk.tail
        if tail.is_damage:
            self.damage = Damage(tail.position, tail.reason)

    @property
    def zero_tail(self) -> int:
        return self.walk.tail.size if self.walk.tail.kind == ZEROS else 0


def json_pieces(disk: Disk, file: DumpFile, decoder: Decoder | None = None) -> Iterator[tuple[str, bool]]:
    """The object in pieces of text, each with whether the file has turned out to be damaged."""
    if file.kind == dump_files.SEGMENT:
        yield from _segment_pieces(disk, file, decoder)
        return
    form: JsonObject = {"file": file.name, "size": file.size}
    try:
        form |= _OBJECTS[file.kind](disk.read(file.path), file)
    except file_forms.MalformedFile as error:
        form["error"] = {"position": error.position, "reason": error.reason}
    yield json.dumps(form), "error" in form


def _segment_pieces(disk: Disk, file: DumpFile, decoder: Decoder | None) -> Iterator[tuple[str, bool]]:
    opened = disk.open(file.path, writable=False)
    try:
        reading = SegmentReading(BatchWalk(opened), with_records=True)
        yield f'{{"file": {json.dumps(file.name)}, "size": {reading.walk.size}, "batches": [', False
        separator = ""
        for _, batch, records in reading:
            yield separator + json.dumps(batch_object(batch, records, decoder)), False
            separator = ", "
        damage = reading.damage
        if damage is None:
            yield "]}", False
        else:
            yield f'], "error": {json.dumps({"position": damage.position, "reason": damage.reason})}}}', True
    finally:
        opened.close()


def batch_object(batch: Batch, records: list[Record], decoder: Decoder | None = None) -> JsonObject:
    form: JsonObject = {
        "magic": batch.magic,
        "base_offset": base_offset(batch),
        "last_offset": batch.last_offset,
        "next_offset": batch.next_offset,
        "size": batch.size,
        "partition_leader_epoch": batch.partition_leader_epoch,
        "compression": batch.codec_name,
        "timestamp_type": TIMESTAMP_TYPES[batch.timestamp_type],
        "max_timestamp": batch.max_timestamp,
    }
    if isinstance(batch, RecordBatch):
        form |= _magic_2_fields(batch)
    form |= {"crc": batch.crc, "valid": batch.is_valid, "count": batch.count}
    form["records"] = [record_object(batch, record, decoder) for record in records]
    return form


def _magic_2_fields(batch: RecordBatch) -> JsonObject:
    return {
        "attributes": batch.attributes,
        "last_offset_delta": batch.last_offset_delta,
        "base_timestamp": batch.base_timestamp,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "last_sequence": batch.last_sequence,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "delete_horizon_ms": batch.delete_horizon_ms,
    }


def base_offset(batch: Batch) -> int | None:
    """None if it lies inside compressed data that cannot be read."""
    try:
        return batch.base_offset
    except errors.KafkaError:
        return None


def record_object(batch: Batch, record: Record, decoder: Decoder | None = None) -> JsonObject:
    form: JsonObject = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _hex(record.key),
        "value": _hex(record.value),
        "size": record.size_bytes,
    }
    if batch.has_sequence:
        form["sequence"] = record.sequence
    form["headers"] = [[key, _hex(value)] for key, value in record.headers]
    if batch.is_control:
        form |= control_fields(record)
    elif decoder is not None:
        form["decoded"] = decoder.decode(record).form()
    return form


def control_fields(record: Record) -> JsonObject:
    try:
        control_type = control.control_type(record.key)
        form: JsonObject = {"control_type": control.NAMES[control_type]}
        if control_type in (control.ABORT, control.COMMIT):
            form["coordinator_epoch"] = control.coordinator_epoch(record.value)
    except errors.KafkaError as error:
        return {"control_type": str(error)}
    return form


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def _index_object(index: file_forms.SparseIndex) -> JsonObject:
    form: JsonObject = {"entries": [list(entry) for entry in index.entries], "zero_tail": index.zero_tail}
    if index.odd_bytes:
        form["odd_bytes"] = index.odd_bytes
    return form


def _snapshot_object(data: bytes) -> JsonObject:
    snapshot = file_forms.producer_snapshot(data)
    entries = [producer_object(entry) for entry in snapshot.entries]
    parsed = {"version": file_forms.SNAPSHOT_VERSION, "crc": snapshot.crc, "crc_ok": snapshot.crc_ok}
    form: JsonObject = {"parsed": parsed | {"entries": entries}}
    if not snapshot.crc_ok:
        form["error"] = {"position": 2, "reason": "the crc is not that of the bytes that follow"}
    return form


def producer_object(entry: ProducerEntry) -> dict[str, int]:
    return {
        "producer_id": entry.producer_id,
        "producer_epoch": entry.epoch,
        "last_sequence": entry.last_sequence,
        "last_offset": entry.last_offset,
        "offset_delta": entry.offset_delta,
        "timestamp": entry.timestamp,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_first_offset": entry.current_txn_first_offset,
    }


_OBJECTS: dict[str, Callable[[bytes, DumpFile], JsonObject]] = {
    dump_files.OFFSET_INDEX: lambda data, file: _index_object(file_forms.offset_index(data, file.base_offset)),
    dump_files.TIME_INDEX: lambda data, file: _index_object(file_forms.time_index(data, file.base_offset)),
    dump_files.TRANSACTION_INDEX: lambda data, _: {
        "entries": [entry._asdict() for entry in file_forms.transaction_index(data)]
    },
    dump_files.PRODUCER_SNAPSHOT: lambda data, _: _snapshot_object(data),
    dump_files.TEXT: lambda data, _: {"text": data.decode("utf-8", "replace")},
}
