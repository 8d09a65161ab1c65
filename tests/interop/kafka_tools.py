"""Apache Kafka's own tools, fetched from Maven by their coordinates and kept for the next run.

Needs `java` and `mvn`; the first run needs the network. What is on the class path is decided here alone: Maven has a
repository of its own beside the jars, and every JVM gets our configuration for its logger.
"""

import os
import shutil
from pathlib import Path

from fetching import Unavailable, cache, fetched, run_logged

import outside

JAVA = Path(__file__).parent / "java"
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
COPY = ["dependency:copy-dependencies", "-DoutputDirectory=libs", "-DincludeScope=runtime"]
LOGGING = [f"-Dlog4j.configuration={(JAVA / 'log4j.properties').as_uri()}"]
LOGGING += [f"-Dlog4j2.configurationFile={(JAVA / 'log4j2.properties').as_uri()}"]
TOOL_SECONDS_MAX = 120


def jars(version, part=""):
    """The directory with Kafka's core, its metadata shell or its Streams, and everything it needs to run."""
    if shutil.which("java") is None:
        raise Unavailable("Kafka's tools need Java: install a JRE, 11 or newer")
    dependencies = "".join(DEPENDENCY.format(name=name, version=version) for name in ARTIFACTS[part])
    pom = POM.format(dependencies=dependencies)
    return fetched(f"kafka-{version}{part}", pom, lambda where: _copy(where, pom), lock="maven") / "libs"


def _copy(directory, pom):
    if shutil.which("mvn") is None:
        raise Unavailable("Kafka's tools are fetched with Maven: install mvn")
    (directory / "pom.xml").write_text(pom)
    command = ["mvn", "-q", "-B", f"-Dmaven.repo.local={cache() / 'maven'}", *COPY]
    run_logged(command, directory, f"the fetch of {directory.name} with Maven")


def java(version, part="", *, megabytes=256, classes=None):
    """The command that runs Java with Kafka on its class path, behind `classes`; a class or a source file follows."""
    classpath = [*([] if classes is None else [os.fspath(classes)]), f"{jars(version, part)}/*"]
    return ["java", f"-Xmx{megabytes}m", "-XX:TieredStopAtLevel=1", *LOGGING, "-cp", os.pathsep.join(classpath)]


def run(version, tool, *arguments, part="", **options):
    """What a tool, given by its class, prints, and the lines of its complaints: those go to standard error."""
    command = [*java(version, part), tool, *map(str, arguments)]
    done = outside.run(command, seconds=TOOL_SECONDS_MAX, check=True, **options)
    return done.stdout, [line for line in done.stderr.splitlines() if not line.startswith("SLF4J")]
