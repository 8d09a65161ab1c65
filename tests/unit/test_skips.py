"""In CI, a session fails for a skip that is not on the list, and says which."""

import os
import sys
from pathlib import Path

import pytest

import outside
import skips

CONFTEST = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "kits")!r})
import pytest
from pathlib import Path
import skips

skips.is_allowed = lambda where, reason, is_allowed=skips.is_allowed: (
    is_allowed(where, reason, Path(__file__).parent / "allowed.txt"))

def pytest_configure(config):
    if skips.are_failures() and not hasattr(config, "workerinput"):
        config.pluginmanager.register(skips.RefusedSkips())
"""
TESTS = """
import pytest

@pytest.mark.parametrize("client", ["kcat", "java"])
def test_it(client):
    pytest.skip(f"{client} is not installed")

@pytest.mark.xfail(strict=True, reason="known")
def test_known():
    raise AssertionError

def test_passes():
    pass
"""
MODULE = "import pytest\npytest.importorskip('no_such_module', reason='pip install it')\ndef test_it(): pass\n"


@pytest.fixture(params=[(), ("-p", "xdist.plugin", "-n", "2")], ids=["alone", "xdist"])
def session(request, tmp_path):
    def run(allowed, tests=TESTS, ci="true"):
        (tmp_path / "allowed.txt").write_text(allowed)
        (tmp_path / "conftest.py").write_text(CONFTEST)
        (tmp_path / "test_it.py").write_text(tests)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, *request.param]
        environment = {**os.environ, "CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return outside.run([*command, "--rootdir", tmp_path, tmp_path], cwd=tmp_path, env=environment)

    return run


def test_a_skip_that_is_not_allowed_fails_the_session(session):
    done = session("*: kcat is not installed # it is only in Debian")
    assert done.returncode == 1
    assert "FAILED test_it.py::test_it[java]: java is not installed" in done.stdout
    assert "1 skipped, which is a failure in CI" in done.stdout


def test_allowed_ones_do_not(session):
    assert session("*: * is not installed # both\n# a remark\n").returncode == 0
    assert session("*::test_it[kcat]: * # one\n*::test_it[java]: java* # two").returncode == 0


def test_outside_ci_nothing_changes(session):
    assert session("", ci="").returncode == 0


def test_a_whole_module_that_is_skipped_counts_too(session):
    done = session("", MODULE)
    assert done.returncode == 1
    assert "FAILED test_it.py: pip install it" in done.stdout
    assert session("test_it.py: pip install it # not to be had", MODULE).returncode in (0, 5)


def test_a_pattern_must_say_why(tmp_path):
    (tmp_path / "allowed.txt").write_text("*: something\n")
    with pytest.raises(AssertionError, match=r"allowed.txt:1: say behind a # why \*: something may be skipped"):
        skips.allowed(tmp_path / "allowed.txt")


def test_our_own_list_is_sound():
    skips.allowed()
