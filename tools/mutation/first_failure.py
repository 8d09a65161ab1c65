"""A plugin of pytest that writes down which tests have failed: `-p mutation.first_failure`, ODRADEK_FAILED=FILE."""

import os
from pathlib import Path

VARIABLE = "ODRADEK_FAILED"


def pytest_runtest_logreport(report):
    if report.failed:
        with Path(os.environ[VARIABLE]).open("a") as file:
            file.write(f"{report.nodeid}\n")
