"""Record batches beside aiokafka's compiled codec, kafka-python and kio: the same records, in the same run.

One partition's fetch of about 1 MB, records of 100-byte values without keys, in batches of 16 KB (a producer's default)
and in one batch. The peers give and take one Python object per record; ours gives and takes columns, and both
check or write the CRC. A ratio above 1 means that ours is faster. Run with `python -m bench.records`.

Memory is warm: every contender runs before the clock does, and 1 MB outputs come from the allocator's heap again and
again. Where the time goes, per record and on a machine where the ratios hold: a scan is about half walking and noting
positions, a third copying values, the rest the CRC; a build is a third sizing, half writing, the rest the CRC.
"""

import io
from array import array
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from aiokafka.record._crecords.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record._crecords.default_records import DefaultRecordBatchBuilder as AioBuilder
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kio.records import readers as kio_readers
from kio.records import schema as kio_schema
from kio.records import writers as kio_writers

from bench.measure import best_seconds
from odradek import native
from odradek.records import kernel, pure_encode, pure_gather, pure_walk
from odradek.records.arrow import BinaryColumn
from odradek.records.build import BatchBuilder, build
from odradek.records.columns import scan
from odradek.records.layout import HEADER_SIZE
from odradek.records.rows import Rows

ROWS = 9000
VALUE = bytes(range(100))
VALUES = [VALUE] * ROWS
FIRST_MS = 1_700_000_000_000
TIMES = [FIRST_MS + row // 10 for row in range(ROWS)]
TIMES_COLUMN = array("q", TIMES)
COLUMN = BinaryColumn(ROWS, array("i", range(0, 100 * ROWS + 1, 100)).tobytes(), VALUE * ROWS)

Contenders = dict[str, Callable[[], object]]


def main() -> None:
    reason = native.why_pure()
    print(f"kernel: {'compiled' if reason is None else f'pure Python ({reason})'}\n")
    print(f"{'':46}{'ns/record':>10}{'M records/s':>13}   slower than ours by")
    for batch_bytes in (16384, 1 << 20):
        batches = list(built(batch_bytes))
        report(f"scan, {len(batches)} batches", reading(batches), ROWS)
        report(f"build, {len(batches)} batches", writing(batch_bytes, batches), ROWS)
    report("append, one batch of 16 KB", appending(), rows_in_16_kb())
    report("check one batch of 1 MB", checking(bytes(next(iter(built(1 << 20))))), ROWS)


def report(title: str, contenders: Contenders, rows: int) -> None:
    seconds = best_seconds(contenders)
    ours = next(iter(seconds.values()))
    twin = next((value for name, value in seconds.items() if name == "pure twin"), None)
    for name, taken in seconds.items():
        ratio = f"{taken / ours:9.1f}x" if taken is not ours else ""
        if twin and name == "kafka-python":
            ratio += f"   (than the pure twin: {taken / twin:.1f}x)"
        print(f"{f'{title}: {name}':46}{taken / rows * 1e9:10.1f}{rows / taken / 1e6:13.2f}{ratio}")
    print()


def built(batch_bytes: int) -> Any:
    return build(
        COLUMN,
        timestamps=TIMES_COLUMN,
        default_timestamp=FIRST_MS,
        batch_bytes_max=batch_bytes,
        request_bytes_max=1 << 24,
    )


def reading(batches: list[memoryview]) -> Contenders:
    pieces = [bytes(batch) for batch in batches]
    buffer = b"".join(pieces)
    return {
        "odradek": lambda: scan_to_columns(buffer),
        "pure twin": lambda: pure_scan_to_columns(buffer),
        "aiokafka": lambda: [read_objects(AioBatch, piece) for piece in pieces],
        "kafka-python": lambda: [read_objects(KafkaPythonBatch, piece) for piece in pieces],
        "kio": lambda: [kio_readers.read_batch(piece, 0) for piece in pieces],
    }


def scan_to_columns(buffer: bytes) -> object:
    columns = scan(buffer)
    return columns.offsets(), columns.timestamps(), columns.keys(), columns.values(), columns.headers()


def pure_scan_to_columns(buffer: bytes) -> object:
    rows = Rows()
    pure_walk.scan_run(buffer, 0, 0, True, pure_walk.INT64_MIN, rows)
    segments = [(buffer, 0, len(rows))]
    keys = pure_gather.gather(rows.key_positions, rows.key_lengths, segments)
    return rows, keys, pure_gather.gather(rows.value_positions, rows.value_lengths, segments)


def read_objects(batch_type: Any, piece: bytes) -> object:
    batch = batch_type(piece)
    if not batch.validate_crc():
        raise ValueError("crc")
    return list(batch)


def writing(batch_bytes: int, batches: list[memoryview]) -> Contenders:
    counts = [int.from_bytes(batch[57:61], "big") for batch in batches]
    kio_records = kio_batches(counts)
    return {
        "odradek": lambda: built(batch_bytes),
        "pure twin": lambda: pure_build(batch_bytes),
        "aiokafka": lambda: write_objects(AioBuilder, counts),
        "kafka-python": lambda: write_objects(KafkaPythonBuilder, counts),
        "kio": lambda: [kio_writers.write_new_batch(io.BytesIO(), batch) for batch in kio_records],
    }


def pure_build(batch_bytes: int) -> object:
    return pure_encode.encode_batches(
        ROWS, None, COLUMN, None, TIMES_COLUMN, FIRST_MS, (0, -1, -1, -1), batch_bytes, 1 << 24, True
    )


def write_objects(builder_type: Any, counts: list[int]) -> object:
    out = []
    row = 0
    for count in counts:
        builder = builder_type(2, 0, 0, -1, -1, -1, 1 << 24)
        append = builder.append
        for index in range(count):
            append(index, TIMES[row], None, VALUE, [])
            row += 1
        out.append(builder.build())
    return out


def kio_batches(counts: list[int]) -> list[Any]:
    moment = datetime.fromtimestamp(FIRST_MS // 1000, UTC)
    record = [
        kio_schema.Record(attributes=0, timestamp=moment, offset=index, key=None, value=VALUE, headers=())
        for index in range(max(counts))
    ]
    return [
        kio_schema.NewRecordBatch(
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            attributes=0,
            records=tuple(record[:count]),
        )
        for count in counts
    ]


def rows_in_16_kb() -> int:
    return len(filled(BatchBuilder()))


def appending() -> Contenders:
    rows = rows_in_16_kb()
    return {
        "odradek": lambda: filled(BatchBuilder()).build(),
        "pure twin": lambda: filled(pure_encode.RecordsWriter(16384)).seal(0, -1, -1, -1),
        "aiokafka": lambda: write_objects(AioBuilder, [rows]),
        "kafka-python": lambda: write_objects(KafkaPythonBuilder, [rows]),
    }


def filled(builder: Any) -> Any:
    append = builder.append
    for timestamp in TIMES:
        if not append(timestamp, None, VALUE):
            break
    return builder


def checking(batch: bytes) -> Contenders:
    body = batch[HEADER_SIZE:]
    return {
        "odradek": lambda: kernel.check_records(body, ROWS),
        "pure twin": lambda: pure_walk.check_records(body, ROWS),
        "aiokafka": lambda: read_objects(AioBatch, batch),
        "kafka-python": lambda: read_objects(KafkaPythonBatch, batch),
    }


if __name__ == "__main__":
    main()
