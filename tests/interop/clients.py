"""The clients as programs: where each comes from, and the command that runs it through its scenarios.

What is not on the machine is fetched by name and version and kept for the next run, below ~/.cache/odradek/tests or
ODRADEK_TEST_CACHE: Python's clients with pip, JavaScript's with npm, Java's with Maven. kcat is Debian's. `Unavailable`
says what to install.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kafka_tools import Unavailable, cache, jars

HERE = Path(__file__).parent
FETCH_SECONDS_MAX = 300

# Each with what it needs for every codec.
PYTHON = [
    *("confluent-kafka==2.16.1", "kafka-python==3.0.12", "aiokafka==0.14.0"),
    *("cramjam>=2.9", "lz4>=4.3", "python-snappy>=0.7", "xxhash>=3.4", "zstandard>=0.22"),
]
NPM = {"kafkajs": "2.2.4", "kafkajs-snappy": "1.1.0", "@platformatic/kafka": "2.12.1"}
NODE = "24.21.0"  # fetched when the machine's is older than @platformatic/kafka asks for
NODE_MIN = (22, 22)


def command(client, directory):
    """The command that runs a client's program, without its arguments; `directory` is for what it needs beside it."""
    if client.startswith("java-"):
        return java(client.removeprefix("java-"))
    if client in ("kafkajs", "@platformatic/kafka"):
        return javascript(client.rpartition("/")[0].lstrip("@") or client, directory)
    if client == "kcat":
        return kcat()
    name = client.replace("confluent-kafka", "confluent").replace("-", "_")
    return [os.fspath(python()), os.fspath(HERE / "python" / f"{name}_client.py")]


def members_command(client):
    """The command that runs members and copiers of a client, without the address."""
    if client.startswith("java-"):
        return java_members(client.removeprefix("java-"))
    name = client.replace("confluent-kafka", "confluent").replace("-", "_")
    return [os.fspath(python()), os.fspath(HERE / "python" / f"{name}_members.py")]


def java_members(version):
    """Compiled once: many processes run it."""
    _require_jdk()
    source = HERE / "java" / "Members.java"
    compiled = cache() / f"members-{version}-{hashlib.sha256(source.read_bytes()).hexdigest()[:8]}"
    if not compiled.exists():
        _compile(source, f"{jars(version)}/*", compiled)
    classpath = os.pathsep.join([os.fspath(compiled), f"{jars(version)}/*"])
    return ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classpath, "Members"]


def _compile(source, classpath, compiled):
    """Beside its place first: others may do the same, and see it whole or not at all."""
    compiled.parent.mkdir(parents=True, exist_ok=True)
    own = Path(tempfile.mkdtemp(dir=compiled.parent, prefix="compiling-"))
    run_logged(["javac", "-d", os.fspath(own), "-cp", classpath, os.fspath(source)], own, f"javac {source.name}")
    try:
        own.rename(compiled)
    except OSError:  # somebody was faster
        shutil.rmtree(own)


def java(version):
    _require_jdk()
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1"]
    return ["java", *options, "-cp", f"{jars(version)}/*", os.fspath(HERE / "java" / "JavaClient.java")]


def _require_jdk():
    if shutil.which("javac") is None:
        raise Unavailable("the Java clients need a JDK, 11 or newer: install one (Debian: default-jdk-headless)")


def kcat():
    if shutil.which("kcat") is None:
        raise Unavailable("kcat is not installed: apt-get install kcat")
    return [sys.executable, os.fspath(HERE / "python" / "kcat_client.py")]


def python():
    """The interpreter of an environment with the clients in it."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    directory = fetched(f"python-{version}", PYTHON, _install_python)
    return directory / "venv" / "bin" / "python"


def _install_python(directory):
    run_logged([sys.executable, "-m", "venv", "--clear", "venv"], directory, "python3 -m venv")
    pip = ["venv/bin/python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *PYTHON]
    run_logged(pip, directory, "pip install " + " ".join(PYTHON[:3]))


def javascript(name, directory):
    """Node looks for packages beside the program, so that it runs from a copy."""
    if shutil.which("npm") is None:
        raise Unavailable("the JavaScript clients need Node.js: install nodejs and npm")
    packages = {**NPM, **_node_package()}
    packed = fetched("npm", packages, lambda where: _install_npm(where, packages))
    shutil.copytree(HERE / "js", directory / "js")
    (directory / "js" / "node_modules").symlink_to(packed / "node_modules")
    own = [packed / "node_modules" / package / "bin" / "node" for package in _node_package()]
    return [os.fspath(own[0]) if own else "node", os.fspath(directory / "js" / f"{name}.mjs")]


def _install_npm(directory, packages):
    (directory / "package.json").write_text(json.dumps({"private": True, "dependencies": packages}))
    run_logged(["npm", "install", "--no-audit", "--no-fund"], directory, "npm install " + " ".join(NPM))


def _node_package():
    found = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(int(part) for part in found.strip().lstrip("v").split(".")[:2]) >= NODE_MIN:
        return {}
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
    if machine is None or platform.system() != "Linux":
        raise Unavailable(f"the JavaScript clients need Node.js {NODE_MIN[0]}.{NODE_MIN[1]} or newer, not {found}")
    return {f"node-linux-{machine}": NODE}


def fetched(name, wanted, install):
    """The directory that holds what is wanted; a run that is broken off leaves no half a set behind."""
    digest = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:8]
    directory = cache() / f"{name}-{digest}"
    if not (directory / "complete").exists():
        directory.mkdir(parents=True, exist_ok=True)
        install(directory)
        (directory / "complete").touch()
    return directory


def run_logged(arguments, directory, what):
    log = directory / "fetch.log"
    with open(log, "ab") as output:
        try:
            done = subprocess.run(arguments, cwd=directory, stdout=output, stderr=output, timeout=FETCH_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{what} took more than {FETCH_SECONDS_MAX} s") from None
    if done.returncode:
        raise Unavailable(f"{what} has failed: see {log}")
