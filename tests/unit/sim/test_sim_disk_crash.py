"""What a crash of the simulated disk leaves: the log's own crash tests stand on this."""

import errno

import pytest

from odradek.sim.crash import KEEP_ALL, KILLED, LOSE_ALL, MIXED, CrashProfile, SimCrash
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

PAGE = 4096
SEEDS = range(60)


def made(seed=0):
    disk = SimDisk(SimRng(seed).stream("disk"))
    disk.mkdir("/data")
    disk.fsync_dir("/")
    return disk


def durable_file(disk, data=b"", path="/data/0.log"):
    file = disk.open(path, create=True)
    file.append([data])
    file.fsync()
    disk.fsync_dir("/data")
    return file


def outcomes(prepare, profile=MIXED, path="/data/0.log"):
    """The contents of a file after the same history and crashes of many seeds; None where its name is gone."""
    found = set()
    for seed in SEEDS:
        disk = made(seed)
        prepare(disk)
        found.add(disk.crash(profile).snapshot().get(path))
    return found


# Content


def test_what_was_synced_survives_everything():
    data = bytes(range(256)) * 40
    assert outcomes(lambda disk: durable_file(disk, data)) == {data}
    assert outcomes(lambda disk: durable_file(disk, data), LOSE_ALL) == {data}


def test_what_was_not_synced_is_gone_without_power_and_kept_by_a_kill():
    def history(disk):
        durable_file(disk, b"synced").append([b" not synced"])

    assert outcomes(history, LOSE_ALL) == {b"synced"}
    assert outcomes(history, KEEP_ALL) == {b"synced not synced"}


def test_what_a_kill_has_kept_may_still_be_lost_without_power():
    disk = made()
    durable_file(disk, b"synced").append([b" not synced"])
    (path,) = disk.snapshot()
    disk = disk.crash(KILLED)
    assert disk.read(path) == b"synced not synced"
    assert disk.open_files() == 0
    disk = disk.crash(LOSE_ALL)
    assert disk.read(path) == b"synced"


def test_the_second_sync_counts_too():
    def history(disk):
        file = durable_file(disk, b"one")
        file.append([b"two"])
        file.fsync()
        file.append([b"three"])

    assert outcomes(history, LOSE_ALL) == {b"onetwo"}


def test_writes_to_one_page_land_in_order():
    def history(disk):
        file = durable_file(disk, b"........")
        for number in b"1234":
            file.pwrite(bytes((number,)), number - ord("1"))

    whole_writes = CrashProfile(30, 0, 100)
    assert outcomes(history, whole_writes) == {b"........", b"1.......", b"12......", b"123.....", b"1234...."}


def test_pages_land_in_any_order():
    def history(disk):
        durable_file(disk, b"." * 3 * PAGE).pwrite(b"x" * 3 * PAGE, 0)

    found = {bytes(content[::PAGE]) for content in outcomes(history, CrashProfile(50, 0, 100))}
    assert len(found) == 8, found


def test_a_page_can_be_torn_at_either_end():
    def history(disk):
        durable_file(disk, b"." * PAGE).pwrite(b"x" * PAGE, 0)

    found = outcomes(history, CrashProfile(50, 100, 100))
    assert any(0 < content.count(b"x") < PAGE and content.startswith(b"x") for content in found)
    assert any(0 < content.count(b"x") < PAGE and content.endswith(b"x") for content in found)
    assert all(content.count(b"x") + content.count(b".") == PAGE for content in found)


def test_an_append_may_leave_a_hole_of_zeros_or_a_longer_file_than_its_data():
    def history(disk):
        file = durable_file(disk, b"synced".ljust(PAGE, b"."))
        for letter in b"abc":
            file.append([bytes((letter,)) * PAGE])

    found = outcomes(history, CrashProfile(50, 0, 100))
    shapes = {bytes(content[PAGE::PAGE]) for content in found}
    assert b"\0bc" in shapes or b"a\0c" in shapes, "a hole with valid data behind it"
    assert any(shape.endswith(b"\0") for shape in shapes), "the size came further than the data"
    assert any(len(shape) < 3 for shape in shapes), "the data came further than the size"
    assert all(content.startswith(b"synced") for content in found)


