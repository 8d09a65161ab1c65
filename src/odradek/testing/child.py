"""The broker's own process: `odradek start` with a private channel to the process that started it.

The channel is one end of a pair of sockets. Over it come commands, a line of JSON each, answered by a line each. When
its other end is gone, or the parent is, this process stops: a broker never outlives its test, however that ended. The
second sign is needed because a fork of the parent holds the other end as well.
"""

import json
import os
import shutil
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.cli.failure import Failure
from odradek.cli.output import complain, guarded_output
from odradek.cli.server_process import run_server
from odradek.protocol.errors import KafkaError
from odradek.protocol.json_value import JsonObject
from odradek.reactor.loop import Loop
from odradek.reactor.ports import READABLE
from odradek.testing.control import Control
from odradek.testing.fault_plan import FaultPlan
from odradek.testing.start_options import parse

if TYPE_CHECKING:
    from odradek.broker.raft_server import KafkaRaftServer

LOOK_FOR_PARENT_MS = 500
RECEIVE_BYTES = 65536


class ControlSocket:
    """The attendant of a server process: see cli/server_process.py."""

    __slots__ = ("_control", "_loop", "_parent", "_rest", "_socket", "_stop", "is_orphaned")

    _loop: Loop
    _stop: Callable[[], None]

    def __init__(self, fd: int) -> None:
        self._parent = os.getppid()
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(False)
        self._rest = b""
        self._control = Control()
        self.is_orphaned = False

    @property
    def faults(self) -> FaultPlan:
        return self._control.faults

    def attend(self, loop: Loop, server: "KafkaRaftServer", stop: Callable[[], None]) -> None:
        self._control.server = server
        self._loop = loop
        self._stop = stop
        loop.register(self._socket, READABLE, self._readable)
        self._look_for_parent()

    def _look_for_parent(self) -> None:
        if os.getppid() != self._parent:
            self._orphaned()
        else:
            self._loop.after(LOOK_FOR_PARENT_MS, self._look_for_parent)

    def _orphaned(self) -> None:
        if not self.is_orphaned:
            self.is_orphaned = True
            self._loop.unregister(self._socket)
            self._stop()

    def _readable(self, _: int) -> None:
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self._orphaned()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._loop.spawn(self._serve(json.loads(line)))

    async def _serve(self, message: JsonObject) -> None:
        try:
            answer = {"result": await self._control.answer(message["command"], message["values"])}
        except KafkaError as error:
            answer = {"error": f"{error.name}: {error.message}"}
        self._socket.sendall(json.dumps(answer).encode() + b"\n")


def main(arguments: list[str]) -> int:
    """`FD KEEP|REMOVE FLAGS...`: what becomes of the data dir if the parent dies, and the flags of `odradek start`."""
    fd, fate, *flags = arguments
    control = ControlSocket(int(fd))
    try:
        options = parse(flags)
        options.attendant = control
        with guarded_output():  # the parent reads the ready line and closes the pipe
            return run_server(options)
    except Failure as failure:
        complain(failure)
        return 2
    finally:
        if control.is_orphaned and fate == "REMOVE" and "--data" in flags:
            shutil.rmtree(flags[flags.index("--data") + 1], ignore_errors=True)
