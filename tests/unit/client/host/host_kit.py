"""A session without a cluster, and what the tests of both hosts ask of one."""

import os
import threading
import time

from odradek.reactor.ports import READABLE


class Talk:
    """A session that does as it is told; `connect` has it hold a connection to an address."""

    def __init__(self, loop):
        self.loop = loop
        self.socket = None
        self.closes = 0
        self.close_error = None
        self.close_takes_ms = 0
        self.waits = 0  # calls that have begun and never end

    async def close(self, timeout_ms):
        self.closes += 1
        if self.close_takes_ms:
            await self.loop.sleep(self.close_takes_ms)
        if self.close_error is not None:
            raise self.close_error

    async def connect(self, host, port):
        self.socket = self.loop.ports.network.connect(host, port)
        self.loop.register(self.socket, READABLE, lambda _: None)

    async def echo(self, value, after_ms=0):
        await self.loop.sleep(after_ms)
        return value

    async def fail(self, error):
        raise error

    async def never(self):
        self.waits += 1
        await self.loop.pending()

    async def itself(self):
        return self


def threads(name="talk"):
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]


def open_files():
    return len(os.listdir("/proc/self/fd"))


def until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


class Elsewhere(threading.Thread):
    """A call in a thread of its own; `outcome()` is what it has returned, or raises what it has raised."""

    def __init__(self, call, *args):
        super().__init__(daemon=True)
        self._called = call, args
        self._value = self._error = None
        self.start()

    def run(self):
        call, args = self._called
        try:
            self._value = call(*args)
        except BaseException as error:  # noqa: BLE001 - it is told by `outcome`
            self._error = error

    def outcome(self, seconds=10):
        self.join(seconds)
        assert not self.is_alive(), "the call hangs"
        if self._error is not None:
            raise self._error
        return self._value
