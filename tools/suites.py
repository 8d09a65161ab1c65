"""The test suites of other people's clients, each against a fresh broker of ours, beside what Apache Kafka scores.

    python tools/suites.py --suites DIR                       all of them, on both releases
    python tools/suites.py --suites DIR kcat --release 4.3    one, on one

DIR, or ODRADEK_SUITES, holds a script per suite: `NAME.sh HOST:PORT [options]` fetches and builds what it needs, runs
it, and prints as its last line one JSON object with suite, version, passed, failed, skipped and failed_ids. What was
seen goes to docs/suites.json and from there to docs/compatibility.md. Fails if Kafka passes more, or if the broker's
log holds an error that is ours.
"""

import argparse
import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "kits"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from suite_table import KAFKA, PROPERTIES, SUITES, Run, Suite, is_as_good, keep, number, score

import outside
from odradek.testing import Broker

ROOT = Path(__file__).resolve().parent.parent
VARIABLE = "ODRADEK_SUITES"
ABSENT = f"""\
skipped: no suites. Give the directory with their scripts as --suites DIR or in {VARIABLE}; without it, `make interop`
still runs the part of them that it can fetch by itself.\
"""
SUITE_SECONDS_MAX = 3 * 3600
LIST = "--list"  # of the scripts that can run some of their tests
KEPT = ("version", "passed", "failed", "skipped", "failed_ids")


class NotRun(Exception):  # noqa: N818 - a state of the machine, not a fault
    """Why a suite could not run here."""


def main() -> int:
    options = _options()
    if options.suites is None or not options.suites.is_dir():
        print(ABSENT)
        return 0
    chosen = [suite for suite in SUITES if not options.names or suite.name in options.names]
    wanted = [(suite, release) for suite in chosen for release in suite.runs if options.release in (None, release)]
    outcomes = [run_suite(options.suites, suite, release) for suite, release in wanted]
    outside.run([sys.executable, ROOT / "tools" / "pages.py"], check=True)
    return 0 if all(outcomes) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SUITE", help=", ".join(suite.name for suite in SUITES))
    given = os.environ.get(VARIABLE)
    parser.add_argument("--suites", type=Path, metavar="DIR", default=Path(given) if given else None)
    parser.add_argument("--release", choices=list(KAFKA))
    options = parser.parse_args()
    unknown = set(options.names) - {suite.name for suite in SUITES}
    if unknown:
        parser.error(f"no suite is called {min(unknown)}; there are {', '.join(suite.name for suite in SUITES)}")
    return options


def run_suite(directory: Path, suite: Suite, release: str) -> bool:
    """Whether ours is as good as Kafka there. What cannot run is told, and is no failure."""
    script, run = directory / suite.script, suite.runs[release]
    print(f"== {suite.name} on {release}", flush=True)
    try:
        result, errors = _against_ours(script, run, release)
        if result["failed_ids"] and LIST in run.arguments:
            errors += _again(script, run, release, result)
    except NotRun as reason:
        print(f"skipped: {reason}")
        return True
    keep(suite.name, release, {name: result[name] for name in KEPT})
    print(f"{score(result)} (passed/failed/skipped); Apache Kafka {KAFKA[release]}: {run.kafka}")
    for line in [*result["failed_ids"], *errors]:
        print(f"  {line}")
    return is_as_good(result, run.kafka) and not errors


def _again(script: Path, run: Run, release: str, result: dict[str, Any]) -> list[str]:
    """What has failed once more, by itself: hundreds of deadlines are not all kept where others use the machine too."""
    numbers = " ".join(dict.fromkeys(number(test) for test in result["failed_ids"]))
    place = run.arguments.index(LIST) + 1
    alone = run._replace(arguments=(*run.arguments[:place], numbers, *run.arguments[place + 1 :]))
    second, errors = _against_ours(script, alone, release)
    still = [test for test in result["failed_ids"] if test in second["failed_ids"]]
    result["passed"] += result["failed"] - len(still)
    result["failed"], result["failed_ids"] = len(still), still
    return errors


def _against_ours(script: Path, run: Run, release: str) -> tuple[dict[str, Any], list[str]]:
    """The suite's own summary, and the lines of the broker's log that should not be there."""
    if not script.exists():
        raise NotRun(f"there is no {script}")
    with tempfile.TemporaryDirectory(prefix="odradek-suites-") as directory:
        log = Path(directory) / "server.log"
        address = free_address()
        with Broker(release, listen=address, config={**properties(release, address), **run.properties}, log=log):
            result = _summary(script, address, run)
        return result, [line for line in log.read_text().splitlines() if " ERROR " in line or "Traceback" in line]


def properties(release: str, address: str) -> dict[str, str]:
    """kafka-python asserts where `advertised.listeners` comes from: by default up to 3.x, from the file since 4.0."""
    advertised = {"advertised.listeners": f"PLAINTEXT://{address}"} if release >= "4" else {}
    return {**PROPERTIES, **advertised}


def _summary(script: Path, address: str, run: Run) -> dict[str, Any]:
    command = [str(script), address, *run.arguments]
    print("$ " + " ".join([script.name, *command[1:]]), flush=True)
    try:
        done = outside.run(command, seconds=SUITE_SECONDS_MAX, stderr=None, env={**os.environ, **run.environment})
    except outside.Overdue as overdue:
        raise NotRun(str(overdue)) from None
    lines = done.stdout.splitlines()
    if not lines:
        raise NotRun(f"{script.name} ended with status {done.returncode} and no summary")
    result: dict[str, Any] = json.loads(lines[-1])
    result.setdefault("version", result.get("tools"))  # Kafka's own: their version is Kafka's
    if "not_run" in result:
        raise NotRun(result["not_run"])
    return result


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


if __name__ == "__main__":
    sys.exit(main())
