"""Reading partitions from some offsets to others, without a group."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from odradek.cli.client.consumer_client import consumer_of
from odradek.cli.client.record import Record
from odradek.cli.client.record_output import Printer
from odradek.cli.client.waiting import Status
from odradek.cli.progress import SILENT_SECONDS
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.consumer.kafka_consumer import KafkaConsumer

POLL_S = 0.5

Passes = Callable[[Record], bool]


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
    waiting = _Waiting()
    try:
        return _read(options, wanted, printer, passes, waiting)
    finally:
        waiting.clear()


def _read(
    options: argparse.Namespace, wanted: Wanted, printer: Printer, passes: Passes | None, waiting: "_Waiting"
) -> int:
    limit, printed = wanted.number, 0
    for records in batches(options, wanted):
        waiting.tell(records)
        chosen = records if passes is None else [record for record in records if passes(record)]
        if limit is not None:
            chosen = chosen[: limit - printed]
        printer.show(chosen)
        printed += len(chosen)
        if (limit is not None and printed >= limit) or not printer.has_reader():
            break
    return printed


def batches(options: argparse.Namespace, wanted: Wanted) -> "Iterable[list[Record]]":
    """What each poll brings, nothing among others; ends when every partition has come to its stop."""
    if wanted.number == 0:
        return
    left = Left(wanted)
    if left.is_done():
        return
    with consumer_of(options, consumer_configs(options)) as consumer:
        consumer.assign(left.places())
        for place in left.places():
            consumer.seek(place, wanted.starts[place])
        while not left.is_done():
            polled = consumer.poll(POLL_S)
            yield left.within(polled)
            left.advance(consumer)


class _Waiting:
    """Tells whoever looks at a terminal that nothing has come yet."""

    def __init__(self) -> None:
        self._status = Status() if sys.stderr.isatty() and sys.stdout.isatty() else None
        self._from = time.monotonic() + SILENT_SECONDS

    def tell(self, records: list[Record]) -> None:
        if self._status is None:
            return
        if records:
            self._status.clear()
            self._from = float("inf")
        elif time.monotonic() >= self._from:
            self._status.show("waiting for records; Ctrl-C ends")

    def clear(self) -> None:
        if self._status is not None:
            self._status.clear()


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

    def within(self, records: "Iterable[Record]") -> list[Record]:
        """Those that lie before the stops."""
        stops = self._stops
        if stops is None:
            return list(records)
        return [each for each in records if each.offset < stops[TopicPartition(each.topic, each.partition)]]

    def advance(self, consumer: "KafkaConsumer[bytes, bytes]") -> None:
        """A partition at its stop is read no further. Not every offset has a record: the position counts."""
        if self._stops is None:
            return
        done = [place for place in self._open if consumer.position(place) >= self._stops[place]]
        if done:
            consumer.pause(done)
            self._open = [place for place in self._open if place not in done]
