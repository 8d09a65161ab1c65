"""The stages of `make test`, by cost: each is a list of commands with a budget in minutes on two cores.

    python tools/stages.py              every stage, as CI runs them
    python tools/stages.py unit lint    these
    python tools/stages.py --long       every stage with far more examples, an hour of fuzzing, other people's suites

A failed stage does not stop the next one. An overrun of a budget is reported, not punished: machines differ. But a
stage that takes four times as long hangs: it has failed, and everything that it has started is ended. Before that, of a
test that hangs, pytest shows where each thread is.
"""

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "kits"))

import outside
import skips

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
BIN = Path(PYTHON).parent
PYTEST = [PYTHON, "-m", "pytest", "-q", "-n", "2"]
VERSIONS = ("3.11", "3.12", "3.13")
LONG_ROUNDS = 30
_OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # a make that a test runs is no part of the one that runs the test
BUDGETS_MAX = 4  # a stage that takes so many times its budget hangs
STAGE_SECONDS_MIN = 600
LONG_STAGE_SECONDS_MAX = 24 * 3600
FETCH_ATTEMPTS = 2  # a network has bad moments

Command = list[str]


class Stage:
    def __init__(
        self, minutes: float, commands: "Callable[[Options], list[Command]]", env: dict[str, str] | None = None
    ):
        self.minutes = minutes
        self.commands = commands
        self.env = env or {}

    def seconds_max(self, is_long: bool) -> float:
        return LONG_STAGE_SECONDS_MAX if is_long else max(BUDGETS_MAX * self.minutes * 60, STAGE_SECONDS_MIN)


class SkipRefusedError(Exception):
    """A part of a stage cannot run here, and should: in CI a skip has to be on the list of those that are allowed."""


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    if skips.are_failures() and not skips.is_allowed("tools/stages.py", reason):
        raise SkipRefusedError(f"skipped, which is a failure in CI unless tests/{skips.ALLOWED.name} allows it")


class Options:
    def __init__(self, arguments: argparse.Namespace):
        self.long: bool = arguments.long
        self.fuzz_seconds: int = int(arguments.hours * 3600) if arguments.hours else 3600 if arguments.long else 60


def lint(_: Options) -> list[Command]:
    return [
        [str(BIN / "ruff"), "format", "--check"],
        [str(BIN / "ruff"), "check"],
        [str(BIN / "mypy")],
        [str(BIN / "lint-imports")],
        [PYTHON, "tools/pages.py", "--check"],
    ]


def unit(_: Options) -> list[Command]:
    return [[*PYTEST, "tests/unit", "tests/golden", "tests/conformance"]]


def pure(_: Options) -> list[Command]:
    """The twins must serve alone: golden bytes, records, the recorded conversations, and the exchange with a client."""
    return [
        [*PYTEST, "tests/golden", "tests/unit/records", "tests/unit/protocol"],
        [PYTHON, "-m", "pytest", "-q", "tests/interop/test_records_clients.py", "-k", "not aiokafka"],
    ]


def pythons(options: Options) -> list[Command]:
    """The unit tests on the newest supported Python. On one between it and ours, those of what leans most upon the
    interpreter: the codec and the records. With --long all of them, and the golden ones.
    """
    commands: list[Command] = []
    for version in VERSIONS:
        if version == f"{sys.version_info.major}.{sys.version_info.minor}":
            continue
        python = find_python(version)
        if python is None:
            skip(f"Python {version} is not installed; install it to test on it too")
            continue
        venv = ROOT / f".venv-{version}"
        inside = str(venv / "bin" / "python")
        tests = ["tests/unit"] if version == VERSIONS[-1] else ["tests/unit/protocol", "tests/unit/records"]
        if options.long:
            tests = ["tests/unit", "tests/golden"]
        commands += [
            [python, "-m", "venv", "--clear", str(venv)],
            [inside, "-m", "pip", "install", "--quiet", ".[test]", "kafka-python>=2.2"],
            [inside, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *tests],
        ]
    return commands


def find_python(version: str) -> str | None:
    """A `python3.x` that runs: a version manager leaves names on the path that only say what to install."""
    candidates = [shutil.which(f"python{version}")]
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(path / "bin" / f"python{version}") for path in sorted(managed.glob(f"{version}.*"))]
    return next((each for each in candidates if each and Path(each).exists() and _makes_environments(each)), None)


def _makes_environments(python: str) -> bool:
    return outside.run([python, "-c", "import venv"]).returncode == 0


def properties(options: Options) -> list[Command]:
    """The same examples in every CI run; with --long, new ones in each of many rounds."""
    return [[*PYTEST, "tests/property"]] * (LONG_ROUNDS if options.long else 1)


def simulation(_: Options) -> list[Command]:
    return [[*PYTEST, "tests/sim"]]


