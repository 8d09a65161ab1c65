"""A kcat that takes its time to start loses no record: what is written "once it is there" waits for it."""

import shutil

import clients
import four_listeners
import pytest
from fetching import Unavailable

import outside

SLOW = """\
#!/bin/sh
case " $* " in *" -C "*) sleep 3 ;; esac
exec {kcat} "$@"
"""


@pytest.fixture
def slow_kcat(tmp_path, monkeypatch):
    try:
        command = clients.kcat()
    except Unavailable as reason:
        pytest.skip(str(reason))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kcat").write_text(SLOW.format(kcat=shutil.which("kcat")))
    (tmp_path / "bin" / "kcat").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return command


def test_from_the_end(slow_kcat, tmp_path):
    with four_listeners.broker(tmp_path, "4.3") as where:
        told = [f"{name}={value}" for name, value in where.items()]
        done = outside.run([*slow_kcat, *told, "only=from-end"])
    assert done.stdout.startswith("from-end\tok\t"), done.stdout + done.stderr
