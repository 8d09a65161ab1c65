"""The clients as programs: where each comes from, and the command that runs it through its scenarios.

What is not on the machine is fetched (`fetching.py`): Python's clients with pip, JavaScript's with npm, Java's with
Maven. kcat is Debian's. `Unavailable` says what to install.
"""

import json
import os
import platform
import shutil
import sys
from pathlib import Path

from fetching import Unavailable, fetched, run_logged
from kafka_tools import jars, java

import outside

HERE = Path(__file__).parent

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
        return java_program(client.removeprefix("java-"), "JavaClient.java")
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
    classpath = f"{jars(version)}/*"
    compiled = fetched(f"members-{version}", source.read_text(), lambda where: _compile(source, classpath, where))
    return [*java(version, megabytes=128, classes=compiled), "Members"]


def _compile(source, classpath, directory):
    command = ["javac", "-d", os.fspath(directory), "-cp", classpath, os.fspath(source)]
    run_logged(command, directory, f"javac {source.name}")


def java_program(version, name, part=""):
    """The command that runs one of the sources in `java/`."""
    _require_jdk()
    return [*java(version, part), os.fspath(HERE / "java" / name)]


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
    found = outside.run(["node", "--version"], check=True).stdout
    if tuple(int(part) for part in found.strip().lstrip("v").split(".")[:2]) >= NODE_MIN:
        return {}
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
    if machine is None or platform.system() != "Linux":
        raise Unavailable(f"the JavaScript clients need Node.js {NODE_MIN[0]}.{NODE_MIN[1]} or newer, not {found}")
    return {f"node-linux-{machine}": NODE}