def test_a_truncation_that_did_not_land_brings_the_old_bytes_back_whole():
    def history(disk):
        file = durable_file(disk, b"o" * 2 * PAGE)
        file.truncate(PAGE)
        file.append([b"n" * PAGE])

    old, cut = b"o" * 2 * PAGE, b"o" * PAGE
    allowed = {old, cut, cut + b"\0" * PAGE, cut + b"n" * PAGE}
    found = outcomes(history, CrashProfile(50, 0, 100))
    assert found <= allowed
    assert {old, cut, cut + b"n" * PAGE} <= found


def test_a_synced_truncation_leaves_nothing_behind():
    def history(disk):
        file = durable_file(disk, b"o" * 3 * PAGE)
        file.truncate(10)
        file.pwrite(b"n", 2 * PAGE)  # jumps over a page that had old bytes
        file.fsync()

    assert outcomes(history) == {b"o" * 10 + bytes(2 * PAGE - 10) + b"n"}


def test_files_crash_independently():
    kept = set()
    for seed in SEEDS:
        disk = made(seed)
        for name in ("a", "b"):
            durable_file(disk, b"", f"/data/{name}").append([b"x"])
        after = disk.crash(CrashProfile(50, 0, 100)).snapshot()
        kept.add((after["/data/a"], after["/data/b"]))
    assert len(kept) >= 4


# Names


def test_a_created_name_vanishes_until_its_directory_is_synced():
    def created(disk):
        file = disk.open("/data/0.log", create=True)
        file.append([b"data"])
        file.fsync()

    assert outcomes(created, LOSE_ALL) == {None}
    assert outcomes(created, KEEP_ALL) == {b"data"}
    assert outcomes(created, MIXED) == {None, b"data"}

    def synced(disk):
        created(disk)
        disk.fsync_dir("/data")

    assert outcomes(synced, LOSE_ALL) == {b"data"}


def test_a_durable_name_says_nothing_about_the_content():
    def history(disk):
        disk.open("/data/0.log", create=True).append([b"data"])
        disk.fsync_dir("/data")

    assert outcomes(history, LOSE_ALL) == {b""}


def names_after(history, profile=MIXED):
    found = set()
    for seed in SEEDS:
        disk = made(seed)
        history(disk)
        found.add(tuple(disk.crash(profile).snapshot().items()))
    return found


def test_a_rename_is_done_or_undone_and_never_half():
    def history(disk):
        durable_file(disk, b"segment", "/data/0.log")
        disk.rename("/data/0.log", "/data/0.log.deleted")

    old, new = (("/data/0.log", b"segment"),), (("/data/0.log.deleted", b"segment"),)
    assert names_after(history) == {old, new}
    assert names_after(history, LOSE_ALL) == {old}


def test_a_rename_over_a_file_leaves_the_old_or_the_new_one():
    def history(disk):
        durable_file(disk, b"old", "/data/checkpoint")
        durable_file(disk, b"new", "/data/checkpoint.tmp")
        disk.rename("/data/checkpoint.tmp", "/data/checkpoint")

    assert names_after(history) == {
        (("/data/checkpoint", b"old"), ("/data/checkpoint.tmp", b"new")),
        (("/data/checkpoint", b"new"),),
    }


def test_an_unlink_is_undone_until_the_directory_is_synced():
    def history(disk):
        durable_file(disk, b"data", "/data/0.log").close()
        disk.unlink("/data/0.log")

    assert names_after(history) == {(), (("/data/0.log", b"data"),)}
    assert names_after(lambda disk: (history(disk), disk.fsync_dir("/data")), KEEP_ALL) == {()}
    assert names_after(lambda disk: (history(disk), disk.fsync_dir("/data")), LOSE_ALL) == {()}


def test_changes_of_one_name_land_in_order_and_of_two_in_any():
    def history(disk):
        for name in ("a", "b"):
            disk.open(f"/data/{name}", create=True).close()
            disk.rename(f"/data/{name}", f"/data/{name}2")

    found = {tuple(path for path, _ in names) for names in names_after(history)}
    one_of_each = {(a, b) for a in (None, "/data/a", "/data/a2") for b in (None, "/data/b", "/data/b2")}
    assert found == {tuple(path for path in pair if path) for pair in one_of_each}


