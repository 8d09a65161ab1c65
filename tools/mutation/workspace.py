"""A copy of the checkout in which one file at a time is changed. The checkout itself is never written to.

Compiled modules are copied with their times, so that Python takes them as they are; a changed file gets a time of its
own, because a mutation that is as long as the original and as old would be run from the original's compiled module.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import outside

LEFT_BEHIND = (".git", ".venv*", ".mutants", ".*_cache", ".hypothesis", "build", "dist", "fuzz-*", "logs")
TOOLS = Path(__file__).resolve().parent.parent


class Workspace:
    def __init__(self, root: Path, copy: Path) -> None:
        self.root = copy
        shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
        outside.run(["git", "init", "--quiet", copy], check=True)  # tests ask it which files there are

    def environment(self, **more: str) -> dict[str, str]:
        """The copy's package comes before the one that is installed. What it compiles, it keeps to itself."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return {
            **inherited,
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(TOOLS)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ODRADEK_EXAMPLES": "same",
            **more,
        }

    def pytest(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]

    @contextlib.contextmanager
    def changed(self, path: str, source: bytes) -> Iterator[None]:
        """The file has this content inside the `with`, and its own again afterwards."""
        file = self.root / path
        original, times = file.read_bytes(), file.stat()
        file.write_bytes(source)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns + 10_000_000_000))
        try:
            yield
        finally:
            file.write_bytes(original)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
