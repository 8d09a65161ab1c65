"""Which tests run the line of a mutation: recorded once for a state of source and tests, and kept on disk.

Lines inside of functions are run by the tests that were seen to run them. A line of a module or class body runs when
the module is imported, whoever comes first: there every test counts that runs anything in the file or in one that
imports it, or whose own file names the module. A table that nobody asks but other tables is looked at through these.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

import coverage

import outside
from mutation import recording
from mutation.importers import importers
from mutation.mutations import Mutation
from mutation.workspace import Workspace

KEPT = ".mutants"
RECORDING_SECONDS_MAX = 3600
NO_TEST = ""  # what ran outside of any test


class RecordingFailedError(Exception):
    pass


class Covering:
    """`seconds`: how long each test takes that passes without a mutation; the others tell nothing."""

    def __init__(self, root: Path, data: coverage.CoverageData, seconds: dict[str, float]) -> None:
        self._root = root
        self._data = data
        self._lines: dict[str, dict[int, list[str]]] = {}
        self._importers: dict[str, set[str]] | None = None
        self.seconds = seconds

    def tests_of(self, mutation: Mutation) -> list[str]:
        """Those that are about the mutation's file come first, then those that are fast."""
        found = self._running(mutation)
        if not mutation.is_in_function or found == {NO_TEST}:
            found |= self._of_file(mutation.path) | self._naming(mutation.path) | self._of_importers(mutation.path)
        places = {test: _distance(test, mutation.path) for test in found if test in self.seconds}
        return sorted(places, key=lambda test: (places[test], self.seconds[test], test))

    def _running(self, mutation: Mutation) -> set[str]:
        """The line itself; if it is not known, as in the middle of an expression, the statement around it."""
        lines = self._of_lines(mutation.path)
        found = set(lines.get(mutation.line, ()))
        if not found:
            found.update(*(lines.get(line, ()) for line in range(mutation.first_line, mutation.last_line + 1)))
        return found

    def _of_lines(self, path: str) -> dict[int, list[str]]:
        if path not in self._lines:
            self._lines[path] = self._data.contexts_by_lineno(path)
        return self._lines[path]

    def _of_file(self, path: str) -> set[str]:
        return {test for tests in self._of_lines(path).values() for test in tests}

    def _of_importers(self, path: str) -> set[str]:
        """The tests of the files that import it; if these have none, of those that import them, and so on."""
        if self._importers is None:
            self._importers = importers(self._root)
        seen, level = {path}, self._importers[path]
        while level - seen:
            seen |= level
            found = {test for each in level for test in self._of_file(each)} & self.seconds.keys()
            if found:
                return found
            level = {above for each in level for above in self._importers[each]}
        return set()

    def _naming(self, path: str) -> set[str]:
        parts = Path(path).with_suffix("").parts
        name = parts[-2] if parts[-1] == "__init__" else parts[-1]
        word = re.compile(rf"\b{re.escape(name)}\b")
        files = {test.partition("::")[0] for test in self.seconds}
        naming = {file for file in files if word.search((self._root / file).read_text())}
        return {test for test in self.seconds if test.partition("::")[0] in naming}


def _distance(test: str, path: str) -> int:
    """How far a test's file is from a source file, by their names.

    0 if it is named after the file; 1 if it is named after its package or lies in the mirrored directory; else 2.
    """
    file, source = Path(test.partition("::")[0]), Path(path)
    if source.stem in file.stem:
        return 0
    package = source.parent.parts[2:]  # below src/odradek
    is_mirror = bool(package) and file.parent.parts[-len(package) :] == package
    return 1 if is_mirror or not set(package).isdisjoint(file.stem.split("_")) else 2


def covering_of(root: Path, workspace: Workspace, tests: list[str], jobs: int) -> Covering:
    """Recorded in the workspace, if nobody has for this state of things."""
    kept = root / KEPT / _state_of(root, tests)
    if not (kept / recording.TESTS).exists():
        _record(workspace, kept, tests, jobs)
    data = coverage.CoverageData(str(kept / recording.DATA))
    data.read()
    return Covering(root, data, json.loads((kept / recording.TESTS).read_text()))


def _state_of(root: Path, tests: list[str]) -> str:
    digest = hashlib.sha256(repr((sys.version_info, tests)).encode())
    files = [path for top in ("src", "tests") for path in (root / top).rglob("*") if path.suffix in (".py", ".pyx")]
    for path in sorted(files):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _record(workspace: Workspace, kept: Path, tests: list[str], jobs: int) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    options = ["-p", "mutation.recording", "-n", str(jobs), "--tb=line", "--continue-on-collection-errors"]
    command = workspace.pytest(*options, *tests)
    environment = workspace.environment(**{recording.VARIABLE: str(kept)})
    with outside.Session(command, seconds=RECORDING_SECONDS_MAX, cwd=workspace.root, env=environment) as running:
        running.wait()
    if not (kept / recording.TESTS).exists():
        raise RecordingFailedError("the tests did not come to their end, so that nobody knows which lines they run")
    whole = coverage.Coverage(data_file=kept / recording.DATA, config_file=False)
    whole.combine([str(kept)])
    whole.save()
