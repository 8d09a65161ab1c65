"""Which words may stand at the cursor, as far as no broker has to be asked; and the script for bash, in bash."""

import os
import shutil
import sys

import pytest

import outside
from odradek.cli.client.completion_words import candidates
from odradek.cli.main import main


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No broker, no contexts of whoever runs the tests."""
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "127.0.0.1:1")
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(tmp_path))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("to", ["topics"]),
        ("topics s", ["show", "set"]),
        ("-b a:1 topics s", ["show", "set"]),
        ("topics list --in", ["--internal"]),
        ("topics create --file ", [":files"]),
        ("topics create --config ", [":files"]),
        ("configs show us", ["user"]),
        ("completion z", ["zsh"]),
        ("groups list --kind s", ["share", "streams"]),
        ("topics show ", []),
        ("nothing ", []),
        ("nothing", []),
        ("log dump ", [":files"]),
    ],
)
def test_the_words_that_may_follow(words, found):
    assert candidates(words.split(" ")) == found


def test_contexts_by_their_names():
    assert main(["contexts", "set", "prod", "-b", "a:1"]) == 0
    assert candidates(["topics", "list", "-c", ""]) == ["prod"]
    assert candidates(["contexts", "use", "p"]) == ["prod"]


def completed(line):
    """What bash itself makes of a line and a Tab."""
    script = f"""
odradek() {{ "$PYTHON" -m odradek "$@"; }}
source <(odradek completion bash)
COMP_LINE='odradek {line}'; COMP_POINT=${{#COMP_LINE}}
_odradek odradek
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = {**os.environ, "PYTHON": sys.executable}
    return outside.run(["bash", "-eu", "-c", script], env=environment, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash(tmp_path, monkeypatch):
    (tmp_path / "a.json").touch()
    monkeypatch.chdir(tmp_path)
    assert completed("topics gr") == ["grow"]
    assert completed("topics create --file ") == ["a.json"]
    assert completed("-b 127.0.0.1:1 groups de") == ["delete"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "odradek completion words --" in capsys.readouterr().out.replace('"$1" completion', "odradek completion")


def test_a_shell_that_there_is_not(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "there is no 'tcsh'; there are bash, zsh, fish" in capsys.readouterr().err
