"""What only the real adapters can be asked: cold pages, other processes, limits of the kernel."""

import errno
import os
import sys
import threading
import time
import weakref

import pytest

import outside
from odradek.reactor.adapters import disk as adapter
from odradek.reactor.adapters import system_ports
from odradek.reactor.adapters.executor import ThreadExecutor
from odradek.reactor.loop import Loop
from odradek.reactor.ports import READABLE
from threads import joined


@pytest.fixture
def ports():
    made = system_ports(threads=1)
    yield made
    made.executor.close()


def test_a_cold_page_is_not_waited_for(ports, tmp_path):
    file = ports.disk.open(str(tmp_path / "0.log"), create=True)
    file.append([os.urandom(1 << 20)])
    file.fsync()
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_DONTNEED)
    if file.pread_nowait(4096, 0) is not None:
        pytest.skip("this file system keeps its pages whatever it is told")
    file.pread(4096, 0)
    assert len(file.pread_nowait(4096, 0)) == 4096


def test_where_the_kernel_cannot_tell_a_plain_read_serves(ports, tmp_path, monkeypatch):
    file = ports.disk.open(str(tmp_path / "0.log"), create=True)
    file.append([b"data"])
    calls = []

    def refuses(*_):
        calls.append(1)
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(adapter.os, "preadv", refuses)
    assert file.pread_nowait(4, 0) == b"data"
    assert file.pread_nowait(4, 2) == b"ta"
    assert len(calls) == 1, "it is asked once per file"


def test_a_part_that_is_cold_makes_the_whole_read_wait(ports, tmp_path, monkeypatch):
    file = ports.disk.open(str(tmp_path / "0.log"), create=True)
    file.append([bytes(10_000)])
    monkeypatch.setattr(adapter.os, "preadv", lambda *_: 4096)
    assert file.pread_nowait(9000, 0) is None


LOCKER = """
import sys
from odradek.reactor.adapters import system_ports
from odradek.reactor.adapters.executor import ThreadExecutor
from odradek.reactor.loop import Loop
try:
    system_ports().disk.lock(sys.argv[1])
    print("locked")
except BlockingIOError:
    print("refused")
"""


def other_process(path):
    result = outside.run([sys.executable, "-c", LOCKER, path], check=True)
    return result.stdout.strip()


def test_a_lock_holds_against_other_processes_even_after_a_refused_second_try(ports, tmp_path):
    path = str(tmp_path / ".lock")
    lock = ports.disk.lock(path)
    with pytest.raises(BlockingIOError):
        ports.disk.lock(path)
    assert other_process(path) == "refused"
    lock.release()
    assert other_process(path) == "locked"


SHORT_WRITER = """
import errno, resource, sys
from odradek.reactor.adapters import system_ports
from odradek.reactor.adapters.executor import ThreadExecutor
from odradek.reactor.loop import Loop
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
file = system_ports().disk.open(sys.argv[1], create=True)
parts = [b"x" * 6] * int(sys.argv[2])
written = file.append(parts)
try:
    file.append([b"more"])
except OSError as error:
    print(written, file.size(), errno.errorcode[error.errno])
"""


@pytest.mark.parametrize("parts", [900 * 2, 3000])
def test_a_write_that_does_not_fit_is_short_first_then_an_error(tmp_path, parts):
    command = [sys.executable, "-c", SHORT_WRITER, str(tmp_path / "0.log"), str(parts)]
    result = outside.run(command, check=True)
    assert result.stdout.split() == ["10000", "10000", "EFBIG"]


def test_nothing_is_written_behind_a_short_write(ports, tmp_path, monkeypatch):
    """Room may come back between two system calls: the bytes in the middle would be missing."""
    file = ports.disk.open(str(tmp_path / "0.log"), create=True)
    sizes = []

    def short(fd, parts, *_):
        sizes.append(len(parts))
        return 5

    monkeypatch.setattr(adapter.os, "pwritev", short)
    assert file.append([b"xx"] * 3000) == 5
    assert sizes == [1024]


def test_a_wake_from_another_thread_ends_a_poll(ports):
    poller = ports.network.poller()

    def job():
        poller.wake()
        return None
        yield

    ports.executor.submit(job(), lambda value, error: None)
    assert poller.poll(None) == []
    poller.close()
    poller.wake()


