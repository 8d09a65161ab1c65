"""The tests of one mutation, run in a workspace: whether one of them fails.

A mutation can make a loop endless, so the tests have a deadline, and to miss it counts as noticed. It can also change
the names of parametrised tests: then those that were asked for are not found, and their files are run as a whole.
"""

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import outside
from mutation import first_failure
from mutation.mutations import Mutation
from mutation.workspace import Workspace

TESTS_SECONDS_MAX = 60.0  # as recorded; what would take longer is left out
START_SECONDS_MAX = 60.0  # to import and collect: seconds on an idle machine
SLOWER_MAX = 4  # than recorded: the machine may be busy

PASSED = 0
NOT_FOUND = 4  # pytest: usage error
NONE_RUN = 5


class Outcome(NamedTuple):
    mutation: Mutation
    is_killed: bool
    tests: int  # how many were asked for
    left_out: int
    killed_by: str  # a test, or a word for what else it was
    seconds: float

    def __str__(self) -> str:
        more = f", {self.left_out} slower ones left out" if self.left_out else ""
        ran = f"{self.tests} tests ran{more}" if self.tests else "no test runs this line"
        return f"{self.mutation}  ({ran})"


def chosen(tests: list[str], seconds: dict[str, float]) -> list[str]:
    """As many as fit into the time that a mutation may take, and at least one."""
    left = TESTS_SECONDS_MAX
    found = []
    for test in tests:
        left -= seconds[test]
        if left < 0 and found:
            break
        found.append(test)
    return found


def try_mutation(workspace: Workspace, mutation: Mutation, tests: list[str], seconds: dict[str, float]) -> Outcome:
    started = time.monotonic()
    some = chosen(tests, seconds)
    killed_by = ""
    if some:
        source = (workspace.root / mutation.path).read_bytes()
        deadline = START_SECONDS_MAX + SLOWER_MAX * sum(seconds[test] for test in some)
        with workspace.changed(mutation.path, mutation.applied(source)):
            killed_by = failing(workspace, some, deadline)
    took = time.monotonic() - started
    return Outcome(mutation, bool(killed_by), len(some), len(tests) - len(some), killed_by, took)


def failing(workspace: Workspace, tests: list[str], deadline: float) -> str:
    """The first test that fails, or what else keeps them from passing; nothing if all pass."""
    status, failed = _run(workspace, tests, deadline)
    if status == NOT_FOUND:
        status, failed = _run(workspace, sorted({test.partition("::")[0] for test in tests}), deadline)
    if status is None:
        return "time is up"
    if status in (PASSED, NONE_RUN):
        return ""
    return failed or f"pytest ended with status {status}"


def _run(workspace: Workspace, tests: list[str], deadline: float) -> tuple[int | None, str]:
    with tempfile.TemporaryDirectory() as scratch:
        names, failed = Path(scratch, "tests"), Path(scratch, "failed")
        names.write_text("".join(f"{test}\n" for test in tests))
        command = workspace.pytest("-x", "--tb=no", "-p", "mutation.first_failure", "-p", "no:xdist", f"@{names}")
        environment = workspace.environment(**{first_failure.VARIABLE: str(failed)})
        with outside.Session(
            command,
            seconds=deadline,
            cwd=workspace.root,
            env=environment,
            stdout=outside.DEVNULL,
            stderr=outside.DEVNULL,
        ) as running:
            status = running.wait()
        if running.is_overdue:
            return None, ""
        return status, failed.read_text().partition("\n")[0] if failed.exists() else ""