def test_a_name_that_was_taken_again_does_not_hide_the_file_that_had_it_before():
    def history(disk):
        durable_file(disk, b"old", "/data/0.log")
        disk.rename("/data/0.log", "/data/0.log.deleted")
        disk.open("/data/0.log", create=True).close()

    old, moved = ("/data/0.log", b"old"), ("/data/0.log.deleted", b"old")
    assert names_after(history) == {(old,), (moved,), (("/data/0.log", b""), moved)}


def test_a_new_directory_may_vanish_with_synced_files_in_it():
    def history(disk):
        disk.mkdir("/data/topic-0")
        file = disk.open("/data/topic-0/0.log", create=True)
        file.append([b"data"])
        file.fsync()
        disk.fsync_dir("/data/topic-0")

    assert names_after(history) == {(), (("/data/topic-0/0.log", b"data"),)}
    assert names_after(lambda disk: (history(disk), disk.fsync_dir("/data")), LOSE_ALL) == {
        (("/data/topic-0/0.log", b"data"),)
    }


def test_a_file_moved_into_a_new_directory_is_never_lost():
    def history(disk):
        durable_file(disk, b"data", "/data/0.log")
        disk.mkdir("/data/new")
        disk.rename("/data/0.log", "/data/new/0.log")
        disk.fsync_dir("/data/new")

    assert names_after(history, LOSE_ALL) == {(("/data/new/0.log", b"data"),)}


def test_a_renamed_directory_keeps_or_loses_its_name_with_all_its_files():
    def history(disk):
        disk.mkdir("/data/topic-0")
        disk.fsync_dir("/data")
        durable_file(disk, b"data", "/data/topic-0/0.log")
        disk.fsync_dir("/data/topic-0")
        disk.rename("/data/topic-0", "/data/topic-0-delete")

    old, new = (("/data/topic-0/0.log", b"data"),), (("/data/topic-0-delete/0.log", b"data"),)
    assert names_after(history) == {old, new}


@pytest.mark.parametrize("nth", range(1, 8))
def test_an_atomic_write_leaves_the_old_or_the_new_content_wherever_it_crashes(nth):
    found = set()
    for seed in SEEDS:
        disk = made(seed)
        disk.write_atomically("/data/checkpoint", b"old")
        disk.crash_at(nth)
        try:
            disk.write_atomically("/data/checkpoint", b"new")
            assert nth > 6
        except SimCrash:
            assert nth <= 6
        found.add(disk.crash(MIXED).read("/data/checkpoint"))
    if nth <= 5:
        assert found == {b"old"}, "the rename has not begun"
    elif nth == 6:
        assert found == {b"old", b"new"}
    else:
        assert found == {b"new"}


# The crash itself


def test_a_dead_disk_refuses_everything_from_its_former_life():
    disk = made()
    file = durable_file(disk, b"data")
    lock = disk.lock("/data/.lock")
    after = disk.crash(KEEP_ALL)
    for operation in (
        lambda: file.append([b"x"]),
        lambda: file.pread(1, 0),
        lambda: file.pread_nowait(1, 0),
        lambda: file.fsync(),
        lambda: file.size(),
        lambda: disk.unlink("/data/0.log"),
        lambda: disk.exists("/data/0.log"),
        lambda: disk.list("/data"),
    ):
        with pytest.raises(SimCrash):
            operation()
    file.close()
    lock.release()
    assert after.read("/data/0.log") == b"data"
    after.lock("/data/.lock")


def test_no_handler_of_errors_survives_a_crash():
    assert not issubclass(SimCrash, Exception)


def test_crash_at_comes_before_the_nth_change_and_reads_do_not_count():
    disk = made()
    file = durable_file(disk, b"data")
    before = disk.operations
    disk.crash_at(2)
    file.pread(4, 0)
    disk.list("/data")
    file.append([b"+"])
    assert disk.operations == before + 1
    with pytest.raises(SimCrash, match="write /data/0"):
        file.append([b"-"])
    with pytest.raises(SimCrash):
        file.append([b"-"])
    assert disk.crash(KEEP_ALL).read("/data/0.log") == b"data+"