class Result:
    """Of a job; it can be seen to be gone."""


def test_a_thread_that_waits_keeps_nothing_of_its_last_job(ports):
    results = []

    def job():
        return Result()
        yield

    ports.executor.submit(job(), lambda value, error: results.append(weakref.ref(value)))
    deadline = time.monotonic() + 10
    while not results or results[0]() is not None:
        assert time.monotonic() < deadline, "the thread still holds it"
        ports.executor.drain()
        time.sleep(0.001)


@pytest.mark.contract("E16")
def test_sockets_do_not_wait_to_fill_a_packet_and_notice_a_peer_that_is_gone(ports):
    import socket

    listener = ports.network.listen("127.0.0.1", 0)
    client = ports.network.connect(*listener.address)
    poller = ports.network.poller()
    poller.watch(listener, READABLE)
    poller.poll(5000)
    server = listener.accept()
    for end in (client, server):
        assert end._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert end._socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        end.close()
    poller.close()
    listener.close()


def test_an_address_that_cannot_be_reached_is_told_by_finish_connect(ports):
    client = ports.network.connect("255.255.255.255", 9)
    with pytest.raises(OSError, match=r"255\.255\.255\.255"):
        client.finish_connect()
    client.close()


def test_ipv6_addresses_work_where_the_machine_has_them(ports):
    try:
        listener = ports.network.listen("::1", 0)
    except OSError as error:
        pytest.skip(f"no IPv6 loopback here: {error}")
    client = ports.network.connect(*listener.address)
    assert listener.address[0] == client.peer[0] == "::1"
    client.close()
    listener.close()


def test_no_thread_starts_before_the_first_job_and_not_more_than_allowed(ports):
    assert ports.executor._threads == []

    def job():
        yield 0

    for _ in range(5):
        ports.executor.submit(job(), lambda value, error: None)
    assert len(ports.executor._threads) == 1


def test_the_reactor_imports_nothing_that_is_slow_to_import():
    code = (
        "import sys, odradek.reactor.adapters, odradek.reactor.jobs, odradek.reactor.file_range; "
        "print(*{'asyncio', 'dataclasses', 'inspect', 'random', 'subprocess', 'typing_extensions'} & set(sys.modules))"
    )
    assert outside.run([sys.executable, "-c", code], check=True).stdout.split() == []


@pytest.fixture
def blocked():
    """A job that blocks until the event is set, as a resolver does."""
    released = threading.Event()

    def job():
        released.wait(30)
        return "too late"
        yield

    yield job, released
    released.set()


def job_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("job-")]


def test_an_executor_that_does_not_wait_leaves_a_blocked_job_to_itself(blocked):
    job, released = blocked
    before = job_threads()
    told = []
    executor = ThreadExecutor(1, waits_at_close=False)
    executor.notify(lambda: told.append("woken"))
    executor.submit(job(), lambda value, error: told.append(value))
    began = time.monotonic()
    executor.close()
    assert time.monotonic() - began < 5
    assert len(job_threads()) == len(before) + 1
    released.set()
    deadline = time.monotonic() + 10
    while job_threads() != before:
        assert time.monotonic() < deadline, "its thread ends with the job"
        time.sleep(0.002)
    assert told == [], "nobody depends on its end"


def test_an_executor_waits_unless_it_is_told_not_to(blocked):
    job, released = blocked
    told = []
    executor = ThreadExecutor(1)
    executor.submit(job(), lambda value, error: told.append(value))
    threading.Timer(0.1, released.set).start()
    executor.close()
    assert told == ["too late"]


def test_another_thread_has_something_called_in_the_loops_thread(ports):
    loop = Loop(ports)
    called = []

    def note(argument):
        called.append((argument, threading.get_ident()))

    def call_from_elsewhere():
        for number in range(50):
            loop.from_thread(note, number)
            time.sleep(0.001)

    elsewhere = threading.Thread(target=call_from_elsewhere, daemon=True)
    elsewhere.start()
    began = time.monotonic()
    while len(called) < 50:
        loop.turn(10_000)
    assert time.monotonic() - began < 8, "it was woken"
    joined(elsewhere)
    assert called == [(number, threading.get_ident()) for number in range(50)]
    loop.close()
    loop.from_thread(note, "nobody turns any more")
