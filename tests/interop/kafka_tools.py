"""Apache Kafka's own tools, fetched from Maven by their coordinates and kept for the next run.

Needs `java` and `mvn`; the first run needs the network. The jars go to ~/.cache/odradek/tests, or below
ODRADEK_TEST_CACHE; a run that is broken off leaves no half a set behind.
"""

import os
import shutil
import subprocess
from pathlib import Path

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>odradek.tests</groupId>
  <artifactId>kafka-tools</artifactId>
  <version>1</version>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = """
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>{name}</artifactId>
      <version>{version}</version>
    </dependency>"""
# What is fetched together, by the ending of the directory that it goes to.
ARTIFACTS = {"": ("kafka_2.13", "kafka-tools"), "-shell": ("kafka-shell",), "-streams": ("kafka-streams",)}
FETCH_SECONDS_MAX = 600
TOOL_SECONDS_MAX = 120


class Unavailable(Exception):  # noqa: N818 - a state of the machine, not a fault
    """Why the tools cannot run here, and what to install."""


def cache():
    return Path(os.environ.get("ODRADEK_TEST_CACHE") or Path.home() / ".cache" / "odradek" / "tests")


def jars(version, part=""):
    """The directory with Kafka's core, its metadata shell or its Streams, and everything it needs to run."""
    if shutil.which("java") is None:
        raise Unavailable("Kafka's tools need Java: install a JRE, 11 or newer")
    directory = cache() / f"kafka-{version}{part}"
    if not (directory / "complete").exists():
        _fetch(version, part, directory)
    return directory / "libs"


def _fetch(version, part, directory):
    if shutil.which("mvn") is None:
        raise Unavailable("Kafka's tools are fetched with Maven: install mvn")
    directory.mkdir(parents=True, exist_ok=True)
    dependencies = "".join(DEPENDENCY.format(name=name, version=version) for name in ARTIFACTS[part])
    (directory / "pom.xml").write_text(POM.format(dependencies=dependencies))
    goal = "dependency:copy-dependencies"
    command = ["mvn", "-q", "-B", goal, "-DoutputDirectory=libs", "-DincludeScope=runtime"]
    with open(directory / "mvn.log", "wb") as log:
        try:
            done = subprocess.run(command, cwd=directory, stdout=log, stderr=log, timeout=FETCH_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not fetch Kafka {version} in {FETCH_SECONDS_MAX} s") from None
    if done.returncode:
        raise Unavailable(f"Maven could not fetch Kafka {version}: see {directory / 'mvn.log'}")
    (directory / "complete").touch()


def run(version, tool, *arguments, part=""):
    """What a tool, given by its class, prints, and the lines of its complaints: those go to standard error."""
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars(version, part)}/*", tool]
    command += map(str, arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if not line.startswith("SLF4J")]
