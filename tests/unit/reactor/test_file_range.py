import errno

import pytest

from odradek.broken_rule import BrokenRuleError
from odradek.reactor.file_range import File, FileCache
from odradek.sim.disk import SimDisk


@pytest.fixture
def disk():
    made = SimDisk()
    for name in "abcd":
        made.open(f"/{name}", create=True).append([name.encode() * 10])
    return made


def is_closed(disk_file):
    try:
        disk_file.size()
    except OSError as error:
        return error.errno == errno.EBADF
    return False


def test_a_file_closes_when_its_last_user_lets_go(disk):
    file = File(disk.open("/a"))
    part = file.range(2, 5)
    assert (part.position, part.size) == (2, 5)
    file.release()
    assert part.disk_file.pread(part.size, part.position) == b"aaaaa"
    part.release()
    part.release()
    assert is_closed(file.disk_file)
    assert not file.is_open


def test_a_closed_file_is_not_taken_up_again(disk):
    file = File(disk.open("/a"))
    file.release()
    with pytest.raises(BrokenRuleError, match="closed"):
        file.acquire()
    with pytest.raises(BrokenRuleError, match="more often"):
        file.release()


def test_a_range_forgets_what_was_sent(disk):
    part = File(disk.open("/a")).range(2, 5)
    part.skip(3)
    assert (part.position, part.size) == (5, 2)
    with pytest.raises(BrokenRuleError):
        part.skip(3)
    part.release()
    with pytest.raises(BrokenRuleError, match="released"):
        part.disk_file  # noqa: B018


def test_the_cache_opens_once_and_puts_out_the_least_recently_used(disk):
    cache = FileCache(disk, limit=2)
    opened = {}
    for name in ("a", "b", "a", "c"):
        file = cache.get(f"/{name}")
        assert opened.setdefault(name, file) is file
        file.release()
    assert len(cache) == 2
    assert cache.get_if_open("/b") is None
    assert is_closed(opened["b"].disk_file)
    assert not is_closed(opened["a"].disk_file)
    cache.close()
    assert all(is_closed(file.disk_file) for file in opened.values())


def test_a_file_in_use_is_put_out_but_not_closed(disk):
    cache = FileCache(disk, limit=1)
    file = cache.get("/a")
    part = file.range(0, 10)
    file.release()
    cache.get("/b").release()
    assert len(cache) == 1
    assert part.disk_file.pread(1, 0) == b"a"
    part.release()
    assert is_closed(file.disk_file)


def test_a_forgotten_file_is_opened_anew(disk):
    cache = FileCache(disk, limit=5)
    old = cache.get("/a")
    cache.forget("/a")
    cache.forget("/a")
    disk.unlink("/a")
    disk.open("/a", create=True).append([b"new"])
    new = cache.get("/a")
    assert new is not old
    assert new.disk_file.pread(9, 0) == b"new"
    assert old.disk_file.pread(9, 0) == b"aaaaaaaaa"


def test_of_two_files_opened_by_jobs_the_first_stays(disk):
    cache = FileCache(disk, limit=5)
    first, second = disk.open("/a"), disk.open("/a")
    kept = cache.add("/a", first)
    assert cache.add("/a", second) is kept
    assert is_closed(second)
    kept.release()
    kept.release()
    assert not is_closed(first), "the cache still has it"
