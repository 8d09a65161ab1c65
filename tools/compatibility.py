"""docs/compatibility.md: which client was seen to do what, from the table that `tests/interop` holds them to."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "interop"))

import suites_section
from scenarios import ALL, CLIENTS, GROUPS, RELEASES, Scenario, why_not

INTRO = """\
# Which clients work, and with what

Made by `make pages` from `tests/interop/scenarios.py` and `docs/suites.json`; do not edit it. `make interop` runs every
cell that says *yes* with the real, unmodified client against a broker that was started with `odradek start`, once per
release profile (4.3, the default, and 3.3), and fails if one does not hold. A number of a release stands where it holds
with that one alone; an empty cell was not asked of that client, and the reasons are below.

Under *Consuming* the partitions are assigned by hand. *Consuming in groups* is the life of a group: members join, leave
and are killed, and a static one comes back, from another process, to its partitions without a rebalance; every record
is read and committed. *Transactions* are copies of a topic with offsets in them, by three processes in turn, of which
one is killed and one paused with a transaction open; on 4.3 in the consumer protocol, where the client has it.
[gaps.md](gaps.md) tells which APIs are served. kafkajs and @platformatic/kafka consume in groups only, so that their
rows under *Consuming* stand for the Fetch requests that their consumers are made of.

The versions that are tested: the Java clients as named, confluent-kafka, kafka-python, aiokafka, kafkajs and
@platformatic/kafka as pinned in `tests/interop/clients.py`, kcat as Debian has it.
"""

WORTH_KNOWING = """
## Worth knowing

- **CreateTopics and CreatePartitions are answered when the new partitions can be written to**, or after a second where
  there are very many; Apache Kafka answers when its controller has decided. A topic that is created by itself when
  somebody asks for it is told of before its log is open: for a few milliseconds its leader may answer
  NOT_LEADER_OR_FOLLOWER.
- **lz4 wants independent blocks**, as in Apache Kafka: what an encoder writes whose blocks lean on each other (`lz4js`,
  say) is refused.
- **A wrong password** is answered after `connection.failed.authentication.delay.ms` and then the connection is closed.
  kafka-python loses the answer together with the connection, with Apache Kafka as well, and reports a timeout.
- **Closing a Java 4 consumer** waits for the fetch that it has sent ahead, up to `fetch.max.wait.ms`.
"""


def render() -> str:
    parts = [INTRO]
    for title, scenarios in GROUPS.items():
        parts.append(f"\n## {title}\n\n{_table(scenarios)}")
    return "".join([*parts, suites_section.render(), WORTH_KNOWING, "\n## Why a cell is empty\n\n", _reasons()])


def _table(scenarios: list[Scenario]) -> str:
    lines = ["| | " + " | ".join(CLIENTS) + " |", "|---|" + ":-:|" * len(CLIENTS)]
    for scenario in scenarios:
        cells = [_cell(client, scenario.name) for client in CLIENTS]
        lines.append(f"| {scenario.what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(client: str, scenario: str) -> str:
    releases = [release for release in RELEASES if why_not(client, release, scenario) is None]
    return "yes" if len(releases) == len(RELEASES) else ", ".join(releases)


def _reasons() -> str:
    reasons: dict[str, dict[str, None]] = {}
    for client in CLIENTS:
        for release in RELEASES:
            for scenario in ALL:
                reason = why_not(client, release, scenario.name)
                if reason is not None:
                    reasons.setdefault(f"{client}: {reason}", {})[scenario.name] = None
    return "".join(f"- {reason} ({', '.join(names)})\n" for reason, names in reasons.items())
