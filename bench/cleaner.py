"""Compaction of a log, beside the same rules as a plain Python loop and beside the pure twins, in the same run.

Values of 100 and of 1,000 bytes, half of them noise, keys of 20, in batches of 16 KB and of one record, plain and lz4;
every key is written four times, so that a quarter of the records is left. MB/s counts the bytes of the log once, though
compaction reads them twice: for the key map, and to copy what is left. Of a compressed log there are two figures: its
bytes as they lie on the disk, and the bytes of the same batches without compression, which is what is looked at. CPU
time is what tells on a machine that others use too; the wall clock has the wait for the disk's syncs in it. The loop is
what one would write over `RecordBatch.records()` with a dict, without files; ours reads and writes files and syncs
them. Run with `python -m bench.cleaner`.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from odradek import native
from odradek.log.cleaner import clean_batches, cleaned_segment, cleaner_kernel, key_map, pure_cleaner
from odradek.log.cleaner.clean_job import CleanTask, begin_round, clean_group
from odradek.log.config import LogConfig
from odradek.reactor.adapters.disk import SystemDisk
from odradek.records.batch import batches
from odradek.records.compression import LZ4, NONE
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

BATCH_BYTES = 16384
SEGMENTS = 4
SECRET = bytes(16)
NOW_MS = 1_700_000_000_000
ROUNDS = 3
GOAL_MB = 100
FIELDS = BatchFields(partition_leader_epoch=0)
CASES = (
    ("100 B", 100, NONE, BATCH_BYTES),
    ("1 KB", 1000, NONE, BATCH_BYTES),
    ("100 B, one per batch", 100, NONE, 1),
    ("100 B, lz4", 100, LZ4, BATCH_BYTES),
)


class Case:
    """A log of sealed segments in a directory of its own."""

    def __init__(
        self, directory: Path, name: str, value_bytes: int, log_bytes: int, codec: int, batch_bytes: int
    ) -> None:
        self.directory = directory / name.replace(" ", "-")
        self.directory.mkdir()
        self.name = name
        self.records = log_bytes // (value_bytes + 30)
        self.segments: list[tuple[int, int]] = []
        self.next_offset = 0
        self.uncompressed_bytes = 0
        random = Random(7)
        keys = [f"key-{number:016d}".encode() for number in range(self.records // 4)]
        self.per_batch = max(1, batch_bytes // (value_bytes + 30))
        for _ in range(SEGMENTS):
            self._write_segment(random, keys, value_bytes, codec)

    def _write_segment(self, random: Random, keys: list[bytes], value_bytes: int, codec: int) -> None:
        base_offset = self.next_offset
        per_batch = self.per_batch
        with (self.directory / f"{base_offset:020d}.log").open("wb") as file:
            while self.next_offset < base_offset + self.records // SEGMENTS:
                batch = [
                    Record(self.next_offset + i, random.choice(keys), half_noise(random, value_bytes), NOW_MS + i)
                    for i in range(per_batch)
                ]
                plain = record_batch(batch, FIELDS)
                file.write(plain if codec == NONE else record_batch(batch, FIELDS, codec=codec))
                self.uncompressed_bytes += len(plain)
                self.next_offset += per_batch
            self.segments.append((base_offset, file.tell()))

    @property
    def size_bytes(self) -> int:
        return sum(size for _, size in self.segments)

    def task(self) -> CleanTask:
        return CleanTask(
            str(self.directory),
            self.segments,
            first_dirty_offset=0,
            first_uncleanable_offset=self.next_offset,
            config=LogConfig.default(),
            now_ms=NOW_MS,
            secret=SECRET,
        )


def compact(case: Case) -> dict[str, float]:
    """Wall and CPU seconds of each step; the files are removed again."""
    disk = SystemDisk()
    steps = {}
    started, busy = time.perf_counter(), time.process_time()
    round_ = finished(begin_round(disk, case.task()))
    steps["map"] = time.perf_counter() - started
    copying = time.perf_counter()
    for group in round_.groups:
        finished(clean_group(disk, round_, group))
    steps["copy"] = time.perf_counter() - copying
    steps["wall"] = time.perf_counter() - started
    steps["cpu"] = time.process_time() - busy
    for path in case.directory.glob("*.cleaned"):
        path.unlink()
    return steps


def loop(case: Case) -> dict[str, float]:
    busy = time.process_time()
    data = [(case.directory / f"{base:020d}.log").read_bytes() for base, _ in case.segments]
    latest: dict[bytes | None, int] = {}
    for segment in data:
        for batch in batches(segment):
            latest |= {record.key: record.offset for record in batch.records()}
    written = 0
    for segment in data:
        for batch in batches(segment):
            kept = [record for record in batch.records() if latest[record.key] == record.offset]
            if kept:
                written += len(record_batch(kept, codec=batch.compression))
    return {"cpu": time.process_time() - busy}


def half_noise(random: Random, size: int) -> bytes:
    return random.randbytes(size // 2) + bytes(size - size // 2)


def finished(job: Any) -> Any:
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


@contextmanager
def pure() -> Iterator[None]:
    """The jobs on the pure twins."""
    twins = {"KeyMap": key_map.KeyMap, "index_keys": pure_cleaner.index_keys}
    twins |= {"filter_batches": pure_cleaner.filter_batches, "SparseIndexes": pure_cleaner.SparseIndexes}
    from odradek.log.cleaner import clean_job

    users = {"KeyMap": clean_job, "index_keys": clean_batches, "filter_batches": clean_batches}
    users["SparseIndexes"] = cleaned_segment
    before = {name: getattr(module, name) for name, module in users.items()}
    for name, module in users.items():
        setattr(module, name, twins[name])
    try:
        yield
    finally:
        for name, module in users.items():
            setattr(module, name, before[name])


def best(work: Callable[[Case], dict[str, float]], case: Case, rounds: int = ROUNDS) -> dict[str, float]:
    """The least of each step over the rounds."""
    taken = [work(case) for _ in range(rounds)]
    return {step: min(steps[step] for steps in taken) for step in taken[0]}


def report(case: Case, small: Case) -> None:
    ours = best(compact, case)
    mb = case.size_bytes / 1e6
    print(
        f"{case.name:22}{mb / ours['cpu']:6.0f} MB per CPU second, {mb / ours['wall']:5.0f} MB/s"
        f"{ours['cpu'] / case.next_offset * 1e9:7.0f} ns/record"
        f"   (map {mb / ours['map']:.0f} MB/s, copy {mb / ours['copy']:.0f} MB/s)"
    )
    if case.uncompressed_bytes != case.size_bytes:
        whole_mb = case.uncompressed_bytes / 1e6
        print(
            f"{'  uncompressed':22}{whole_mb / ours['cpu']:6.0f} MB per CPU second, {whole_mb / ours['wall']:5.0f} MB/s"
            f"   of records that lie there in 1/{whole_mb / mb:.1f} of their size"
        )
    small_cpu = best(compact, small)["cpu"]
    with pure():
        twin = best(compact, small, 1)["cpu"]
    plain = best(loop, small, 1)["cpu"]
    print(
        f"{'':22}{plain / small_cpu:6.1f}x a plain loop ({small.size_bytes / 1e6 / plain:.1f} MB/s), "
        f"{twin / small_cpu:.1f}x the pure twin, in CPU time on {small.size_bytes / 1e6:.0f} MB"
    )


def main() -> None:
    reason = native.why_pure()
    serving = cleaner_kernel.KeyMap.__module__
    print(f"kernel: {'compiled' if reason is None else f'pure Python ({reason})'} ({serving}); goal {GOAL_MB} MB/s\n")
    with tempfile.TemporaryDirectory() as root:
        for name, value_bytes, codec, batch_bytes in CASES:
            case = Case(Path(root), name, value_bytes, 64 << 20, codec, batch_bytes)
            report(case, Case(Path(root), f"{name} small", value_bytes, 4 << 20, codec, batch_bytes))


if __name__ == "__main__":
    main()
