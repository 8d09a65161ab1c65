"""Idle fetch sessions (KIP-227) beside Apache Kafka in the same run: what they cost while nothing is written.

    idle    nobody writes: every session asks, waits max.wait, hears that there is nothing, and asks again
    news    the same, while one of the partitions gets a record now and then: every session hears of it

1,000 sessions of 1,000 partitions each, a connection each. The share of a core is the broker's own CPU time; memory is
what it grew by when the sessions were opened. The best of the rounds counts. Kafka needs Java and Maven; without them
only ours is shown. `python -m bench.sessions --help` has options.
"""

import argparse
import threading

from bench import side_by_side
from bench.contenders import Contender
from bench.generators import Generators
from bench.side_by_side import Figure, Figures, Sheet
from bench.wire_client import WireClient, create_topic, produce
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic

PORTS = (19096, 19097)
SESSIONS, TOPICS, PARTITIONS, MAX_WAIT_MS = 1000, 10, 100, 500
NEWS_SECONDS = 1.0  # between two records
SHARE_MAX = 10
# Kafka deals sessions out to eight parts of its cache by chance, and a part that is full gives none
SLOTS = "max.incremental.fetch.session.cache.slots"


def _shown(options: argparse.Namespace) -> dict[str, Figure]:
    partitions = options.partitions * TOPICS
    return {
        "idle_share": Figure(
            f"{options.sessions:,} idle sessions of {partitions:,} partitions", "% of a core", bound=SHARE_MAX
        ),
        "idle_each": Figure("each empty fetch", "µs CPU"),
        "late_p99": Figure("its answer comes late by", "ms p99"),
        "open": Figure("opening a session", "ms"),
        "memory": Figure("memory of a session", "KB"),
        "news_share": Figure("the same, a record a second in one partition", "% of a core"),
        "news_each": Figure("beyond the idle ones, each answer with the record", "µs CPU"),
    }


def main(arguments: list[str] | None = None) -> None:
    arguments = arguments or []
    options = _options(arguments)
    side_by_side.run("bench.sessions", arguments, options, _shown(options), lambda sheet: _measure(sheet, options))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.sessions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="of each broker (2)")
    parser.add_argument("--seconds", type=float, default=10, help="of each figure (10)")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help=f"a connection each ({SESSIONS})")
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help=f"in each of {TOPICS} topics ({PARTITIONS})")
    side_by_side.add_options(parser)
    return parser.parse_args(arguments)


def _measure(sheet: Sheet, options: argparse.Namespace) -> None:
    """One after the other: a broker that is idle takes memory all the same, and its own share of the cores."""
    generators = Generators(sheet.root)
    for maker, port in zip(sheet.makers, PORTS, strict=False):
        contender = maker(sheet.root / maker.__name__, port, {SLOTS: str(2 * options.sessions)})
        try:
            for number in range(options.rounds):
                sheet.note(contender, number, _round(generators, contender, options))
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


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
