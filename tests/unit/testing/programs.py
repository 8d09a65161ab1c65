"""Other processes of a test: small programs that use a broker, and what is left of them."""

import contextlib
import os
import sys
import time
from pathlib import Path

import outside

DEADLINE_S = 20


def until(condition, what="it did not happen in time"):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def children():
    """The processes that this one has started and that are still there, zombies too."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


def open_files():
    return len(os.listdir("/proc/self/fd"))


class Program:
    """Python code in a process of its own; `lines(n)` are the words of its first n lines."""

    def __init__(self, code, **more):
        self.process = outside.Program([sys.executable, "-c", code], stdout=outside.PIPE, text=True, **more)

    def words(self):
        return self.process.stdout.readline().split()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()
