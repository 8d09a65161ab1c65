"""Whoever reads a log through the manager: failures are told before they are raised, cold bytes are brought first."""

from errno import EIO

import pytest

from log_kit import batch
from odradek.log.failure import LogDamaged, LogDirFailure, NotInCache
from odradek.log.manager.reading import SENDFILE_BYTES_MIN, bytes_of, content_of, read, read_or_bring
from odradek.log.read import HIGH_WATERMARK, LOG_END
from odradek.reactor.file_range import FileRange
from odradek.replica.roles import DAMAGED, DIR_FAILED
from replica_kit import SimPlane

LARGE = SENDFILE_BYTES_MIN + 1000


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic()
    made.produce("a", "b")
    return made


class File:
    """A file whose bytes are not in the page cache, or whose disk fails."""

    def __init__(self, file, error=None):
        self._file = file
        self._error = error

    def pread_nowait(self, size, position):
        if self._error is not None:
            raise self._error
        return

    def __getattr__(self, name):
        return getattr(self._file, name)


def users(plane):
    return plane.log().active.file._users


def fetched(plane, isolation=HIGH_WATERMARK):
    return read(plane.logs, plane.log(), 0, 1 << 24, isolation)


@pytest.mark.parametrize("take", [content_of, bytes_of])
def test_the_bytes_of_a_small_range(plane, take):
    before = users(plane)
    records = fetched(plane).records
    assert len(take(plane.logs, records)) == plane.log().size
    assert users(plane) == before


def test_a_large_range_stays_in_its_file_unless_bytes_are_wanted(plane):
    plane.produce("x" * LARGE)
    assert len(bytes_of(plane.logs, fetched(plane).records)) > LARGE
    before = users(plane)
    kept = content_of(plane.logs, fetched(plane).records)
    assert type(kept) is FileRange and users(plane) == before + 1
    kept.release()


@pytest.mark.parametrize("size", [10, LARGE])
@pytest.mark.parametrize("take", [content_of, bytes_of])
def test_what_is_not_in_the_page_cache_is_not_waited_for(plane, take, size):
    plane.produce("x" * size)
    records, before = fetched(plane).records, users(plane)
    file = plane.log().active.file
    file.disk_file, warm = File(file.disk_file), file.disk_file
    with pytest.raises(NotInCache) as cold:
        take(plane.logs, records)
    file.disk_file = warm
    assert (cold.value.position, cold.value.size) == (records.position, plane.log().size)
    assert users(plane) == before - 1


@pytest.mark.parametrize("size", [10, LARGE])
@pytest.mark.parametrize("take", [content_of, bytes_of])
def test_a_disk_that_cannot_be_read_is_told(plane, take, size):
    plane.produce("x" * size)
    records = fetched(plane).records
    file = plane.log().active.file
    file.disk_file = File(file.disk_file, OSError(EIO, "for a test"))
    with pytest.raises(LogDirFailure):
        plane.on_reactor(lambda: take(plane.logs, records))
    assert plane.partition().role is DIR_FAILED


def test_damage_is_told(plane, monkeypatch):
    def damaged(log, *rest):
        raise LogDamaged("for a test", log.directory)

    monkeypatch.setattr("odradek.log.read.read", damaged)
    with pytest.raises(LogDamaged):
        plane.on_reactor(lambda: fetched(plane))
    assert plane.partition().role is DAMAGED


def test_cold_records_are_brought_and_asked_for_again(plane, monkeypatch):
    log = plane.log()
    from odradek.log import read as log_read

    really = log_read.read
    asked = []

    def cold_once(log, *rest):
        asked.append(rest)
        if len(asked) == 1:
            raise NotInCache(log.active.file, 0, log.size)
        return really(log, *rest)

    monkeypatch.setattr(log_read, "read", cold_once)
    assert plane.run(read_or_bring(plane.logs, log, 0, 1000, LOG_END)) is None
    found = plane.run(read_or_bring(plane.logs, log, 0, 1000, LOG_END))
    assert found.records.size == log.size
    found.records.release()
    plane.produce(records=batch(b"c"))
    assert len(asked) == 2
