"""From 64 KB up the compiled kernel lets other threads run."""

import sys
import threading
from array import array
from collections.abc import Callable, Iterator

import pytest

from odradek import native
from odradek.records.arrow import BinaryColumn
from odradek.records.rows import Rows
from threads import joined

walk = native.load_compiled("odradek.records._kernel")
gathering = native.load_compiled("odradek.records._gather")
encoding = native.load_compiled("odradek.records._encode")

ROWS = 20_000
VALUES = BinaryColumn(ROWS, array("i", range(0, 100 * ROWS + 1, 100)).tobytes(), bytes(100 * ROWS))

pytestmark = pytest.mark.skipif(
    walk is None or gathering is None or encoding is None,
    reason=f"the compiled kernel is missing: {native.why_pure()}",
)


def encode() -> bytes:
    data, _ = encoding.encode_batches(ROWS, None, VALUES, None, None, 0, (0, -1, -1, -1), 1 << 24, 1 << 24, False)
    return bytes(data)


def scanned(batch: bytes) -> Rows:
    rows = Rows()
    assert walk.scan_run(batch, 0, 0, False, -(1 << 63), rows) == len(batch)
    return rows


@pytest.fixture
def no_switching() -> Iterator[None]:
    """A thread keeps the GIL for as long as it does not give it up by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(100)
    yield
    sys.setswitchinterval(before)


def jobs() -> dict[str, Callable[[], object]]:
    batch = encode()
    rows = scanned(batch)
    segments = [(batch, 0, ROWS)]
    return {
        "check": lambda: walk.check_records(batch[61:], ROWS),
        "scan": lambda: scanned(batch),
        "gather": lambda: gathering.gather(rows.value_positions, rows.value_lengths, segments),
        "encode": encode,
    }


@pytest.mark.parametrize("name", ["check", "scan", "gather", "encode"])
def test_another_thread_runs_meanwhile(name: str, no_switching: None) -> None:
    job = jobs()[name]
    ran = threading.Event()
    seen = []

    def work() -> None:
        calls = 0
        while not ran.is_set() and calls < 500:
            job()
            calls += 1
        seen.append(ran.is_set())

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    ran.set()
    joined(worker)
    assert seen == [True]
