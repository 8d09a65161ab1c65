"""The log: appends beside a C loop that does the same to the disk, reads, loading.

append    a checked batch of about 100 bytes, offsets and leader epoch included; the check is shown beside it
1 MB      batches of 1 MB from bytes to file, beside `crc32c + write` in C
read      at a random offset of a warm segment, down to the range that is sent
load      10,000 partitions after a clean stop
"""

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from bench.measure import best_seconds
from odradek.log.append import CLIENT, append_checked
from odradek.log.config import LogConfig
from odradek.log.failure import NotInCache
from odradek.log.flush import flush_job
from odradek.log.loading.load import load_log
from odradek.log.log import Log
from odradek.log.read import read_ahead
from odradek.log.roll import maybe_roll
from odradek.log.storage import Storage
from odradek.reactor.adapters.disk import SystemDisk
from odradek.reactor.adapters.rng import SystemRng
from odradek.records.check import check
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

NOW = 1_700_000_000_000
PARTITIONS = 10_000
MB = 1 << 20

C_LOOP = r"""
#include <fcntl.h>
#include <nmmintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned crc32c(const unsigned char *p, size_t n) {
    unsigned long long crc = 0xffffffff;
    for (; n >= 8; n -= 8, p += 8) { unsigned long long word; memcpy(&word, p, 8); crc = _mm_crc32_u64(crc, word); }
    for (; n; n--, p++) crc = _mm_crc32_u8((unsigned)crc, *p);
    return (unsigned)crc ^ 0xffffffff;
}

int main(int argc, char **argv) {
    size_t size = strtoul(argv[2], 0, 10), count = strtoul(argv[3], 0, 10);
    unsigned char *data = malloc(size);
    unsigned sum = 0;
    memset(data, 'x', size);
    int fd = open(argv[1], O_CREAT | O_TRUNC | O_WRONLY, 0644);
    clock_t start = clock();
    for (size_t i = 0; i < count; i++) {
        sum += crc32c(data, size);
        if (write(fd, data, size) != (ssize_t)size) return 1;
    }
    printf("%f %u\n", (double)(clock() - start) / CLOCKS_PER_SEC, sum);
    return 0;
}
"""


def run(job):
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


class Bench:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = SystemDisk()
        self.storage = Storage(self.disk, SystemRng())
        self.config = LogConfig.default()

    def load(self, name, *, clean=True, recovery_point=0):
        directory = self.root / name
        directory.mkdir(exist_ok=True)
        loaded = run(
            load_log(
                self.disk,
                str(directory),
                name,
                self.config,
                had_clean_shutdown=clean,
                recovery_point=recovery_point,
                log_start_offset=0,
                now_ms=NOW,
            )
        )
        return Log(self.storage, loaded, self.config, NOW)

    def close(self, log):
        plan = log.begin_close(NOW)
        run(flush_job(self.disk, plan))
        log.closed(plan)


def batch(size):
    return bytearray(record_batch([Record(0, b"k", b"x" * (size - 70), NOW)], BatchFields()))


