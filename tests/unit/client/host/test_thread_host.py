"""A client in a thread of its own: when the thread is there, who may call, and what happens to callers at its end."""

import gc
import logging
import signal
import socket
import threading
import time
import warnings
from _thread import start_new_thread

import pytest
from host_kit import Elsewhere, Talk, open_files, threads, until

from odradek.channel.errors import ClientClosed
from odradek.client.host import io_thread, live_clients
from odradek.client.host.errors import OwnThreadError
from odradek.client.host.thread_host import ThreadHost


@pytest.fixture
def host():
    made = ThreadHost("talk", Talk)
    yield made
    made.close(1000)
    assert threads() == []


def echo(host, value, after_ms=0):
    return host.run(lambda talk: talk.echo(value, after_ms))


def itself(host):
    return host.run(lambda talk: talk.itself())


# From the first use to the end


def test_there_is_nothing_before_the_first_use_one_thread_after_it_and_nothing_after_close():
    before = open_files()
    host = ThreadHost("talk", Talk)
    assert (threads(), open_files()) == ([], before)
    assert [echo(host, number) for number in range(3)] == [0, 1, 2]
    assert len(threads()) == 1
    assert threads()[0].daemon
    assert open_files() > before
    host.close(1000)
    assert (threads(), open_files()) == ([], before)


def test_what_was_never_used_closes_without_a_thread():
    host = ThreadHost("talk", Talk)
    host.close(1000)
    assert threads() == []
    with pytest.raises(ClientClosed):
        echo(host, 1)
    assert threads() == []


def test_the_second_close_does_nothing_and_later_calls_are_refused(host):
    talk = itself(host)
    host.close(1000)
    host.close(1000)
    assert talk.closes == 1
    with pytest.raises(ClientClosed, match="was closed"):
        echo(host, 1)


def test_two_threads_close_at_the_same_time(host):
    talk = itself(host)
    talk.close_takes_ms = 100
    for closing in [Elsewhere(host.close, 1000) for _ in range(4)]:
        closing.outcome()
    assert talk.closes == 1
    assert threads() == []


def test_a_call_that_is_under_way_is_let_go_by_a_close(host):
    talk = itself(host)
    waiting = Elsewhere(host.run, lambda talk: talk.never())
    until(lambda: talk.waits)
    host.close(1000)
    with pytest.raises(ClientClosed, match="under way"):
        waiting.outcome()


def test_a_call_while_the_session_closes_is_refused_at_once(host):
    itself(host).close_takes_ms = 500
    closing = Elsewhere(host.close, 5000)
    until(lambda: host._is_closed)
    with pytest.raises(ClientClosed):
        echo(host, 1)
    closing.outcome()


def test_what_keeps_a_session_from_an_orderly_end_is_raised_and_everything_is_closed(host):
    itself(host).close_error = OSError("the last words were lost")
    with pytest.raises(OSError, match="last words"):
        host.close(1000)
    assert threads() == []


def test_a_session_that_does_not_come_to_an_end_is_ended_with_its_connections(host, caplog):
    with socket.create_server(("127.0.0.1", 0)) as server:
        host.run(lambda talk: talk.connect(*server.getsockname()))
        accepted, _ = server.accept()
        itself(host).close_takes_ms = 60_000
        began = time.monotonic()
        host.close(50)
        assert time.monotonic() - began < 10
        assert threads() == []
        accepted.settimeout(5)
        assert accepted.recv(1) == b"", "the connection is closed"
        accepted.close()
    assert "could not be closed in an orderly way within 50 ms" in caplog.text


def test_a_session_that_cannot_begin_leaves_nothing_open_and_may_be_tried_again():
    tries = []

    def begin(loop):
        tries.append(loop)
        if len(tries) == 1:
            raise OSError("not yet")
        return Talk(loop)

    before = open_files()
    host = ThreadHost("talk", begin)
    with pytest.raises(OSError, match="not yet"):
        echo(host, 1)
    assert (threads(), open_files()) == ([], before)
    assert echo(host, 2) == 2
    host.close(1000)


# Who calls


def test_many_threads_call_at_the_same_time(host):
    def talk_for_a_while(number):
        return [echo(host, (number, turn), turn % 3) for turn in range(30)]

    calling = [Elsewhere(talk_for_a_while, number) for number in range(16)]
    for number, caller in enumerate(calling):
        assert caller.outcome(60) == [(number, turn) for turn in range(30)]
    assert len(threads()) == 1


