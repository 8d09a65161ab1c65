"""kafka-python's own integration tests: fetched as its source distribution, pointed at a broker that already runs.

The distribution leaves out `test/service.py`, which starts brokers; for one that runs already, names are enough.
"""

import os
import sys
import sysconfig
import tarfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from fetching import fetched, run_logged

import outside

VERSION = "3.0.12"
NEEDS = [
    *("pytest>=8", "pytest-mock>=3.14", "pytest-timeout>=2.3", "py>=1.11"),
    *("crc32c>=2.7", "lz4>=4.3", "python-snappy>=0.7", "zstandard>=0.22"),
]
SERVICE = """\
class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def _nothing(self, *arguments, **options):
        pass

    open = close = start = stop = dump_logs = wait_for = _nothing


class SpawnedService:
    pass
"""
# What is left out: test_ssl_integration.py and test_sasl_integration.py, which start brokers of their own.
PARTS = ("admin", "consumer", "producer")
RUN_SECONDS_MAX = 600
TEST_SECONDS_MAX = 120
AGAIN_MAX = 2  # failed tests that may have met a race of the client's own


class Outcome(NamedTuple):
    passed: int
    skipped: int
    failed: list[str]


def directory():
    """Where the suite lies, with an environment of its own beside it; raises `Unavailable`."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return fetched(f"kafka-python-suite-{python}", [VERSION, NEEDS, SERVICE], _install)


def _install(where):
    run_logged([sys.executable, "-m", "venv", "--clear", "venv"], where, "python3 -m venv")
    pip = ["venv/bin/python", "-m", "pip"]
    run_logged([*pip, "install", "--quiet", "--only-binary", ":all:", *NEEDS], where, "pip install " + " ".join(NEEDS))
    source = [*pip, "download", "--quiet", "--no-deps", "--no-binary", "kafka-python", f"kafka-python=={VERSION}"]
    run_logged(source, where, f"pip download kafka-python=={VERSION}")
    with tarfile.open(next(where.glob("kafka_python-*.tar.gz"))) as archive:
        archive.extractall(where, filter="data")
    (where / "suite").unlink(missing_ok=True)
    (where / "suite").symlink_to(f"kafka_python-{VERSION}")
    (where / "suite" / "test" / "__init__.py").touch()
    (where / "suite" / "test" / "service.py").write_text(SERVICE)


def run(bootstrap, kafka_version, scratch: Path) -> Outcome:
    """`kafka_version` is what the clients are told of the broker: it fixes the versions that they speak.

    Once in a hundred runs or so a consumer of 3.0.12 that subscribes while its bootstrap is under way forgets to ask
    for its topic, and sleeps for five minutes. So what has failed is run once more, if it is little.
    """
    first = _run(bootstrap, kafka_version, scratch, [f"test/integration/test_{part}_integration.py" for part in PARTS])
    if not 0 < len(first.failed) <= AGAIN_MAX:
        return first
    again = _run(bootstrap, kafka_version, scratch, first.failed)
    return Outcome(first.passed + again.passed, first.skipped + again.skipped, again.failed)


def run_on_our_clients(bootstrap, kafka_version, scratch: Path) -> Outcome:
    """The tests of producer and consumer with `odradek.compat.kafka_python` in the place of theirs."""
    source = Path(__file__).parents[2] / "src"
    places = [source, Path(__file__).parent, sysconfig.get_paths()["purelib"]]
    environment = {"PYTHONPATH": os.pathsep.join(map(os.fspath, places))}
    tests = [f"test/integration/test_{part}_integration.py" for part in ("consumer", "producer")]
    return _run(bootstrap, kafka_version, scratch, [*tests, "-p", "kafka_python_shim"], environment)


def _run(bootstrap, kafka_version, scratch: Path, tests: list[str], more: dict[str, str] | None = None) -> Outcome:
    where, report = directory(), scratch / "report.xml"
    settings = {"KAFKA_VERSION": kafka_version, "KAFKA_URI": f"kafka://{bootstrap}", "KAFKA_ROOT": os.fspath(scratch)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    command = [os.fspath(where / "venv" / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [f"--timeout={TEST_SECONDS_MAX}", "--timeout-method=signal", "-o", "log_level=WARNING"]
    command += [f"--junitxml={report}", *tests]
    environment |= {**settings, **(more or {})}
    with open(scratch / "suite.log", "ab") as log:
        outside.run(command, seconds=RUN_SECONDS_MAX, cwd=where / "suite", env=environment, stdout=log, stderr=log)
    return _outcome(report)


def _outcome(report: Path) -> Outcome:
    """What has failed by the names that pytest takes."""
    failed, passed, skipped = [], 0, 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.append(f"{case.get('classname', '?').replace('.', '/')}.py::{case.get('name', '?')}")
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return Outcome(passed, skipped, failed)
