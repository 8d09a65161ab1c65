"""Batches that Kafka wrote: scanned into the records that Kafka read from them, and built again to the same bytes."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek import native
from odradek.records import kernel, layout, pure_encode, pure_gather, pure_walk
from odradek.records.batch import RecordBatch
from odradek.records.build import BatchIdentity, build
from odradek.records.columns import Columns, scan

DATA = Path(__file__).parent / "data"
PURE = (pure_walk, pure_gather, pure_encode)


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    for version in ("3.3.2", "4.3.0"):
        with gzip.open(DATA / f"records-batches-{version}.jsonl.gz", "rt") as lines:
            for line in lines:
                case = json.loads(line)
                yield f"{version} {case['case']}", case


CASES = dict(cases())


def is_as_produced(case: dict[str, Any]) -> bool:
    """No broker and no cleaner has changed it since a producer wrote it."""
    batch = RecordBatch(bytes.fromhex(case["hex"]))
    changed = layout.TIMESTAMP_TYPE_MASK | layout.CONTROL_MASK | layout.DELETE_HORIZON_MASK
    return not batch.attributes & changed and batch.last_offset_delta == batch.count - 1


REBUILT = [name for name, case in CASES.items() if "magic2-none-" in name and is_as_produced(case)]


@pytest.fixture(params=["compiled", "pure"], autouse=True)
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for (extension, names), twin in zip(kernel.COMPILED.items(), PURE, strict=True):
        module = native.load_compiled(extension) if request.param == "compiled" else twin
        if module is None:
            pytest.skip(f"the compiled kernel is missing: {native.why_pure()}")
        for name in names:
            monkeypatch.setattr(kernel, name, getattr(module, name))


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def rows_of(columns: Columns) -> list[tuple[Any, ...]]:
    gathered = columns.keys().to_list(), columns.values().to_list(), columns.headers().to_list()
    return list(zip(columns.offsets(), columns.timestamps(), *gathered, strict=True))


def test_the_data_is_there() -> None:
    assert len(CASES) > 400
    assert len(REBUILT) > 20


@pytest.mark.parametrize("name", CASES)
def test_scan_reads_what_kafka_read(name: str) -> None:
    expected = [
        (
            record["offset"],
            record["timestamp"],
            unhex(record["key"]),
            unhex(record["value"]),
            [(key.encode(), unhex(value)) for key, value in record["headers"]],
        )
        for batch in CASES[name]["batches"]
        for record in batch["records"]
    ]
    assert rows_of(scan(bytes.fromhex(CASES[name]["hex"]), keep_control=True)) == expected


@pytest.mark.parametrize("name", REBUILT)
def test_build_writes_what_kafka_wrote(name: str) -> None:
    written = bytes.fromhex(CASES[name]["hex"])
    batch = RecordBatch(written)
    columns = scan(written)
    built = build(
        columns.values(),
        keys=columns.keys(),
        headers=columns.headers(),
        timestamps=columns.timestamps(),  # type: ignore[arg-type]
        default_timestamp=0,
        identity=BatchIdentity(batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.is_transactional),
        batch_bytes_max=1 << 20,
    )
    assert bytes(built.data)[layout.MAGIC_OFFSET :] == written[layout.MAGIC_OFFSET :]
