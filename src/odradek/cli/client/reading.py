"""Reading partitions from some offsets to others, without a group."""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.cli.client.consumer_client import consumer_of
from odradek.cli.client.record_output import Printer
from odradek.cli.client.waiting import Status
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.consumer.kafka_consumer import KafkaConsumer

POLL_S = 0.5
QUIET_POLLS = 4  # so many without a record, and whoever looks at a terminal is told what is awaited

Passes = Callable[[Any], bool]


class Wanted(NamedTuple):
    """`stops`: the offset at which each partition is done, None to go on for ever. `number`: how many at most."""

    starts: Mapping[TopicPartition, int]
    stops: Mapping[TopicPartition, int] | None
    number: int | None = None


def consumer_configs(options: argparse.Namespace) -> dict[str, str]:
    return {
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "isolation.level": f"read_{options.isolation}",
        "allow.auto.create.topics": "false",
    }


def read(options: argparse.Namespace, wanted: Wanted, printer: Printer, passes: Passes | None) -> int:
    """How many records were printed."""
    limit = wanted.number
    printed = 0
    waiting = Status() if sys.stderr.isatty() and sys.stdout.isatty() else None
    for records in batches(options, wanted):
        if waiting is not None and (records or printed):
            waiting.clear()
        elif waiting is not None:
            waiting.show("waiting for records; Ctrl-C ends")
        chosen = records if passes is None else [record for record in records if passes(record)]
        if limit is not None:
            chosen = chosen[: limit - printed]
        printer.show(chosen)
        printed += len(chosen)
        if limit is not None and printed >= limit:
            break
    return printed


def batches(options: argparse.Namespace, wanted: Wanted) -> "Iterable[list[Any]]":
    """What each poll brings, an empty list after some in vain; ends when every partition has come to its stop."""
    if wanted.number == 0:
        return
    left = Left(wanted)
    if left.is_done():
        return
    with consumer_of(options, consumer_configs(options)) as consumer:
        consumer.assign(left.places())
        for place in left.places():
            consumer.seek(place, wanted.starts[place])
        quiet = 0
        while not left.is_done():
            polled = consumer.poll(POLL_S)
            quiet = 0 if polled else quiet + 1
            if polled or quiet >= QUIET_POLLS:
                yield left.within(polled)
            left.advance(consumer)


class Left:
    """The partitions that are still to be read."""

    def __init__(self, wanted: Wanted) -> None:
        self._stops = wanted.stops
        self._open = [
            place for place, start in wanted.starts.items() if wanted.stops is None or start < wanted.stops[place]
        ]

    def places(self) -> list[TopicPartition]:
        return list(self._open)

    def is_done(self) -> bool:
        return not self._open

    def within(self, records: "Iterable[Any]") -> list[Any]:
        """Those that lie before the stops."""
        stops = self._stops
        if stops is None:
            return list(records)
        return [each for each in records if each.offset < stops[TopicPartition(each.topic, each.partition)]]

    def advance(self, consumer: "KafkaConsumer[Any, Any]") -> None:
        """A partition at its stop is read no further. Not every offset has a record: the position counts."""
        if self._stops is None:
            return
        done = [place for place in self._open if consumer.position(place) >= self._stops[place]]
        if done:
            consumer.pause(done)
            self._open = [place for place in self._open if place not in done]