def test_a_crash_may_come_before_every_operation_of_a_history():
    def history(disk):
        file = disk.open("/data/0.log", create=True)
        file.append([b"a"])
        file.fsync()
        disk.fsync_dir("/data")
        file.truncate(0)
        disk.rename("/data/0.log", "/data/1.log")
        disk.unlink("/data/1.log")
        disk.mkdir("/data/x")
        disk.rmdir("/data/x")

    disk = made()
    start = disk.operations
    history(disk)
    count = disk.operations - start
    assert count == 9
    for nth in range(1, count + 1):
        disk = made()
        disk.crash_at(nth)
        with pytest.raises(SimCrash):
            history(disk)


def test_the_same_seed_crashes_the_same_way():
    def left(seed):
        disk = made(seed)
        file = durable_file(disk, b"." * 5 * PAGE)
        for number in range(50):
            file.pwrite(bytes((number,)) * 777, number * 333)
        disk.rename("/data/0.log", "/data/1.log")
        return disk.crash(MIXED).snapshot()

    assert left(3) == left(3)
    assert len({str(left(seed)) for seed in range(10)}) == 10


def test_a_clone_goes_its_own_way():
    disk = made()
    durable_file(disk, b"synced").append([b" and not"])
    clone = disk.clone()
    assert clone.crash(LOSE_ALL).read("/data/0.log") == b"synced"
    assert disk.read("/data/0.log") == b"synced and not"
    other = disk.clone(SimRng(9).stream("disk"))
    other.unlink("/data/0.log")
    assert disk.exists("/data/0.log")
    assert disk.crash(KEEP_ALL).read("/data/0.log") == b"synced and not"


def test_a_hook_before_each_operation_can_clone_the_disk_there():
    disk = made()
    states = []
    disk.before_operation = lambda kind, path: states.append((kind, disk.clone().crash(LOSE_ALL).snapshot()))
    file = disk.open("/data/0.log", create=True)
    file.append([b"x"])
    file.fsync()
    disk.fsync_dir("/data")
    disk.rename("/data/0.log", "/data/1.log")
    assert states == [
        ("create", {}),
        ("write", {}),
        ("fsync", {}),
        ("fsync_dir", {}),
        ("rename", {"/data/0.log": b"x"}),
    ]


def test_crashing_twice_is_crashing_once():
    disk = made()
    durable_file(disk, b"data").append([b"tail"])
    once = disk.crash(MIXED)
    left = once.snapshot()
    assert once.crash(MIXED).snapshot() == left


# Failing fsync


def test_a_failed_fsync_marks_pages_clean_and_the_next_one_lies():
    found = set()
    for seed in SEEDS:
        disk = made(seed)
        file = durable_file(disk, b"old".ljust(PAGE, b"."))
        file.pwrite(b"new", 0)
        disk.fail("fsync", errno.EIO)
        with pytest.raises(OSError, match="injected"):
            file.fsync()
        assert file.pread(3, 0) == b"new", "readers still see it"
        file.fsync()
        found.add(disk.crash(KEEP_ALL).read("/data/0.log")[:3])
    assert found == {b"old", b"new"}


def test_an_evicted_page_shows_what_a_failed_fsync_dropped():
    found = set()
    for seed in SEEDS:
        disk = made(seed)
        file = durable_file(disk, b"old".ljust(PAGE, b"."))
        file.pwrite(b"new", 0)
        disk.fail("fsync", errno.EIO)
        with pytest.raises(OSError, match="injected"):
            file.fsync()
        disk.evict("/data/0.log")
        found.add(file.pread(3, 0))
    assert found == {b"old", b"new"}


def test_a_page_written_again_after_a_failed_fsync_is_synced_whole():
    for seed in SEEDS:
        disk = made(seed)
        file = durable_file(disk, b"." * PAGE)
        file.pwrite(b"one", 0)
        disk.fail("fsync", errno.EIO)
        with pytest.raises(OSError, match="injected"):
            file.fsync()
        file.pwrite(b"two", 3)
        file.fsync()
        assert disk.crash(LOSE_ALL).read("/data/0.log")[:6] == b"onetwo"
