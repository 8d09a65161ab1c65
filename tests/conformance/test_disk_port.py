import errno

import pytest


@pytest.fixture
def disk(ports):
    return ports.disk


@pytest.fixture
def at(outside):
    return lambda name: f"{outside.root}/{name}"


def put(disk, path, data):
    file = disk.open(path, create=True)
    assert file.append([data]) == len(data)
    file.close()


def refuses(number):
    class Refusal:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, _):
            assert isinstance(error, OSError), f"no OSError but {error!r}"
            assert error.errno == number, errno.errorcode[error.errno]
            return True

    return Refusal()


def test_appends_go_to_the_end_in_order(disk, at):
    file = disk.open(at("a.log"), create=True)
    assert file.append([b"one", bytearray(b"two"), memoryview(b"three")]) == 11
    assert file.append([b"four"]) == 4
    assert file.size() == 15
    assert file.pread(100, 0) == b"onetwothreefour"
    assert file.path == at("a.log")


def test_an_append_takes_more_parts_than_one_system_call(disk, at):
    file = disk.open(at("a.log"), create=True)
    parts = [bytes((i % 256,)) * 3 for i in range(2500)]
    assert file.append(parts) == 7500
    assert file.pread(8000, 0) == b"".join(parts)


def test_two_handles_append_to_the_same_end(disk, at):
    one, two = disk.open(at("a.log"), create=True), disk.open(at("a.log"))
    one.append([b"one"])
    two.append([b"two"])
    one.append([b"three"])
    assert disk.read(at("a.log")) == b"onetwothree"


def test_pwrite_changes_bytes_in_place_and_append_still_finds_the_end(disk, at):
    file = disk.open(at("a.log"), create=True)
    file.append([b"0123456789"])
    assert file.pwrite(b"abc", 2) == 3
    file.append([b"!"])
    assert file.pread(20, 0) == b"01abc56789!"


def test_a_write_past_the_end_leaves_zeros(disk, at):
    file = disk.open(at("a.log"), create=True)
    file.pwrite(b"x", 4)
    assert file.pread(9, 0) == b"\0\0\0\0x"


def test_reads_stop_at_the_end(disk, at):
    file = disk.open(at("a.log"), create=True)
    file.append([b"0123456789"])
    assert file.pread(4, 3) == b"3456"
    assert file.pread(100, 8) == b"89"
    assert file.pread(5, 10) == b""
    assert file.pread(5, 99) == b""


def test_what_was_just_written_is_read_without_waiting(disk, at):
    file = disk.open(at("a.log"), create=True)
    file.append([b"0123456789" * 1000])
    assert file.pread_nowait(10, 9990) == b"0123456789"
    assert file.pread_nowait(100, 9995) == b"56789"
    assert file.pread_nowait(5, 10_000) == b""


def test_truncate_cuts_and_the_next_append_goes_there(disk, at):
    file = disk.open(at("a.log"), create=True)
    file.append([b"0123456789"])
    file.truncate(4)
    assert file.size() == 4
    file.append([b"x"])
    assert file.pread(20, 0) == b"0123x"


def test_a_handle_for_reading_does_not_write(disk, at):
    put(disk, at("a.log"), b"data")
    file = disk.open(at("a.log"), writable=False)
    with refuses(errno.EBADF):
        file.append([b"x"])
    assert file.pread(9, 0) == b"data"


def test_a_closed_file_is_refused_and_closes_twice(disk, at):
    file = disk.open(at("a.log"), create=True)
    file.close()
    file.close()
    with refuses(errno.EBADF):
        file.pread(1, 0)
    with refuses(errno.EBADF):
        file.append([b"x"])


def test_open_makes_a_file_only_when_told_to(disk, at):
    with refuses(errno.ENOENT):
        disk.open(at("a.log"))
    assert not disk.exists(at("a.log"))
    put(disk, at("a.log"), b"data")
    assert disk.open(at("a.log"), create=True).size() == 4
    with refuses(errno.ENOENT):
        disk.open(at("missing/a.log"), create=True)


def test_a_directory_is_no_file(disk, at):
    disk.mkdir(at("topic-0"))
    for writable in (True, False):
        with refuses(errno.EISDIR):
            disk.open(at("topic-0"), writable=writable)
    with refuses(errno.EISDIR):
        disk.read(at("topic-0"))


