import errno

import pytest

from odradek.sim.crash import KEEP_ALL
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng


@pytest.fixture
def disk():
    made = SimDisk(SimRng(1).stream("disk"))
    made.mkdir("/data")
    return made


@pytest.fixture
def file(disk):
    return disk.open("/data/0.log", create=True)


def refused(operation):
    with pytest.raises(OSError, match=r".") as refusal:
        operation()
    return refusal.value.errno


def test_a_full_disk_takes_what_fits_then_refuses(disk, file):
    disk.set_quota(10)
    assert file.append([b"123456"]) == 6
    assert file.append([b"7890", b"overflow"]) == 4
    assert refused(lambda: file.append([b"x"])) == errno.ENOSPC
    assert disk.free_bytes("/data") == 0
    assert file.pread(99, 0) == b"1234567890"
    assert file.pwrite(b"abc", 0) == 3, "bytes in place need no room"
    file.truncate(4)
    assert file.append([b"more"]) == 4


def test_room_comes_back_when_the_last_user_of_an_unlinked_file_is_gone(disk, file):
    disk.set_quota(10)
    file.append([b"1234567890"])
    disk.unlink("/data/0.log")
    other = disk.open("/data/1.log", create=True)
    assert refused(lambda: other.append([b"x"])) == errno.ENOSPC
    file.close()
    assert other.append([b"x"]) == 1


def test_a_replaced_file_gives_its_room_back(disk, file):
    disk.set_quota(100)
    file.append([b"x" * 50])
    file.close()
    disk.open("/data/new", create=True).close()
    disk.rename("/data/new", "/data/0.log")
    assert disk.free_bytes("/data") == 100


def test_a_full_disk_stays_full_after_a_crash(disk, file):
    disk.set_quota(10)
    file.append([b"1234567890"])
    after = disk.crash(KEEP_ALL)
    assert after.free_bytes("/data") == 0


def test_an_atomic_write_on_a_full_disk_keeps_the_old_file(disk):
    disk.write_atomically("/data/checkpoint", b"old")
    disk.set_quota(8)
    assert refused(lambda: disk.write_atomically("/data/checkpoint", b"much longer than that")) == errno.ENOSPC
    assert disk.read("/data/checkpoint") == b"old"


def test_the_nth_write_fails_and_changes_nothing(disk, file):
    disk.fail("write", errno.EIO, nth=2)
    file.append([b"one"])
    assert refused(lambda: file.append([b"two"])) == errno.EIO
    file.append([b"three"])
    assert file.pread(99, 0) == b"onethree"


def test_reads_fail_with_and_without_waiting(disk, file):
    file.append([b"data"])
    disk.fail("read", errno.EIO, times=3)
    assert refused(lambda: file.pread(4, 0)) == errno.EIO
    assert refused(lambda: file.pread_nowait(4, 0)) == errno.EIO
    assert refused(lambda: disk.read("/data/0.log")) == errno.EIO
    assert file.pread(4, 0) == b"data"


def test_one_directory_fails_for_ever_and_the_other_works(disk):
    disk.mkdir("/data2")
    disk.fail("write", errno.EIO, times=None, path="/data/")
    bad, good = disk.open("/data/a", create=True), disk.open("/data2/a", create=True)
    for _ in range(3):
        assert refused(lambda: bad.append([b"x"])) == errno.EIO
        assert good.append([b"x"]) == 1
    disk.heal()
    assert bad.append([b"x"]) == 1


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        ("create", lambda disk: disk.open("/data/new", create=True)),
        ("open", lambda disk: disk.open("/data/0.log")),
        ("rename", lambda disk: disk.rename("/data/0.log", "/data/1.log")),
        ("unlink", lambda disk: disk.unlink("/data/0.log")),
        ("mkdir", lambda disk: disk.mkdir("/data/x")),
        ("fsync_dir", lambda disk: disk.fsync_dir("/data")),
        ("list", lambda disk: disk.list("/data")),
        ("truncate", lambda disk: disk.open("/data/0.log").truncate(0)),
    ],
)
def test_every_kind_can_fail_and_does_nothing_then(disk, file, kind, operation):
    file.append([b"data"])
    before = disk.snapshot()
    disk.fail(kind, errno.EROFS)
    assert refused(lambda: operation(disk)) == errno.EROFS
    assert disk.snapshot() == before


def test_a_misspelt_kind_is_refused(disk):
    with pytest.raises(ValueError, match="no disk operation"):
        disk.fail("wriet")


def test_slowness_adds_up(disk, file):
    assert disk.busy_us == 0
    disk.slow("fsync", 1000)
    for _ in range(100):
        file.fsync()
    assert 50_000 < disk.busy_us < 200_000
    before = disk.busy_us
    file.append([b"x"])
    assert disk.busy_us == before


def test_a_flipped_bit_is_seen_and_stays(disk, file):
    file.append([b"\x00" * 10])
    file.fsync()
    disk.fsync_dir("/data")
    disk.fsync_dir("/")
    disk.flip_bit("/data/0.log", 3, bit=7)
    assert file.pread(10, 0) == b"\0\0\0\x80" + b"\0" * 6
    assert disk.crash().read("/data/0.log") == b"\0\0\0\x80" + b"\0" * 6


def test_damage_does_not_grow_a_file(disk, file):
    file.append([b"12345"])
    disk.damage("/data/0.log", 3, bytes(4096))
    assert file.pread(99, 0) == b"123\0\0"


def test_cold_pages_block_until_they_are_read_once(disk, file):
    file.append([b"x" * 10_000])
    assert file.pread_nowait(10, 0) is not None
    disk.evict()
    assert file.pread_nowait(10, 0) is not None, "dirty pages cannot be evicted"
    file.fsync()
    disk.evict()
    assert file.pread_nowait(10, 0) is None
    assert file.pread(10, 0) == b"x" * 10
    assert file.pread_nowait(10, 0) == b"x" * 10
    assert file.pread_nowait(10, 5000) is None
    assert file.pread_nowait(9000, 0) is None


def test_after_a_crash_everything_is_cold(disk, file):
    file.append([b"data"])
    after = disk.crash(KEEP_ALL).open("/data/0.log")
    assert after.pread_nowait(4, 0) is None
    after.append([b"more"])
    assert after.pread_nowait(4, 4) == b"more"


def test_now_and_then_a_page_was_evicted_meanwhile(disk, file):
    file.append([b"data"])
    disk.cold_percent = 50
    seen = [file.pread_nowait(4, 0) for _ in range(50)]
    assert set(seen) == {None, b"data"}