def fuzz(options: Options) -> list[Command]:
    probe = [PYTHON, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "atheris>=2.3"]
    if not any(outside.run(probe, seconds=STAGE_SECONDS_MIN).returncode == 0 for _ in range(FETCH_ATTEMPTS)):
        skip("atheris has no wheel for this Python; use one of 3.11-3.13 on x86-64 Linux to fuzz")
        return []
    flags = [f"-max_total_time={options.fuzz_seconds // 2}", *([] if options.long else ["-seed=1"])]
    return [
        [PYTHON, "tests/fuzz/decoders.py", *flags, "fuzz-corpus"],
        [PYTHON, "tests/fuzz/requests.py", *flags, "fuzz-requests"],
    ]


def interop(_: Options) -> list[Command]:
    """A file is one process: the clients share a broker, and run beside what Kafka's own tools are asked."""
    return [[*PYTEST, "--dist", "loadfile", "tests/interop"]]


def spark(_: Options) -> list[Command]:
    """In an environment of its own: Spark is half a gigabyte that no other stage wants. One process, one session."""
    if not _has_java():
        skip("there is no Java; install a JRE, 17 or newer, to test with Spark")
        return []
    venv = ROOT / ".venv-spark"
    inside = str(venv / "bin" / "python")
    return [
        [PYTHON, "-m", "venv", str(venv)],
        [inside, "-m", "pip", "install", "--quiet", ".[test,spark,lake]"],
        [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/spark"],
    ]


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") is not None or (home is not None and (Path(home) / "bin" / "java").exists())


def suites(_: Options) -> list[Command]:
    """The test suites of other people's clients, where there are any: ODRADEK_SUITES."""
    return [[PYTHON, "tools/suites.py"]]


def system(_: Options) -> list[Command]:
    return [[PYTHON, "-m", "pytest", "-q", "tests/system"]]


STAGES: dict[str, Stage] = {
    "lint": Stage(1, lint),
    "unit": Stage(6, unit),
    "pure": Stage(2, pure, {"ODRADEK_PURE": "1"}),
    "pythons": Stage(6, pythons),
    "property": Stage(4, properties),
    "sim": Stage(8, simulation),
    "fuzz": Stage(1.5, fuzz),
    "interop": Stage(9, interop),
    "spark": Stage(8, spark),
    "system": Stage(4, system),
    "suites": Stage(60, suites),
}
ONLY_LONG = frozenset(["suites"])


def run(name: str, options: Options) -> tuple[bool, float]:
    stage = STAGES[name]
    started = time.monotonic()
    print(f"\n== {name} (budget {stage.minutes:g} min)", flush=True)
    seconds_max = stage.seconds_max(options.long)
    environment = _environment(stage, options, seconds_max)
    try:
        commands = stage.commands(options)
        passed = all(_passes(command, environment, started + seconds_max) for command in commands)
    except SkipRefusedError as reason:
        print(f"FAILED: {reason}", flush=True)
        passed = False
    return passed, (time.monotonic() - started) / 60


def _environment(stage: Stage, options: Options, seconds_max: float) -> dict[str, str]:
    environment = {**os.environ, **stage.env, "ODRADEK_EXAMPLES": "random" if options.long else "same"}
    for name in ("PYTHONPATH", *_OF_MAKE):
        environment.pop(name, None)
    if options.long:
        environment.update(ODRADEK_SEEDS="5000", ODRADEK_KILLS="50")
    show_where = f"-o faulthandler_timeout={seconds_max / 3:.0f}"
    environment["PYTEST_ADDOPTS"] = " ".join(filter(None, [os.environ.get("PYTEST_ADDOPTS"), show_where]))
    return environment


def _passes(command: Command, environment: dict[str, str], deadline: float) -> bool:
    """What is fetched is tried twice."""
    is_fetch = "pip" in command and "install" in command
    return any(_passes_once(command, environment, deadline) for _ in range(FETCH_ATTEMPTS if is_fetch else 1))


def _passes_once(command: Command, environment: dict[str, str], deadline: float) -> bool:
    """In a session of its own: whatever a test may have left running ends with the command."""
    shown = " ".join(Path(part).name if part.startswith("/") else part for part in command)
    print("$ " + shown, flush=True)
    left = max(deadline - time.monotonic(), 0)
    with outside.Session(command, seconds=left, cwd=ROOT, env=environment) as running:
        status = running.wait()
    if running.is_overdue:
        print(f"FAILED: the stage hangs: its time was up in {shown}, which was ended", flush=True)
    return status == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--hours", type=float, help="of fuzzing")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.stages if name not in STAGES]
    if unknown:
        parser.error(f"no stage is called {unknown[0]}; there are {', '.join(STAGES)}")
    options = Options(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # what runs is ended on the way out
    everything = [name for name in STAGES if options.long or name not in ONLY_LONG]
    outcomes = {name: run(name, options) for name in arguments.stages or everything}
    print()
    for name, (passed, minutes) in outcomes.items():
        over = "  over budget" if minutes > STAGES[name].minutes and not options.long else ""
        print(f"{'passed' if passed else 'FAILED':<7}{name:<10}{minutes:5.1f} of {STAGES[name].minutes:g} min{over}")
    return 0 if all(passed for passed, _ in outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
