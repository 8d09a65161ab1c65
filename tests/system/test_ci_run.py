"""What CI runs: `make test` in an empty home, with the machine's own settings, and with what could be installed."""

import os
import shutil
from pathlib import Path

import pytest

import outside

SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
NEEDED = ("bash", "cat", "chmod", "dirname", "env", "find", "ln", "mkdir", "mktemp", "rm", "sh", "tail")
TOOLS = ("cc", "javac", "kcat", "mvn", "npm", "openssl", "systemd-analyze")
MAKE = """\
#!/bin/sh
echo "make $*"
[ "$1" = test ] || exit 0
env
cd "$HOME" && find . ! -type d
exit 3
"""
APT = "#!/bin/sh\necho apt-get \"$@\" >>'{told}'\necho no such host >&2\nexit 1\n"


@pytest.fixture
def machine(tmp_path):
    """A checkout, a home with settings and rubbish in it, and a path with nothing but what the script itself needs."""
    for directory in ("checkout/.ci", "bin", "home/.config/pip", "home/.cache/pip", "home/.m2/repository"):
        (tmp_path / directory).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "checkout" / ".ci" / "run")
    for name in NEEDED:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    (tmp_path / "home" / ".npmrc").write_text("registry=https://npm.example.org\n")
    (tmp_path / "home" / ".config" / "pip" / "pip.conf").write_text("[global]\n")
    (tmp_path / "home" / ".cache" / "pip" / "old").write_text("")
    (tmp_path / "home" / ".m2" / "repository" / "old").write_text("")
    program(tmp_path, "make", MAKE)
    return tmp_path


def program(machine, name, text="#!/bin/sh\n"):
    (machine / "bin" / name).write_text(text)
    (machine / "bin" / name).chmod(0o755)


def run(machine):
    environment = {"PATH": str(machine / "bin"), "HOME": str(machine / "home"), "TMPDIR": str(machine)}
    return outside.run([machine / "checkout" / ".ci" / "run"], env=environment)


def test_the_home_and_the_caches_are_new_and_the_settings_are_the_machines(machine):
    for name in TOOLS:
        program(machine, name)
    done = run(machine)
    assert done.returncode == 3, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("make ")] == ["make clean", "make test"]
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    home = variables["HOME"]
    assert home != str(machine / "home") and not Path(home).exists()
    assert variables["CI"] == "true"
    for name in ("XDG_CACHE_HOME", "ODRADEK_TEST_CACHE", "PIP_CACHE_DIR", "npm_config_cache"):
        assert variables[name].startswith(home + os.sep), name
    assert f"-Duser.home={home}" in variables["MAVEN_OPTS"]
    assert sorted(line for line in lines if line.startswith("./")) == ["./.config/pip", "./.npmrc"]
    assert (machine / "home" / ".npmrc").exists()


def test_what_cannot_be_installed_is_tried_twice_and_told(machine):
    program(machine, "apt-get", APT.format(told=machine / "told"))
    for name in set(TOOLS) - {"kcat", "javac"}:
        program(machine, name)
    done = run(machine)
    assert done.returncode == 3
    assert (machine / "told").read_text() == "apt-get -qq update\n" * 2
    assert "no such host\n" in done.stderr
    assert "could not install default-jdk-headless kcat: the tests that need it will fail\n" in done.stderr