def small_appends_and_reads(bench):
    log = bench.load("small-0")
    data = batch(100)
    checked = check(data, log.rules, NOW)

    def check_it():
        data[0:8] = bytes(8)
        return check(data, log.rules, NOW)

    file = maybe_roll(log, 0, NOW, 0, NOW).file.disk_file
    other = bench.disk.open(f"{file.path}.bare", create=True)
    best = best_seconds(
        {
            "append": lambda: append_checked(log, checked, 0, NOW, CLIENT),
            "check": check_it,
            "bare write": lambda: other.append((data,)),
        }
    )
    print(f"append of a checked batch of {len(data)} bytes  {best['append'] * 1e6:6.2f} µs   (goal < 4 µs)")
    print(f"  the bare write call                    {best['bare write'] * 1e6:6.2f} µs")
    print(f"  the check of its records               {best['check'] * 1e6:6.2f} µs")
    log.update_high_watermark(log.log_end_offset)
    offsets = [random.randrange(log.log_end_offset) for _ in range(10_000)]
    turn = iter(())

    def read():
        nonlocal turn
        offset = next(turn, None)
        if offset is None:
            turn = iter(offsets)
            offset = next(turn)
        try:
            log.read(offset, MB).records.release()
        except NotInCache:
            read_warm(log, offset)  # a busy machine has dropped the page

    seconds = best_seconds({"read": read})["read"]
    print(f"read at a random offset                  {seconds * 1e6:6.2f} µs   (goal < 10 µs)")
    end_offset = log.log_end_offset
    log.roll(NOW)
    bench.close(log)
    log = bench.load("small-0", recovery_point=end_offset)
    log.update_high_watermark(end_offset)
    for offset in offsets:  # the first read of a range checks it
        read_warm(log, offset)
    seconds = best_seconds({"read": read})["read"]
    print(f"  in a sealed segment after a restart    {seconds * 1e6:6.2f} µs")
    bench.close(log)


def read_warm(log, offset):
    while True:
        try:
            return log.read(offset, MB).records.release()
        except NotInCache as cold:
            log.note_checked(run(read_ahead(cold)))


def c_loop_seconds(bench, size, count):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, program = bench.root / "loop.c", bench.root / "loop"
    source.write_text(C_LOOP)
    built = subprocess.run([compiler, "-O3", "-msse4.2", "-o", program, source], capture_output=True)
    if built.returncode:
        return None
    command = [program, bench.root / "loop.out", str(size), str(count)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (bench.root / "loop.out").unlink()
    return float(out.split()[0])


def append(log: Log, data: bytearray, now_ms: int) -> None:
    """As the leader of a partition does: the records are checked, then appended."""
    append_checked(log, check(data, log.rules, now_ms), 0, now_ms, CLIENT)


def large_appends(bench, count=64):
    data = batch(MB)
    ours, theirs = [], []
    for number in range(5):
        log = bench.load(f"large-{number}")
        log.update_config(bench.config.replace(max_message_bytes=2 * MB))
        started = time.process_time()
        for _ in range(count):
            data[0:8] = bytes(8)
            append(log, data, NOW)
        ours.append(time.process_time() - started)
        log.abandon()
        shutil.rmtree(bench.root / f"large-{number}")
        c_loop = c_loop_seconds(bench, len(data), count)
        if c_loop is not None:
            theirs.append(c_loop)
    rate = count / min(ours)
    if not theirs:
        print(f"append of 1 MB batches  {rate:8.0f} MB/s   (no C compiler to compare with)")
        return
    print(
        f"append of 1 MB batches  {rate:8.0f} MB/s, {min(theirs) / min(ours):.0%} of crc32c + write in C   (goal 80 %)"
    )


def many_partitions(bench):
    for number in range(PARTITIONS):
        log = bench.load(f"many-{number}")
        append(log, batch(100), NOW)
        log.active.complete_indexes()
        log.abandon()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    some = [bench.load(f"many-{number}", recovery_point=1) for number in range(500)]
    memory = (tracemalloc.get_traced_memory()[0] - before) / len(some)
    tracemalloc.stop()
    started, cpu = time.perf_counter(), time.process_time()
    logs = [bench.load(f"many-{number}", recovery_point=1) for number in range(PARTITIONS)]
    taken, cpu = time.perf_counter() - started, time.process_time() - cpu
    print(f"load of {PARTITIONS} partitions  {taken:6.2f} s, {cpu:.2f} s of CPU   (goal < 5 s)")
    print(f"  memory of an idle partition  {memory:6.0f} bytes   (goal < 4096), open files {len(bench.storage.files)}")
    assert all(log.log_end_offset == 1 for log in logs)


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as root:
        bench = Bench(Path(root))
        small_appends_and_reads(bench)
        large_appends(bench)
        many_partitions(bench)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


if __name__ == "__main__":
    sys.exit(main())
