"""Whatever bytes are in the files of a log dir, the tools say what they found and never fall over."""

import io
import json
import shutil
from contextlib import redirect_stdout

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logdirs import unpack
from odradek.cli.main import main
from odradek.inspection.findings import ERROR
from odradek.inspection.verify_dir import verify_dir
from odradek.reactor.adapters.disk import SystemDisk

KEPT = ["__cluster_metadata-0", "__consumer_offsets-0", "txn-0", "gzip-0", "compacted-0"]
SEGMENTS = (".log", ".checkpoint")


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory):
    directory = unpack("kafka-4.3.0-kraft-clean", tmp_path_factory.mktemp("hostile"))
    for path in directory.iterdir():
        if path.is_dir() and path.name not in KEPT:
            shutil.rmtree(path)
    return directory


@st.composite
def damages(draw):
    """Which file, and what becomes of its bytes."""
    which = draw(st.integers(0, 10_000))
    at = draw(st.integers(0, 100_000))
    piece = draw(st.one_of(st.binary(max_size=12), st.sampled_from([b"\xff" * 8, bytes(64), b"\x7f\xff\xff\xff"])))
    how = draw(st.sampled_from(["overwrite", "insert", "cut", "replace"]))

    def damage(data):
        place = at % (len(data) + 1)
        if how == "replace":
            return piece * 3
        return data[:place] + (b"" if how == "cut" else piece + data[place + len(piece) * (how == "overwrite") :])

    return which, damage


def findings_of(directory):
    found = []
    for _ in verify_dir(SystemDisk(), str(directory), found.append):
        pass
    return found


def dumped(directory, *options):
    out = io.StringIO()
    with redirect_stdout(out):
        status = main(["log", "dump", str(directory), *options])
    return status, out.getvalue()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged=damages())
def test_any_bytes_in_any_file(log_dir, damaged):
    which, damage = damaged
    files = sorted(path for path in log_dir.rglob("*") if path.is_file())
    path = files[which % len(files)]
    before = path.read_bytes()
    after = damage(before)
    path.write_bytes(after)
    try:
        found = findings_of(log_dir)
        status, out = dumped(log_dir, "--json", "--all")
        assert len([json.loads(line) for line in out.splitlines()]) > 50
        text_status, _ = dumped(log_dir, "--decode", "metadata")
    finally:
        path.write_bytes(before)
    assert status == text_status
    if status == 1 and path.suffix in SEGMENTS:
        assert any(finding.severity == ERROR for finding in found), "the dump knows more than the verifier"


def test_every_flipped_bit_of_a_segment_is_found(log_dir):
    """L2: no bit of a log is left unguarded, but for those before the crc, which other rules hold."""
    path = log_dir / "txn-0" / "00000000000000000029.log"
    before = path.read_bytes()
    missed = []
    try:
        for at in range(len(before)):
            after = bytearray(before)
            after[at] ^= 1 << at % 8
            path.write_bytes(after)
            if not any(finding.severity == ERROR for finding in findings_of_partition(path.parent)):
                missed.append(at)
    finally:
        path.write_bytes(before)
    assert missed == []


def findings_of_partition(directory):
    from odradek.inspection.findings import Report
    from odradek.inspection.verify_partition import Checkpoints, PartitionCheck

    found = []
    check = PartitionCheck(
        SystemDisk(),
        str(directory),
        directory.name,
        "txn",
        Report(found.append),
        Checkpoints(),
        is_clean=True,
        producer_expiration_ms=86_400_000,
    )
    for _ in check.run():
        pass
    return found
