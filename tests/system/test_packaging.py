"""What other people install from: the source distribution, the wheel, the container file, the unit for systemd."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from test_install import ROOT, checkout, needs_compiler, needs_headers

import outside

__all__ = ["checkout"]  # a fixture

BUILD_SECONDS_MAX = 600


def docker_engine():
    return shutil.which("docker") is not None and outside.run(["docker", "info"], seconds=30).returncode == 0


@needs_compiler
@needs_headers
def test_a_wheel_of_the_source_distribution_needs_no_compiler(checkout: Path, tmp_path: Path) -> None:
    """Built from what a clean checkout has, and installed where no compiler is."""
    dist = tmp_path / "dist"
    outside.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, checkout],
        seconds=BUILD_SECONDS_MAX,
        check=True,
    )
    assert len(list(dist.glob("*.tar.gz"))) == 1
    wheel = next(dist.glob("*.whl"))
    venv = tmp_path / "venv"
    outside.run([sys.executable, "-m", "venv", venv], check=True)
    install = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel]
    outside.run(install, env={**os.environ, "PATH": "/nowhere"}, check=True)
    assert "compiled codec and record kernel" in outside.run([venv / "bin" / "odradek", "--version"], check=True).stdout
    assert not list(venv.glob("lib/*/site-packages/odradek/**/*.c"))


def test_the_container_file_is_without_reproach() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    if not hadolint.exists():
        pytest.skip("hadolint has no wheel for this kind of machine")
    outside.run([hadolint, ROOT / "Dockerfile"], check=True)


@pytest.mark.skipif(not docker_engine(), reason="no container engine runs here: start one to build the image")
def test_the_image_is_built_and_becomes_healthy() -> None:
    outside.run(["docker", "build", "--tag", "odradek-test", ROOT], seconds=BUILD_SECONDS_MAX, check=True)
    started = outside.run(["docker", "run", "--rm", "--detach", "odradek-test"], check=True)
    container = started.stdout.strip()
    try:
        wait = f"until [ $(docker inspect -f '{{{{.State.Health.Status}}}}' {container}) = healthy ]; do sleep 1; done"
        outside.run(["sh", "-c", wait], seconds=60)
    finally:
        outside.run(["docker", "stop", container], check=True)


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    unit = tmp_path / "odradek.service"
    command = Path(sys.executable).parent / "odradek"
    text = (ROOT / "packaging" / "odradek.service").read_text()
    unit.write_text(text.replace("/opt/odradek/bin/odradek", str(command)))
    checked = outside.run(["systemd-analyze", "verify", unit], check=True)
    assert str(unit.name) not in checked.stderr
