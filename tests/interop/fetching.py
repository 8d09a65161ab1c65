"""What the tests fetch, by name and version, and keep for the next run: below ~/.cache/odradek/tests, or below
ODRADEK_TEST_CACHE.

Several processes want the same thing at the same time, and an installer does not expect another one in its directory:
Maven, for one, breaks the downloads of a second Maven in the same repository. So a fetch holds a lock against other
processes; whoever has waited for it finds the work done. A network has bad moments: what fails is cleared away and
tried once more.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from pathlib import Path

import outside

PROGRAM_SECONDS_MAX = 600
LOCK_SECONDS_MAX = 1800  # of everything that somebody else fetches under it
ATTEMPTS = 2


class Unavailable(Exception):  # noqa: N818 - a state of the machine, not a fault
    """Why something cannot run here, and what to install."""


def cache():
    return Path(os.environ.get("ODRADEK_TEST_CACHE") or Path.home() / ".cache" / "odradek" / "tests")


def fetched(name, wanted, install, lock=None):
    """The directory that holds what is wanted: `install(directory)` has filled it, now or for an earlier run. `wanted`
    is all that decides what gets there. Those with the same `lock` are fetched one after the other."""
    digest = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:8]
    directory = cache() / f"{name}-{digest}"
    if not (directory / "complete").exists():
        with _locked(lock or directory.name):
            if not (directory / "complete").exists():
                _fill(directory, install)
    return directory


def _fill(directory, install):
    for attempt in range(1, ATTEMPTS + 1):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        try:
            install(directory)
        except Unavailable:
            if attempt == ATTEMPTS:
                raise
        else:
            (directory / "complete").touch()
            return


@contextlib.contextmanager
def _locked(name):
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / f"{name}.lock", "w") as file:
        deadline = time.monotonic() + LOCK_SECONDS_MAX
        while not _is_taken(file):
            if time.monotonic() > deadline:
                raise Unavailable(f"another process has been fetching for {LOCK_SECONDS_MAX} s: it holds {file.name}")
            time.sleep(0.1)
        yield


def _is_taken(file):
    """By us; the lock ends when the file is closed, or with the process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def run_logged(arguments, directory, what):
    log = directory / "fetch.log"
    try:
        done = outside.run(arguments, seconds=PROGRAM_SECONDS_MAX, cwd=directory, stderr=outside.STDOUT)
    except outside.Overdue as overdue:
        raise Unavailable(f"{what}: {overdue}") from None
    with open(log, "a") as output:
        output.write(done.stdout)
    if done.returncode:
        raise Unavailable(f"{what} has failed: see {log}. {outside.said(done.stdout)}")
