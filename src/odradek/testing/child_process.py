"""A broker in a child process, seen from the process that starts it."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import odradek
from odradek.broken_rule import present
from odradek.testing.broker_error import BrokerError

STOP_S_MAX = 20.0  # a clean stop takes some tens of milliseconds; after this long it is killed
ANSWER_S_MAX = 30.0
_READY = re.compile(r"odradek ready: bootstrap=(?P<bootstrap>\S+) cluster=(?P<cluster>\S+) data=(?P<data>.+)")

# The child finds the package where this process has found it, be it installed or not.
_PACKAGES = str(Path(odradek.__file__).parents[1])
_CHILD = """
import sys
packages = sys.argv.pop(1)
if packages not in sys.path:
    sys.path.insert(0, packages)
from odradek.testing.child import main
sys.exit(main(sys.argv[1:]))
"""


class ChildProcess:
    """Ready when it is made; BrokerError with the broker's own line if it does not start."""

    __slots__ = ("_answers", "_errors", "_lock", "_process", "_socket", "bootstrap", "cluster_id")

    def __init__(self, arguments: Sequence[str], *, is_temporary: bool, start_s_max: float) -> None:
        self._lock = threading.Lock()  # one command at a time
        self._errors: IO[bytes] = tempfile.TemporaryFile(prefix="odradek-")  # noqa: SIM115 - until the end
        self._socket, theirs = socket.socketpair()
        self._answers = self._socket.makefile("rb")
        try:
            with theirs:
                self._process = self._spawn(theirs.fileno(), arguments, is_temporary)
        except BaseException:
            self._close()
            raise
        try:
            ready = self._wait_until_ready(time.monotonic() + start_s_max, start_s_max)
        except BaseException:
            self.kill()
            raise
        self.bootstrap: str = ready["bootstrap"]
        self.cluster_id: str = ready["cluster"]

    def _spawn(self, fd: int, arguments: Sequence[str], is_temporary: bool) -> "subprocess.Popen[bytes]":
        """In a session of its own: Ctrl-C is for the tests, which stop the broker when they are done with it."""
        fate = "REMOVE" if is_temporary else "KEEP"
        # -P: a file in the working directory must not stand in for a module of the broker.
        command = [sys.executable, "-P", "-c", _CHILD, _PACKAGES, str(fd), fate, *arguments]
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                pass_fds=[fd],
                start_new_session=True,
            )
        except OSError as error:
            raise BrokerError(f"the broker did not start: {sys.executable}: {error.strerror}") from None

    # Start

    def _wait_until_ready(self, deadline: float, start_s_max: float) -> re.Match[str]:
        with present(self._process.stdout, "the output of the broker is a pipe") as output:
            line = _first_line(output.fileno(), deadline)
        if line is None:
            raise BrokerError(f"the broker was not ready within {start_s_max:g} s")
        ready = _READY.fullmatch(line)
        if ready is None:
            self._process.wait(STOP_S_MAX)
            raise BrokerError(f"the broker did not start: {self._last_words()}")
        return ready

    def _last_words(self) -> str:
        text = self.errors().strip().removeprefix("odradek: ")
        return text or f"it said nothing and left with status {self._process.returncode}"

    def errors(self) -> str:
        """What it has said on standard error: errors of its log, and why it gave up."""
        return os.pread(self._errors.fileno(), os.fstat(self._errors.fileno()).st_size, 0).decode(errors="replace")

    # While it runs

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def ask(self, command: str, **values: object) -> object:
        with self._lock:
            line = self._exchange(json.dumps({"command": command, "values": values}).encode() + b"\n")
        answer = json.loads(line)
        if "error" in answer:
            raise BrokerError(answer["error"])
        return answer["result"]

    def _exchange(self, line: bytes) -> bytes:
        try:
            self._socket.settimeout(ANSWER_S_MAX)
            self._socket.sendall(line)
            answer = self._answers.readline()
        except ConnectionError:
            answer = b""
        except OSError as error:
            raise BrokerError(f"the broker does not answer: {error}") from None
        if not answer:
            raise BrokerError(f"the broker is gone. {self.errors()}".strip())
        return answer

    # Stop

    def stop(self) -> None:
        """A clean stop, and a kill if that takes too long."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise BrokerError(f"the broker did not stop within {STOP_S_MAX:g} s and was killed") from None
        finally:
            self._close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        self._answers.close()
        self._socket.close()
        self._errors.close()


def _first_line(fd: int, deadline: float) -> str | None:
    """The first line, or as much of it as came before the end; None if there was none in time."""
    text = b""
    while b"\n" not in text:
        if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return None
        data = os.read(fd, 4096)
        if not data:
            break
        text += data
    return text.partition(b"\n")[0].decode(errors="replace")