def test_the_first_calls_of_many_threads_start_one_thread(host):
    gate = threading.Barrier(8)

    def first_call():
        gate.wait(10)
        return itself(host)

    sessions = {caller.outcome() for caller in [Elsewhere(first_call) for _ in range(8)]}
    assert len(sessions) == len(threads()) == 1


def test_calls_race_with_a_close_and_none_hangs():
    for _ in range(30):
        host = ThreadHost("talk", Talk)
        itself(host)

        def call_until_refused(host=host):
            with pytest.raises(ClientClosed):
                while True:
                    echo(host, 1)

        calling = [Elsewhere(call_until_refused) for _ in range(3)]
        host.close(1000)
        for caller in calling:
            caller.outcome()


def test_an_error_of_an_operation_is_raised_where_it_was_called(host):
    with pytest.raises(KeyError, match="no such thing"):
        host.run(lambda talk: talk.fail(KeyError("no such thing")))
    assert echo(host, 1) == 1


@pytest.mark.parametrize("what", ["run", "close"])
def test_a_callback_in_the_clients_thread_cannot_wait_for_it(host, what):
    async def from_inside(talk):
        began = time.monotonic()
        with pytest.raises(OwnThreadError):
            echo(host, 1) if what == "run" else host.close(5000)
        return time.monotonic() - began

    assert host.run(from_inside) < 3
    if what == "run":
        assert echo(host, 2) == 2


# Errors in the thread


def test_a_handler_that_raises_is_logged_and_the_thread_goes_on(host, caplog):
    async def schedule(talk):
        talk.loop.after(0, lambda: 1 // 0)

    host.run(schedule)
    until(lambda: "ZeroDivisionError" in caplog.text)
    assert echo(host, 1) == 1
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_if_the_thread_ends_all_the_same_nobody_waits_in_vain(host, caplog):
    class Unheard(BaseException):
        pass

    async def schedule(talk):
        talk.loop.after(100, strike)

    def strike():
        raise Unheard("the end")

    waiting = [Elsewhere(host.run, lambda talk: talk.never()) for _ in range(3)]
    host.run(schedule)
    for caller in waiting:
        with pytest.raises(ClientClosed, match="the end") as refused:
            caller.outcome()
        assert isinstance(refused.value.__cause__, Unheard)
    with pytest.raises(ClientClosed, match="the end"):
        echo(host, 1)
    assert "has ended" in caplog.text
    until(lambda: not threads())
    began = time.monotonic()
    host.close(5000)
    assert time.monotonic() - began < 2


# Interrupts and drops


class Interrupt(BaseException):
    pass


@pytest.fixture
def alarm():
    """Strikes this thread after so many seconds, as Ctrl-C does."""

    def strike(*_):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, strike)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_interrupt_ends_the_wait_at_once_and_the_work_is_cancelled(host, alarm):
    async def interrupted(talk):
        try:
            await talk.never()
        finally:
            cleaned.append(True)

    cleaned = []
    itself(host)
    alarm(0.1)
    began = time.monotonic()
    with pytest.raises(Interrupt):
        host.run(interrupted)
    assert time.monotonic() - began < 2
    until(lambda: cleaned)
    assert echo(host, 1) == 1


def test_a_close_that_is_interrupted_may_be_called_again(host, alarm):
    itself(host).close_takes_ms = 1000
    alarm(0.1)
    with pytest.raises(Interrupt):
        host.close(5000)
    host.close(5000)
    assert threads() == []


def test_a_signals_handler_may_close_the_client_under_a_call(host):
    def close(*_):
        host.close(1000)

    itself(host)
    before = signal.signal(signal.SIGALRM, close)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(ClientClosed, match="under way"):
            host.run(lambda talk: talk.never())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert threads() == []


@pytest.fixture
def strike_at_start(monkeypatch):
    """Puts something in the place where the next thread is started; it is given what starts it."""

    def put(what):
        def struck(*args):
            monkeypatch.undo()
            what(lambda: start_new_thread(*args))

        monkeypatch.setattr(io_thread, "start_new_thread", struck)

    return put


def interrupted_after(start):
    start()
    raise KeyboardInterrupt


def interrupted_before(_):
    raise KeyboardInterrupt


