"""Which small mistakes in the source no test notices: a sample of mutations, each with the tests that run its line.

    python tools/mutants.py                                      200 of the whole source
    python tools/mutants.py --sample 60 --paths src/odradek/config
    python tools/mutants.py --seed 2                             others

The first run on a state of source and tests records which test runs which line, which takes some times as long as the
tests do; `.mutants/` keeps it. Mutations are made in copies of the checkout, two at a time. A survivor is a line to
read, not a failure: it may be a test that is missing, or a change that makes no difference.
"""

import argparse
import queue
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "kits"))

from mutation.covering import Covering, RecordingFailedError, covering_of
from mutation.mutations import Mutation, mutations_of
from mutation.trial import START_SECONDS_MAX, Outcome, failing, try_mutation
from mutation.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = 200
JOBS = 2
SOURCE = "src/odradek"
TESTS = ["tests/unit", "tests/golden", "tests/property"]


def drawn(root: Path, paths: list[str], count: int, seed: int) -> list[Mutation]:
    """Of all mutations in these files; the same for the same seed and source."""
    sources = {path: (root / path).read_bytes() for path in _files(root, paths)}
    every = [mutation for path, source in sources.items() for mutation in mutations_of(path, source)]
    random.Random(seed).shuffle(every)
    valid = (mutation for mutation in every if mutation.is_code(sources[mutation.path]))
    return [mutation for mutation, _ in zip(valid, range(count), strict=False)]


def _files(root: Path, paths: list[str]) -> list[str]:
    found: set[Path] = set()
    for path in paths:
        place = root / path
        found.update(place.rglob("*.py") if place.is_dir() else [place])
    return sorted(str(path.relative_to(root)) for path in found)


def run(root: Path, sample: list[Mutation], tests: list[str], jobs: int = JOBS) -> list[Outcome]:
    """Every mutation has been tried when this returns. What it says of them goes to the standard output."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        workspaces = [Workspace(root, Path(scratch, str(number))) for number in range(jobs)]
        covering = covering_of(root, workspaces[0], tests, jobs)
        outcomes = []
        progress = Progress(len(sample))
        for outcome in _tried(workspaces, covering, sample):
            progress.tell(outcome)
            outcomes.append(outcome)
        return _believed(workspaces[0], covering, outcomes)


def _tried(workspaces: list[Workspace], covering: Covering, sample: list[Mutation]) -> Iterator[Outcome]:
    free: queue.SimpleQueue[Workspace] = queue.SimpleQueue()
    for workspace in workspaces:
        free.put(workspace)

    def tried(mutation: Mutation, tests: list[str]) -> Outcome:
        workspace = free.get()
        try:
            return try_mutation(workspace, mutation, tests, covering.seconds)
        finally:
            free.put(workspace)

    pool = ThreadPoolExecutor(len(workspaces))
    try:
        # The tests are looked up here: the recorded data belongs to this thread.
        waiting = [pool.submit(tried, mutation, covering.tests_of(mutation)) for mutation in sample]
        for done in as_completed(waiting):
            yield done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _believed(workspace: Workspace, covering: Covering, outcomes: list[Outcome]) -> list[Outcome]:
    """A test that fails alone without any mutation has killed nothing."""
    killers = sorted({outcome.killed_by for outcome in outcomes} & set(covering.seconds))
    doubted = set()
    while killers:
        seconds = START_SECONDS_MAX + 4 * sum(covering.seconds[test] for test in killers)
        failed = failing(workspace, killers, seconds)
        if not failed:
            break
        print(f"{failed} fails without a mutation too, if it runs with these tests alone")
        doubted.add(failed)
        killers = [test for test in killers if test != failed] if failed in killers else []
    return [
        outcome._replace(is_killed=False, killed_by="") if outcome.killed_by in doubted else outcome
        for outcome in outcomes
    ]


class Progress:
    def __init__(self, total: int) -> None:
        self._total = total
        self._started = time.monotonic()
        self._done = self._survived = 0

    def tell(self, outcome: Outcome) -> None:
        self._done += 1
        self._survived += not outcome.is_killed
        left = (time.monotonic() - self._started) / self._done * (self._total - self._done)
        what = "killed  " if outcome.is_killed else "SURVIVED"
        by = f" by {outcome.killed_by}" if outcome.is_killed else ""
        print(
            f"{self._done:>4} of {self._total}, {self._survived} survived, about {left / 60:.0f} min left: "
            f"{what} {outcome} {outcome.seconds:.0f} s{by}",
            flush=True,
        )


def report(outcomes: list[Outcome]) -> str:
    survivors = sorted((outcome for outcome in outcomes if not outcome.is_killed), key=lambda each: each.mutation)
    killed = len(outcomes) - len(survivors)
    percent = 100 * killed / len(outcomes) if outcomes else 100
    return "\n".join(
        [*(str(outcome) for outcome in survivors), f"killed {killed} of {len(outcomes)} ({percent:.0f} %)"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"how many mutations ({SAMPLE})")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--paths", nargs="+", default=[SOURCE], metavar="PATH", help="files and directories to change")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="PATH", help="the tests that should notice")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # what runs is ended, and the copies removed
    try:
        outcomes = run(ROOT, drawn(ROOT, options.paths, options.sample, options.seed), options.tests)
    except RecordingFailedError as error:
        print(f"FAILED: {error}")
        return 1
    print("\n" + report(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
