"""The load generators: C programs in load/, compiled on the first use, that need a port and a topic and print one line.

They speak raw bytes on raw sockets, so that what they cost is little and the same for every broker. The one on top of
librdkafka needs its headers; without them its rows are left out.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "load"
LIBRARIES = {"rdkafka": ["-lrdkafka", "-lpthread"]}
RUN_SECONDS_MAX = 180


class Unavailable(Exception):  # noqa: N818 - a state of the machine, not a fault
    """Why a generator cannot run here, and what to install."""


class Generators:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._reasons: dict[str, str] = {}

    def why_not(self, name: str) -> str | None:
        """None if the generator can run."""
        if name not in self._reasons and not (self._directory / name).exists():
            try:
                self._compile(name)
            except Unavailable as reason:
                self._reasons[name] = str(reason)
        return self._reasons.get(name)

    def run(self, name: str, *arguments: object) -> dict[str, Any]:
        """What it printed. A run with a refused request is no figure."""
        reason = self.why_not(name)
        if reason is not None:
            raise Unavailable(reason)
        command = [str(self._directory / name), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        result: dict[str, Any] = json.loads(done.stdout)
        if result["failed"]:
            raise RuntimeError(f"{' '.join(command)}: {result['failed']} requests were refused")
        return result

    def _compile(self, name: str) -> None:
        if shutil.which("gcc") is None:
            raise Unavailable("the load generators are C programs: install gcc")
        target = self._directory / name
        command = ["gcc", "-O2", "-o", str(target), str(SOURCES / f"{name}.c"), *LIBRARIES.get(name, [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode and name in LIBRARIES:
            raise Unavailable("the rows through librdkafka need its headers: install librdkafka-dev")
        if done.returncode:
            raise Unavailable(f"{name}.c does not compile: {done.stderr.strip()}")