def test_a_signals_handler_may_close_the_client_while_its_thread_starts(strike_at_start):
    def closed_meanwhile(start):
        host.close(1000)
        start()

    before = open_files()
    host = ThreadHost("talk", Talk)
    strike_at_start(closed_meanwhile)
    with pytest.raises(ClientClosed):
        itself(host)
    until(lambda: not threads())
    assert open_files() == before


@pytest.mark.parametrize("interrupted", [interrupted_before, interrupted_after])
def test_an_interrupt_while_the_thread_starts_leaves_one_thread(strike_at_start, interrupted):
    opened = []
    host = ThreadHost("talk", lambda loop: opened.append(loop) or Talk(loop))
    strike_at_start(interrupted)
    with pytest.raises(KeyboardInterrupt):
        itself(host)
    first = itself(host)
    until(lambda: len(threads()) == 1)
    assert itself(host) is first
    assert len(opened) == 1
    host.close(1000)
    until(lambda: not threads())  # the second one may only just have begun


@pytest.mark.parametrize("interrupted", [interrupted_before, interrupted_after])
def test_a_client_whose_start_was_interrupted_may_be_closed(strike_at_start, interrupted):
    before = open_files()
    host = ThreadHost("talk", Talk)
    strike_at_start(interrupted)
    with pytest.raises(KeyboardInterrupt):
        itself(host)
    host.close(1000)
    until(lambda: not threads())
    assert open_files() == before


def test_a_client_whose_start_was_interrupted_may_be_dropped_before_it_is_open(strike_at_start):
    class Unopened:
        def __init__(self):
            self.host = ThreadHost("talk", opens_late)
            self.host.watch_over(self)

    def opens_late(loop):
        opening.set()
        dropped.wait(10)
        return Talk(loop)

    opening, dropped = threading.Event(), threading.Event()
    before = open_files()
    client = Unopened()
    strike_at_start(interrupted_after)
    with pytest.raises(KeyboardInterrupt):
        itself(client.host)
    assert opening.wait(10)
    with pytest.warns(ResourceWarning):
        del client
    dropped.set()
    until(lambda: not threads() and open_files() == before)


def test_where_no_thread_can_be_started_the_caller_is_told_and_may_try_again(monkeypatch):
    class Refused(threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    host = ThreadHost("talk", Talk)
    monkeypatch.setattr(io_thread, "Thread", Refused)
    with pytest.raises(RuntimeError, match="can't start"):
        itself(host)
    monkeypatch.undo()
    assert echo(host, 1) == 1
    host.close(1000)


class Client:
    """What a program holds."""

    def __init__(self):
        self.host = ThreadHost("talk", Talk)
        self.host.watch_over(self)
        itself(self.host)


def test_a_dropped_client_warns_and_its_thread_ends():
    client = Client()
    with pytest.warns(ResourceWarning, match="a Client was dropped without close"):
        del client
    until(lambda: not threads())
    assert not live_clients._live


def test_a_dropped_client_is_closed_even_if_the_warning_is_an_error(monkeypatch):
    unraisable = []
    monkeypatch.setattr("sys.excepthook", lambda *error: unraisable.append(error))
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    client = Client()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        del client
    until(lambda: not threads())
    assert unraisable


def test_a_client_that_its_own_thread_collects_does_not_wait_for_itself():
    client = Client()
    host = client.host
    client.itself = client  # a cycle, that only the collector finds

    async def collect(talk):
        began = time.monotonic()
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            gc.collect()
        return time.monotonic() - began

    del client
    assert host.run(collect) < 5
    until(lambda: not threads())


def test_nobody_warns_of_a_client_that_was_closed():
    client = Client()
    client.host.close(1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del client
        gc.collect()


# Who sleeps


def test_an_idle_client_hardly_turns(host):
    with socket.create_server(("127.0.0.1", 0)) as server:
        host.run(lambda talk: talk.connect(*server.getsockname()))
        accepted, _ = server.accept()
        loop = itself(host).loop
        time.sleep(0.2)
        before = loop.turns
        time.sleep(2)
        assert loop.turns - before < 10
        accepted.close()


def test_calls_from_other_threads_wake_the_loop(host):
    loop = itself(host).loop
    seen = []
    for number in range(100):
        loop.from_thread(seen.append, number)
    until(lambda: len(seen) == 100)
    assert seen == list(range(100))
