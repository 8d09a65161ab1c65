"""The runner of the stages, with stages of our own."""

import argparse
import sys
from pathlib import Path

import pytest

import outside

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))

import stages

HANGS = "import subprocess, sys, time; subprocess.Popen(['sleep', '600'], process_group=0); time.sleep(600)"


@pytest.fixture
def options():
    return stages.Options(argparse.Namespace(long=False, hours=None))


def stage(monkeypatch, *codes):
    commands = [[sys.executable, "-c", code] for code in codes]
    monkeypatch.setitem(stages.STAGES, "ours", stages.Stage(1, lambda _: commands))


def test_a_stage_passes_if_all_its_commands_do(options, monkeypatch):
    stage(monkeypatch, "", "")
    assert stages.run("ours", options)[0]
    stage(monkeypatch, "", "raise SystemExit(1)")
    assert not stages.run("ours", options)[0]


def test_a_stage_that_hangs_fails_and_leaves_nothing_running(options, monkeypatch, capsys):
    seen = []

    class Seen(outside.Session):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            seen.append(self.pid)

    monkeypatch.setattr(outside, "Session", Seen)
    monkeypatch.setattr(stages, "STAGE_SECONDS_MIN", 2)
    monkeypatch.setattr(stages, "BUDGETS_MAX", 0)
    stage(monkeypatch, HANGS, "raise SystemExit('not reached')")
    assert not stages.run("ours", options)[0]
    assert "FAILED: the stage hangs: its time was up in " in capsys.readouterr().out
    assert [outside.processes_of_session(session) for session in seen] == [[]]


def test_pytest_shows_where_a_test_hangs_before_its_stage_is_ended(options, monkeypatch, tmp_path, capfd):
    (tmp_path / "test_it.py").write_text("import time\ndef test_that_hangs(): time.sleep(600)")
    commands = [[sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", str(tmp_path)]]
    monkeypatch.setitem(stages.STAGES, "ours", stages.Stage(1, lambda _: commands))
    monkeypatch.setattr(stages, "STAGE_SECONDS_MIN", 15)
    monkeypatch.setattr(stages, "BUDGETS_MAX", 0)
    assert not stages.run("ours", options)[0]
    assert "in test_that_hangs" in capfd.readouterr().err


def test_without_java_the_stage_of_spark_is_skipped_with_one_line(options, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("CI", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert stages.run("spark", options)[0]
    assert "skipped: there is no Java; install a JRE, 17 or newer" in capsys.readouterr().out


@pytest.mark.parametrize(("ci", "has_failed"), [("true", True), ("", False)])
def test_in_ci_a_stage_that_skips_something_fails(options, monkeypatch, capsys, ci, has_failed):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(stages, "VERSIONS", ("3.99",))
    assert stages.run("pythons", options)[0] != has_failed
    assert "skipped: Python 3.99 is not installed" in capsys.readouterr().out
