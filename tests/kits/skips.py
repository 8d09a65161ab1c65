"""Which skips are allowed where everything can be had: in CI (`CI=true`) any other skip is a failure.

A test that is skipped for want of a program says nothing of the code, and a green run hides it. `allowed_skips.txt` has
a line for each skip that no machine can spare us: a pattern of `TEST: REASON` with `*` for anything, ` # `, and why.
"""

import os
import re
from pathlib import Path

import pytest

ALLOWED = Path(__file__).parents[1] / "allowed_skips.txt"


def are_failures():
    return os.environ.get("CI", "").lower() in ("1", "true")


def allowed(path=ALLOWED):
    patterns = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            pattern, _, why = line.partition(" # ")
            assert why.strip(), f"{path.name}:{number}: say behind a # why {pattern.strip()} may be skipped"
            patterns.append(re.compile(".*".join(map(re.escape, pattern.strip().split("*"))), re.DOTALL))
    return patterns


def is_allowed(where, reason, path=ALLOWED):
    return any(pattern.fullmatch(f"{where}: {reason}") for pattern in allowed(path))


class RefusedSkips:
    """A plugin of pytest, in the process that collects the reports: the session fails for each skip that is not
    allowed, and tells it."""

    def __init__(self):
        self._refused = {}

    def pytest_runtest_logreport(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            self._look_at(report)

    def pytest_collectreport(self, report):
        if report.skipped:  # a whole module, for want of an import
            self._look_at(report)

    def _look_at(self, report):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if not is_allowed(report.nodeid, reason):
            self._refused[report.nodeid] = reason

    def pytest_sessionfinish(self, session):
        if self._refused and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        if self._refused:
            terminalreporter.section(f"{len(self._refused)} skipped, which is a failure in CI", red=True)
            for test, reason in self._refused.items():
                terminalreporter.line(f"FAILED {test}: {reason}", red=True)
            terminalreporter.line(f"Install what is missing, or allow it in tests/{ALLOWED.name} and say why.")