def test_mkdir_makes_parents_and_may_be_repeated(disk, at):
    disk.mkdir(at("one/two/three"))
    disk.mkdir(at("one/two/three"))
    assert disk.is_dir(at("one/two"))
    assert disk.list(at("one/two")) == ["three"]
    put(disk, at("file"), b"")
    with refuses(errno.EEXIST):
        disk.mkdir(at("file"))


def test_names_are_listed_sorted(disk, at):
    for name in ("b", "a", "c"):
        put(disk, at(name), b"")
    assert disk.list(at("")) == ["a", "b", "c"]
    with refuses(errno.ENOENT):
        disk.list(at("missing"))
    with refuses(errno.ENOTDIR):
        disk.list(at("a"))


def test_rename_replaces_and_moves_directories_with_their_files(disk, at):
    put(disk, at("new"), b"new")
    put(disk, at("old"), b"old")
    disk.rename(at("new"), at("old"))
    assert disk.read(at("old")) == b"new"
    assert disk.list(at("")) == ["old"]
    disk.mkdir(at("topic-0"))
    put(disk, at("topic-0/0.log"), b"records")
    disk.rename(at("topic-0"), at("topic-0-delete"))
    assert disk.read(at("topic-0-delete/0.log")) == b"records"
    with refuses(errno.ENOENT):
        disk.rename(at("topic-0"), at("elsewhere"))
    with refuses(errno.EISDIR):
        disk.rename(at("old"), at("topic-0-delete"))
    disk.mkdir(at("empty"))
    with refuses(errno.ENOTEMPTY):
        disk.rename(at("empty"), at("topic-0-delete"))


def test_an_open_file_survives_rename_and_unlink(disk, at):
    put(disk, at("a.log"), b"data")
    file = disk.open(at("a.log"))
    disk.rename(at("a.log"), at("a.log.deleted"))
    disk.unlink(at("a.log.deleted"))
    assert file.pread(9, 0) == b"data"
    assert disk.list(at("")) == []


def test_unlink_and_rmdir_refuse_what_they_are_not_for(disk, at):
    disk.mkdir(at("topic-0"))
    put(disk, at("topic-0/0.log"), b"")
    with refuses(errno.ENOTEMPTY):
        disk.rmdir(at("topic-0"))
    with refuses(errno.EISDIR):
        disk.unlink(at("topic-0"))
    with refuses(errno.ENOTDIR):
        disk.rmdir(at("topic-0/0.log"))
    with refuses(errno.ENOENT):
        disk.unlink(at("missing"))
    disk.unlink(at("topic-0/0.log"))
    disk.rmdir(at("topic-0"))
    assert not disk.exists(at("topic-0"))


@pytest.mark.contract("G28")
def test_a_small_file_is_replaced_as_a_whole(disk, at):
    disk.write_atomically(at("checkpoint"), b"first")
    disk.write_atomically(at("checkpoint"), b"2nd")
    assert disk.read(at("checkpoint")) == b"2nd"
    assert disk.list(at("")) == ["checkpoint"]


def test_what_died_half_way_does_not_get_into_the_next_write(disk, at):
    put(disk, at("checkpoint.tmp"), b"left over from a crash")
    disk.write_atomically(at("checkpoint"), b"new")
    assert disk.read(at("checkpoint")) == b"new"


def test_sizes_times_and_free_space(disk, ports, at):
    put(disk, at("a.log"), b"12345")
    assert disk.size(at("a.log")) == 5
    assert abs(disk.mtime_ms(at("a.log")) - ports.clock.wall_ms()) < 10_000
    assert disk.total_bytes(at("")) >= disk.free_bytes(at("")) > 0
    with refuses(errno.ENOENT):
        disk.size(at("missing"))
    with refuses(errno.ENOENT):
        disk.mtime_ms(at("missing"))


def test_fsync_of_files_and_directories_is_accepted(disk, at):
    file = disk.open(at("a.log"), create=True)
    file.append([b"data"])
    file.fsync()
    disk.fsync_dir(at(""))
    with refuses(errno.ENOENT):
        disk.fsync_dir(at("missing"))


def test_a_lock_is_exclusive_until_it_is_released(disk, at):
    lock = disk.lock(at(".lock"))
    with pytest.raises(BlockingIOError):
        disk.lock(at(".lock"))
    disk.lock(at("other.lock")).release()
    lock.release()
    lock.release()
    disk.lock(at(".lock")).release()
    assert disk.exists(at(".lock"))
