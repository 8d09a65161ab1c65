"""Idle fetch sessions (KIP-227) beside Apache Kafka in the same run: what they cost while nothing is written.

    idle    nobody writes: every session asks, waits max.wait, hears that there is nothing, and asks again
    news    the same, while one of the partitions gets a record now and then: every session hears of it

1,000 sessions of 1,000 partitions each, a connection each. The share of a core is the broker's own CPU time; memory is
what it grew by when the sessions were opened. The best of the rounds counts. Kafka needs Java and Maven; without them
only ours is shown. `python -m bench.sessions --help` has options.
"""

import argparse
import tempfile
import threading
from pathlib import Path

from bench import quiet_network
from bench.contenders import Contender, Kafka, Odradek, kafka_is_there
from bench.generators import Generators
from bench.scoreboard import Line
from bench.wire_client import WireClient, create_topic, produce
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic

PORTS = (19096, 19097)
SESSIONS, TOPICS, PARTITIONS, MAX_WAIT_MS = 1000, 10, 100, 500
NEWS_SECONDS = 1.0  # between two records
SHARE_MAX = 10
# Kafka deals sessions out to eight parts of its cache by chance, and a part that is full gives none
SLOTS = "max.incremental.fetch.session.cache.slots"

Figures = dict[str, float]

# What is shown: a title, its unit, whether more is better, and what ours must stay below.
LINES: dict[str, tuple[str, str, bool, float | None]] = {
    "idle_share": ("{sessions} idle sessions of {partitions} partitions", "% of a core", False, SHARE_MAX),
    "idle_each": ("each empty fetch", "µs CPU", False, None),
    "late_p99": ("its answer comes late by", "ms p99", False, None),
    "open": ("opening a session", "ms", False, None),
    "memory": ("memory of a session", "KB", False, None),
    "news_share": ("the same, a record a second in one partition", "% of a core", False, None),
    "news_each": ("beyond the idle ones, each answer with the record", "µs CPU", False, None),
}


def main(arguments: list[str] | None = None) -> None:
    arguments = arguments or []
    options = _options(arguments)
    reason = "left out" if options.without_kafka else kafka_is_there()
    if quiet_network.runs_inside("bench.sessions", arguments):
        return
    quiet_network.set_up()
    if reason:
        print(f"Kafka is not measured: {reason}")
    makers: list[type[Contender]] = [Odradek] if reason else [Odradek, Kafka]
    lines: dict[str, Line] = {}
    with tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=options.directory) as name:
        _measure(Path(name), makers, lines, options)
    print("\n" + _table(lines))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.sessions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="of each broker (2)")
    parser.add_argument("--seconds", type=float, default=10, help="of each figure (10)")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help=f"a connection each ({SESSIONS})")
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help=f"in each of {TOPICS} topics ({PARTITIONS})")
    parser.add_argument("--without-kafka", action="store_true", help="only ours")
    parser.add_argument("--directory", help="where the logs go")
    return parser.parse_args(arguments)


def _measure(root: Path, makers: list[type[Contender]], lines: dict[str, Line], options: argparse.Namespace) -> None:
    """One after the other: a broker that is idle takes memory all the same, and its own share of the cores."""
    generators = Generators(root)
    for maker, port in zip(makers, PORTS, strict=False):
        contender = maker(root / maker.__name__, port, {SLOTS: str(2 * options.sessions)})
        try:
            for number in range(options.rounds):
                _note(lines, contender, number, options, _round(generators, contender, options))
        finally:
            contender.remove()


def _round(generators: Generators, contender: Contender, options: argparse.Namespace) -> Figures:
    """From the start: sessions outlive their connections, and those of the round before would count."""
    contender.start()
    names = [f"watched-{number}" for number in range(TOPICS)]
    topics = _topics(contender.port, names, options.partitions)
    before_mb = contender.resident_mb()
    shape = (options.sessions, options.partitions, MAX_WAIT_MS)
    idle = generators.run("sessions", contender.port, *shape, options.seconds, contender.pid, *topics)
    grown_mb = contender.resident_mb() - before_mb
    contender.stop()
    contender.start()
    with _Writer(contender.port, names[0]):
        news = generators.run("sessions", contender.port, *shape, options.seconds, contender.pid, *topics)
    contender.stop()
    return _figures(idle, news, grown_mb, options)


def _figures(idle: Figures, news: Figures, grown_mb: float, options: argparse.Namespace) -> Figures:
    each = idle["broker_cpu"] / idle["answered"]
    beyond = news["broker_cpu"] - each * (news["answered"] - news["told"])
    return {
        "idle_share": idle["broker_cpu"] / idle["seconds"] * 100,
        "idle_each": each * 1e6,
        "late_p99": idle["late_p99_us"] / 1000,
        "open": idle["open_seconds"] / options.sessions * 1000,
        "memory": grown_mb * 1024 / options.sessions,
        "news_share": news["broker_cpu"] / news["seconds"] * 100,
        "news_each": beyond / max(1, news["told"]) * 1e6,
    }


def _topics(port: int, names: list[str], partitions: int) -> list[str]:
    """Made if they are not there; their ids in hex."""
    with WireClient(port) as client:
        known = {topic.name: topic for topic in client.ask(MetadataRequest(topics=None), 10).topics}
    for name in names:
        if name not in known:
            create_topic(port, name, partitions)
    with WireClient(port) as client:
        asked = [MetadataRequestTopic(name=name) for name in names]
        answer = client.ask(MetadataRequest(topics=asked), 10)
    return [bytes(topic.topic_id).hex() for topic in answer.topics]


class _Writer:
    """A record now and then, to the first partition."""

    def __init__(self, port: int, topic: str) -> None:
        self._port = port
        self._topic = topic
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> "_Writer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _write(self) -> None:
        with WireClient(self._port) as client:
            while not self._is_over.wait(NEWS_SECONDS):
                produce(client, self._topic, 0)


# For people.


def _note(
    lines: dict[str, Line], contender: Contender, number: int, options: argparse.Namespace, figures: Figures
) -> None:
    shape = {"sessions": options.sessions, "partitions": options.partitions * TOPICS}
    for key, value in figures.items():
        title, unit, higher, bound = LINES[key]
        lines.setdefault(key, Line(title.format(**shape), unit, higher=higher, bound=bound)).add(contender.name, value)
    told = ", ".join(f"{key} {value:,.3g} {LINES[key][1]}" for key, value in figures.items())
    print(f"{number + 1} {contender.name}: {told}", flush=True)


def _table(lines: dict[str, Line]) -> str:
    rows = ["| workload | figure | odradek | Kafka | ratio | gate | |", "|---|---|---|---|---|---|---|"]
    return "\n".join([*rows, *(line.row() for line in lines.values())])


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
