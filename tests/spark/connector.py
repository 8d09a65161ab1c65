"""Spark's own Kafka connector, fetched from Maven with what it needs beside Spark, for a session's class path."""

import shutil

from fetching import Unavailable, cache, fetched, run_logged
from kafka_tools import COPY

VERSION = "4.2.0"  # it runs on 4.3 as well
# What they would bring along is named here: their own poms name repositories that need not be reachable. Spark has the
# codecs, the logger and Scala.
ARTIFACTS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),  # not every mirror has a newer one
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)
DEPENDENCY = """
    <dependency>
      <groupId>{}</groupId>
      <artifactId>{}</artifactId>
      <version>{}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>"""
POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>odradek.tests</groupId>
  <artifactId>spark-connector</artifactId>
  <version>1</version>
  <dependencies>{"".join(DEPENDENCY.format(*artifact) for artifact in ARTIFACTS)}
  </dependencies>
</project>
"""


def jars():
    """Their paths."""
    where = fetched(f"spark-connector-{VERSION}", POM, _copy, lock="maven") / "libs"
    return sorted(str(path) for path in where.glob("*.jar"))


def _copy(directory):
    if shutil.which("mvn") is None:
        raise Unavailable("Spark's connector is fetched with Maven: install mvn")
    (directory / "pom.xml").write_text(POM)
    command = ["mvn", "-q", "-B", f"-Dmaven.repo.local={cache() / 'maven'}", *COPY]
    run_logged(command, directory, f"the fetch of {directory.name} with Maven")
