"""A plugin of pytest: which test runs which line, and how long each of them takes.

    pytest -p mutation.recording, with the directory for what it finds in ODRADEK_RECORD

Lines that run outside of any test, as when a module is imported, belong to the test with the empty name.
"""

import json
import os
from pathlib import Path

import coverage
import pytest

VARIABLE = "ODRADEK_RECORD"
DATA = "coverage"
TESTS = "tests.json"


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Before the first module of the package is imported by anybody but pytest itself."""
    early_config.pluginmanager.register(Recorder(Path(os.environ[VARIABLE])))


class Recorder:
    def __init__(self, directory):
        self._directory = directory
        self._seconds = {}
        self._failed = set()
        self._coverage = coverage.Coverage(
            data_file=directory / DATA, data_suffix=True, source=["src"], config_file=False
        )
        self._coverage.set_option("run:relative_files", True)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report):
        """Called in the process that the workers report to, too, if there are any: there all of them are counted."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self, session):
        self._coverage.stop()
        self._coverage.save()
        if not hasattr(session.config, "workerinput"):
            passed = {test: round(took, 4) for test, took in self._seconds.items() if test not in self._failed}
            (self._directory / TESTS).write_text(json.dumps(passed, indent=0, sort_keys=True))
