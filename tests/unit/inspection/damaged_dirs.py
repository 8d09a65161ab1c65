"""Copies of log dirs that Kafka left, to be damaged, and what the verifier finds in them."""

import os
import shutil
import struct
from pathlib import Path

import pytest

from logdirs import CLEAN, UNCLEAN, unpack
from odradek.inspection.findings import ERROR
from odradek.inspection.verify_dir import verify_dir
from odradek.protocol.messages.producer_snapshot import ProducerSnapshot
from odradek.reactor.adapters.disk import SystemDisk
from odradek.records import layout
from odradek.records.batch import batches
from odradek.records.crc import crc32c

DIR = "kafka-3.3.2-kraft-clean"
UNCLEAN_DIR = "kafka-3.3.2-kraft-unclean"
FIRST = "00000000000000000000"


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    where = tmp_path_factory.mktemp("originals")
    return {name: unpack(name, where) for name in CLEAN + UNCLEAN}


@pytest.fixture
def log_dir(originals, tmp_path):
    return Path(shutil.copytree(originals[DIR], tmp_path / "log"))


@pytest.fixture
def unclean_dir(originals, tmp_path):
    return Path(shutil.copytree(originals[UNCLEAN_DIR], tmp_path / "log"))


def check(directory):
    """The findings, and the summary that the job returns."""
    found = []
    job = verify_dir(SystemDisk(), str(directory), found.append)
    while True:
        try:
            assert next(job) > 0
        except StopIteration as end:
            return found, end.value


def errors_of(directory):
    found, summary = check(directory)
    errors = [finding for finding in found if finding.severity == ERROR]
    assert summary.errors == len(errors)
    return errors


def only_error(directory, rule, file, position):
    errors = errors_of(directory)
    assert [(error.rule, error.file, error.position) for error in errors] == [(rule, file, position)], errors
    return errors[0].message


def patch(path, position, data):
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


def positions(path):
    """Where each batch of a segment begins."""
    found, at = [], 0
    for batch in batches(path.read_bytes()):
        found.append(at)
        at += batch.size
    return found


def reframed(path, at, change):
    """Changes one batch and gives it the crc of its new bytes, as a mistaken writer would."""
    content = bytearray(path.read_bytes())
    (length,) = layout.LENGTH.unpack_from(content, at + layout.LENGTH_OFFSET)
    piece = memoryview(content)[at : at + layout.LOG_OVERHEAD + length]
    change(piece)
    layout.CRC.pack_into(piece, layout.CRC_OFFSET, crc32c(piece[layout.ATTRIBUTES_OFFSET :]))
    path.write_bytes(content)


def write_snapshot(path, entries):
    """As old as the file was, if there was one: producers are missed only where they wrote shortly before it."""
    times = path.stat() if path.exists() else None
    snapshot = ProducerSnapshot(crc=0, producer_entries=entries)
    body = snapshot.to_bytes(1)[4:]
    path.write_bytes(struct.pack(">hI", 1, crc32c(body)) + body)
    if times is not None:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def read_snapshot(path):
    return ProducerSnapshot.decode(path.read_bytes(), 1, 2).producer_entries
