"""`kafka-dump-log.sh`: what is in segments and indexes, in the lines of Kafka's DumpLogSegments."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka.options import Given, Options, flag, value
from odradek.cli.kafka.tool import tool

if TYPE_CHECKING:
    from odradek.inspection.dump_files import DumpFile
    from odradek.reactor.ports import Disk
    from odradek.records.batch import Batch
    from odradek.records.record import Record

OPTIONS = Options(
    "kafka-dump-log.sh",
    "print what is in the files of a log",
    [
        value("files", "FILES", "with commas between: segments, indexes, snapshots of producers"),
        flag("print-data-log", "the records with their keys and values"),
        flag("deep-iteration", "the records without their keys and values"),
        flag("skip-record-metadata", "with --print-data-log: keys and values alone"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    given.require("files")
    from odradek.inspection import dump_files
    from odradek.reactor.adapters.disk import SystemDisk

    disk = SystemDisk()
    for path in given.text("files").split(","):
        print(f"Dumping {path}")
        try:
            file = dump_files.named_file(disk, path)
            if file is None:
                print(f"Ignoring unknown file {path}")
                continue
            for line in _lines(given, disk, file):
                print(line)
        except OSError as error:
            raise Refusal(f"{path}: {error.strerror}") from None
    return 0


def _lines(given: Given, disk: "Disk", file: "DumpFile") -> Iterator[str]:
    from odradek.inspection import dump_files, file_forms

    if file.kind == dump_files.SEGMENT:
        yield from _segment_lines(given, disk, file)
        return
    data = disk.read(file.path)
    if file.kind == dump_files.OFFSET_INDEX:
        entries = file_forms.offset_index(data, file.base_offset).entries
        yield from [f"offset: {offset} position: {position}" for offset, position in entries]
        if not entries:
            yield f"{file.path} is empty."
    elif file.kind == dump_files.TIME_INDEX:
        for timestamp_ms, offset in file_forms.time_index(data, file.base_offset).entries:
            yield f"timestamp: {timestamp_ms} offset: {offset}"
    elif file.kind == dump_files.TRANSACTION_INDEX:
        for each in file_forms.transaction_index(data):
            yield (
                f"version: {each.version} producerId: {each.producer_id} firstOffset: {each.first_offset} "
                f"lastOffset: {each.last_offset} lastStableOffset: {each.last_stable_offset}"
            )
    else:
        raise Refusal(f"{file.path}: files of this kind are shown by `odradek log dump`")


def _segment_lines(given: Given, disk: "Disk", file: "DumpFile") -> Iterator[str]:
    from odradek.inspection.batch_walk import BatchWalk
    from odradek.inspection.dump import SegmentReading

    with_payload = given.has("print-data-log")
    is_deep = with_payload or given.has("deep-iteration")
    opened = disk.open(file.path, writable=False)
    try:
        yield f"Log starting offset: {file.base_offset}"
        reading = SegmentReading(BatchWalk(opened), with_records=is_deep)
        for position, batch, records in reading:
            yield _batch_line(position, batch)
            for record in records:
                yield "| " + _record_line(given, batch, record, with_payload=with_payload)
        if reading.damage is not None:
            raise Refusal(f"{file.path}: damaged at {reading.damage.position}: {reading.damage.reason}")
    finally:
        opened.close()


def _flag(is_so: bool) -> str:
    return str(is_so).lower()


def _batch_line(position: int, batch: "Batch") -> str:
    from odradek.inspection.dump import TIMESTAMP_TYPES, base_offset

    horizon = batch.delete_horizon_ms
    parts = {
        "baseOffset": base_offset(batch),
        "lastOffset": batch.last_offset,
        "count": batch.count,
        "baseSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "isTransactional": _flag(batch.is_transactional),
        "isControl": _flag(batch.is_control),
        "deleteHorizonMs": "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
        "position": position,
        TIMESTAMP_TYPES[batch.timestamp_type]: batch.max_timestamp,
        "size": batch.size,
        "magic": batch.magic,
        "compresscodec": batch.codec_name,
        "crc": batch.crc,
        "isvalid": _flag(batch.is_valid),
    }
    return " ".join(f"{name}: {shown}" for name, shown in parts.items())


def _record_line(given: Given, batch: "Batch", record: "Record", *, with_payload: bool) -> str:
    from odradek.inspection.dump import TIMESTAMP_TYPES

    parts = []
    if not given.has("skip-record-metadata"):
        keys = ",".join(name for name, _ in record.headers)
        parts = [
            f"offset: {record.offset}",
            f"{TIMESTAMP_TYPES[batch.timestamp_type]}: {record.timestamp}",
            f"keySize: {_size(record.key)}",
            f"valueSize: {_size(record.value)}",
            f"sequence: {record.sequence if batch.has_sequence else -1}",
            f"headerKeys: [{keys}]",
        ]
    if batch.is_control:
        return " ".join([*parts, _control(record)])
    if with_payload:
        parts += [] if record.key is None else [f"key: {_text(record.key)}"]
        parts += [] if record.value is None else [f"payload: {_text(record.value)}"]
    return " ".join(parts)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _text(data: bytes) -> str:
    return bytes(data).decode("utf-8", "replace")


def _control(record: "Record") -> str:
    from odradek.inspection.dump import control_fields

    fields = control_fields(record)
    if "coordinator_epoch" in fields:
        return f"endTxnMarker: {fields['control_type']} coordinatorEpoch: {fields['coordinator_epoch']}"
    return f"controlType: {fields['control_type']}"
