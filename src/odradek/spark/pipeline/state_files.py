"""Which pipelines run on this machine: each keeps a small file about itself in a directory of its user.

A file whose process is gone is removed by whoever looks. A process number may be another's by then, so the file has the
time of the process's start as well.
"""

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class PipelineState:
    """What `odradek spark status` shows."""

    pipeline: str
    file: str
    master: str
    pid: int
    process_start: str
    started: str
    queries: tuple[dict[str, Any], ...] = field(default=())  # Any: views as JSON


def directory() -> str:
    base = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME")
    return os.path.join(base or os.path.join(os.path.expanduser("~"), ".cache"), "odradek", "spark")


class StateFile:
    """The file of this process; it is there until `remove`."""

    def __init__(self, place: str | None = None) -> None:
        self._directory = place or directory()
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        self._path = os.path.join(self._directory, f"{os.getpid()}.json")

    def write(self, state: PipelineState) -> None:
        """Whole or not at all."""
        handle, part = tempfile.mkstemp(dir=self._directory, prefix=".part-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(state), file)
        os.replace(part, self._path)

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            os.remove(self._path)


def running(place: str | None = None) -> list[PipelineState]:
    """Those whose process lives, the oldest first."""
    found = []
    where = place or directory()
    for name in sorted(os.listdir(where)) if os.path.isdir(where) else ():
        if name.endswith(".json"):
            state = _read(os.path.join(where, name))
            if state is not None:
                found.append(state)
    return sorted(found, key=lambda state: state.started)


def _read(path: str) -> PipelineState | None:
    try:
        with open(path, encoding="utf-8") as file:
            state = PipelineState(**json.load(file))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, OSError):
        state = None
    if state is None or process_start(state.pid) != state.process_start:
        with suppress(OSError):
            os.remove(path)
        return None
    return state


def process_start(pid: int) -> str | None:
    """When the kernel has started it, in its own ticks; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
