"""The test suites of other people's clients: what is run, what Apache Kafka scores there, and what was seen of ours.

A suite is a row; a release is a column. `docs/suites.json` holds what `tools/suites.py` has seen, and is all that the
page is made of, so that the page can be made where no suite is.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "suites.json"
KAFKA = {"3.3": "3.3.2", "4.3": "4.3.0"}  # the release of Apache Kafka that stands beside each of our profiles


class Score(NamedTuple):
    passed: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        return f"{self.passed}/{self.failed}/{self.skipped}"


class Run(NamedTuple):
    """A suite against one release: the arguments of its script, what Kafka scores, what is configured besides."""

    arguments: tuple[str, ...]
    kafka: Score
    properties: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}


class Suite(NamedTuple):
    name: str
    what: str
    script: str
    runs: dict[str, Run]


# What the authors of the suites take for granted. The listener's address is added for each run.
PROPERTIES = {
    "node.id": "0",
    "num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}


def _librdkafka(chosen: str, release: str) -> tuple[str, ...]:
    version = KAFKA[release]
    return ("--list", chosen, "--kafka-version", version, "--tools", version)


SUITES = [
    Suite(
        "kafka-python",
        "kafka-python's integration tests",
        "kafka_python.sh",
        {
            "3.3": Run(("--version", "3.3.1"), Score(51, 0, 5)),
            "4.3": Run(("--version", "4.3"), Score(55, 0, 1)),
        },
    ),
    Suite(
        "librdkafka",
        "librdkafka's tests against a broker",
        "librdkafka.sh",
        {
            "3.3": Run(_librdkafka("full", "3.3"), Score(76, 5, 4)),
            "4.3": Run(_librdkafka("full", "4.3"), Score(77, 3, 7)),
        },
    ),
    Suite(
        "librdkafka-consumer",
        "its tests of groups, with `group.protocol=consumer`",
        "librdkafka.sh",
        {
            "4.3": Run(
                _librdkafka("consumer", "4.3"),
                Score(23, 2, 1),
                environment={"TEST_CONSUMER_GROUP_PROTOCOL": "consumer"},
            )
        },
    ),
    Suite(
        "kcat",
        "what people do with kcat",
        "kcat.sh",
        {"3.3": Run((), Score(25, 0, 0)), "4.3": Run((), Score(25, 0, 0))},
    ),
    Suite(
        "java_tools",
        "Kafka's own command line tools; Streams exactly once, Connect, MirrorMaker 2",
        "java_tools.sh",
        {
            "3.3": Run(("--tools", "3.3.2"), Score(65, 0, 1)),
            "4.3": Run(("--tools", "4.3.0"), Score(73, 0, 0)),
        },
    ),
]

# Why a test fails, by the number that it begins with.
_SUPER_USER = (
    "it denies something to ANONYMOUS, whom the suite's configuration makes a super user: fails against Kafka as well "
    "(without that it would need ACLs to be enforced, which ours are not yet)"
)
_RACE = (
    "two consumers that start at one moment must join in one round, which without an initial delay "
    "they do not always: Kafka loses it now and then as well"
)
RACES = frozenset(["0089", "0102"])  # no reason to call a broker worse
REASONS = {
    "0045": "with `group.protocol=consumer` its changes of subscription take more heartbeats than its time limit has: "
    "fails against Kafka as well",
    "0081": "a 3.3 in KRaft mode has no SCRAM credentials: fails against Kafka as well",
    "0089": _RACE,
    "0102": _RACE,
    "0109": _SUPER_USER,
    "0115": _SUPER_USER,
    "0118": "two consumers that start at one moment must join in one round; passes on a quiet machine, and Kafka, "
    "which takes longer to begin the round, was not seen to lose it",
    "0119": _SUPER_USER,
}


def results() -> dict[str, Any]:
    """By suite and release: `version` of the suite, `passed`, `failed`, `skipped`, `failed_ids`."""
    if not RESULTS.exists():
        return {}
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def keep(suite: str, release: str, result: Mapping[str, Any]) -> None:
    kept = results()
    kept.setdefault(suite, {})[release] = dict(result)
    text = json.dumps(kept, indent=2, sort_keys=True)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def score(result: Mapping[str, Any]) -> Score:
    return Score(result["passed"], result["failed"], result["skipped"])


def number(test: str) -> str:
    return test.partition("_")[0]


def is_as_good(result: Mapping[str, Any], kafka: Score) -> bool:
    lost_races = sum(number(test) in RACES for test in result["failed_ids"])
    return score(result).passed + lost_races >= kafka.passed
