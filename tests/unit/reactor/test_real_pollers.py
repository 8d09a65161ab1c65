"""Both pollers of the real world, beside other threads."""

import os
import threading
import time

import pytest

from odradek.reactor.adapters.client_network import ClientNetwork
from odradek.reactor.adapters.poller import SystemPoller
from odradek.reactor.adapters.portable_poller import PortablePoller
from threads import joined


@pytest.fixture(params=[SystemPoller, PortablePoller])
def poller(request):
    made = request.param()
    yield made
    made.close()


def test_another_thread_ends_a_poll(poller):
    for _ in range(20):
        waker = threading.Timer(0.005, poller.wake)
        waker.start()
        began = time.monotonic()
        assert poller.poll(30_000) == []
        assert time.monotonic() - began < 10
        joined(waker)


def test_however_often_it_is_woken_a_poll_ends_and_the_next_ones_sleep(poller):
    for _ in range(100_000):
        poller.wake()
    for _ in range(1000):
        poller.poll(0)
    began = time.monotonic()
    assert poller.poll(30) == []
    assert time.monotonic() - began >= 0.03


def test_a_wake_after_the_close_writes_to_nobodys_file(poller, tmp_path):
    """The number of the file that woke it may be another's by then."""
    before = set(os.listdir("/proc/self/fd"))
    poller.close()
    taken = []
    for _ in range(10):  # whoever opens files now gets the numbers that became free
        taken.append(os.open(tmp_path / f"{len(taken)}", os.O_RDWR | os.O_CREAT))
    assert {str(number) for number in taken} & before, "numbers are used again"
    poller.wake()
    assert [os.fstat(number).st_size for number in taken] == [0] * len(taken)
    for number in taken:
        os.close(number)


def test_a_wake_that_a_close_overtakes_writes_to_nobodys_file(monkeypatch, tmp_path):
    poller = SystemPoller()
    taken = []
    write = os.eventfd_write

    def overtaken(number, value):
        poller.close()
        taken.extend(os.open(tmp_path / str(each), os.O_RDWR | os.O_CREAT) for each in range(10))
        write(number, value)

    monkeypatch.setattr(os, "eventfd_write", overtaken)
    poller.wake()
    assert [os.fstat(number).st_size for number in taken] == [0] * len(taken)
    for number in taken:
        os.close(number)


@pytest.mark.parametrize("kind", [SystemPoller, PortablePoller])
def test_threads_may_wake_it_while_it_is_closed(kind):
    failures = []

    def wake(poller, gate):
        gate.wait(10)
        try:
            for _ in range(50):
                poller.wake()
        except OSError as error:
            failures.append(error)

    for _ in range(100):
        poller = kind()
        gate = threading.Barrier(3)
        wakers = [threading.Thread(target=wake, args=(poller, gate), daemon=True) for _ in range(2)]
        for waker in wakers:
            waker.start()
        gate.wait(10)
        poller.close()
        for waker in wakers:
            joined(waker)
    assert failures == []


def test_a_poller_leaves_nothing_open(poller):
    before = len(os.listdir("/proc/self/fd"))
    other = type(poller)()
    assert len(os.listdir("/proc/self/fd")) > before
    other.close()
    other.close()
    other.wake()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_clients_network_closes_all_that_it_has_opened():
    before = len(os.listdir("/proc/self/fd"))
    network = ClientNetwork()
    network.poller()
    listener = network.listen("127.0.0.1", 0)
    connected = network.connect(*listener.address)
    listener.close()
    network.close()
    assert connected.fileno() == -1
    assert len(os.listdir("/proc/self/fd")) == before
    network.close()
