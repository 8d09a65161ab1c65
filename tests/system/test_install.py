"""Installs from a clean copy of the tree, as a user would: with a compiler, without one, without Python.h."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

import outside

PIP_OPTIONS = ("--quiet", "--no-build-isolation", "--no-deps")
ROOT = Path(__file__).resolve().parents[2]
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="install a C compiler to run this")
needs_headers = pytest.mark.skipif(
    not (Path(sysconfig.get_path("include")) / "Python.h").exists(), reason="install Python's headers to run this"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What git tracks, and nothing that an earlier build left behind."""
    copy = tmp_path / "checkout"
    copy.mkdir()
    listed = outside.run(["git", "ls-files", "-z"], cwd=ROOT, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if name.startswith("tests/") or not (ROOT / name).exists():
            continue
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    return copy


def install(checkout: Path, target: Path, **environment: str) -> None:
    command = [sys.executable, "-m", "pip", "install", *PIP_OPTIONS, "--target", str(target), str(checkout)]
    outside.run(command, seconds=600, env={**os.environ, **environment}, check=True)


def odradek(target: Path, *arguments: str, **environment: str) -> str:
    """Runs the installed package, with the dependencies of this environment behind it."""
    libraries = os.pathsep.join([str(target), sysconfig.get_path("platlib")])
    command = [sys.executable, "-S", "-m", "odradek.cli.main", *arguments]
    environment = {**os.environ, "PYTHONPATH": libraries, **environment}
    return outside.run(command, seconds=60, env=environment, check=True).stdout


@needs_compiler
@needs_headers
def test_with_a_compiler_the_extensions_serve(checkout: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    install(checkout, target)
    assert "compiled codec and record kernel" in odradek(target, "--version")
    assert "pure Python: ODRADEK_PURE is set" in odradek(target, "--version", ODRADEK_PURE="1")

    source = target / "odradek" / "protocol" / "_codec.pyx"
    source.write_bytes(source.read_bytes() + b"# a later change\n")
    version = odradek(target, "--version")
    assert "pure Python: odradek.protocol._codec was built from another source" in version


def test_without_a_compiler_the_install_succeeds_and_says_so(checkout: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    install(checkout, target, CC="no-such-compiler")
    assert not list(target.glob("odradek/**/*.so"))
    assert "pure Python: no compiler: no-such-compiler was not found" in odradek(target, "--version")
    assert "FetchRequest: key 1" in odradek(target, "protocol", "show", "Fetch")


@needs_compiler
def test_without_headers_the_install_succeeds_and_says_so(checkout: Path, tmp_path: Path) -> None:
    """A compiler that cannot find Python.h, in a Python whose include directory is empty."""
    compiler = tmp_path / "cc-without-headers"
    compiler.write_text('#!/bin/sh\necho "fatal error: Python.h: No such file or directory" >&2\nexit 1\n')
    compiler.chmod(0o755)
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import sysconfig\n"
        "real = sysconfig.get_path\n"
        f"sysconfig.get_path = lambda name, *a, **k: {str(site)!r} if name == 'include' else real(name, *a, **k)\n"
    )
    target = tmp_path / "installed"
    install(checkout, target, CC=str(compiler), PYTHONPATH=str(site))
    assert "pure Python: no Python.h" in odradek(target, "--version")
