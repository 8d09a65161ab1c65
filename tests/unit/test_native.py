"""Which executor serves, and the reason that `odradek --version` gives for the slower one."""

import os
import shutil
import sys
from pathlib import Path

import pytest

import outside
from odradek import native

PACKAGE = Path(native.__file__).parent
EXTENSION = "odradek.protocol._codec"

REPORT = f"""
from odradek import native
from odradek.protocol import declare
print(declare.executor.__name__)
print(native.load("{EXTENSION}") is None, native.why_pure())
"""


def run(root, *arguments, pure=None):
    environment = {name: value for name, value in os.environ.items() if name != native.PURE_VARIABLE}
    environment["PYTHONPATH"] = str(root)
    if pure is not None:
        environment[native.PURE_VARIABLE] = pure
    done = outside.run([sys.executable, *arguments], env=environment, check=True)
    return done.stdout.splitlines()


@pytest.fixture
def copied(tmp_path):
    """The package, to be spoilt."""
    ignored = shutil.ignore_patterns("__pycache__", "*.c")
    shutil.copytree(PACKAGE, tmp_path / "odradek", ignore=ignored)
    return tmp_path


@pytest.fixture(scope="module")
def compiled():
    try:
        return native.load_compiled(EXTENSION)
    except ImportError as error:
        pytest.skip(f"no compiled codec: {error}")


def test_the_extension_serves(compiled):
    assert run(PACKAGE.parent, "-c", REPORT) == [EXTENSION, "False None"]
    (version,) = run(PACKAGE.parent, "-m", "odradek.cli.main", "--version")
    assert "(compiled codec and record kernel; Python 3." in version


@pytest.mark.parametrize("value", ["1", "yes"])
def test_the_environment_forces_the_twin(value):
    assert run(PACKAGE.parent, "-c", REPORT, pure=value) == ["odradek.protocol.codec", "True ODRADEK_PURE is set"]
    (version,) = run(PACKAGE.parent, "-m", "odradek.cli.main", "--version", pure=value)
    assert "(pure Python: ODRADEK_PURE is set; Python 3." in version


@pytest.mark.parametrize("value", ["", "0"])
def test_an_empty_or_zero_variable_forces_nothing(value, compiled):
    assert run(PACKAGE.parent, "-c", REPORT, pure=value) == [EXTENSION, "False None"]


def test_the_extension_can_be_had_in_spite_of_the_environment(compiled, monkeypatch):
    monkeypatch.setenv(native.PURE_VARIABLE, "1")
    assert native.load_compiled(EXTENSION) is compiled


def test_a_stale_extension_is_refused(compiled, copied):
    source = copied / "odradek" / "protocol" / "_codec.pyx"
    source.write_bytes(source.read_bytes() + b"\n# newer than the extension\n")
    reason = f"{EXTENSION} was built from another source: install odradek again"
    assert run(copied, "-c", REPORT) == ["odradek.protocol.codec", f"True {reason}"]
    (version,) = run(copied, "-m", "odradek.cli.main", "--version")
    assert f"(pure Python: {reason}; Python 3." in version


def test_an_unchanged_copy_is_not_stale(compiled, copied):
    assert run(copied, "-c", REPORT) == [EXTENSION, "False None"]


@pytest.mark.parametrize("report", ["no compiler: cc was not found when odradek was installed", None])
def test_without_the_extension_the_twin_serves_and_the_build_says_why(report, copied):
    for extension in (copied / "odradek").rglob("*.so"):
        extension.unlink()
    written = copied / "odradek" / "native_build.txt"
    if report is None:
        written.unlink(missing_ok=True)
    else:
        written.write_text(report)
    reason = report or f"No module named '{EXTENSION}'"
    assert run(copied, "-c", REPORT) == ["odradek.protocol.codec", f"True {reason}"]
    (version,) = run(copied, "-m", "odradek.cli.main", "--version")
    assert f"(pure Python: {reason}; Python 3." in version
