"""`consume -g GROUP`: reading as a member of a group."""

import argparse
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.cli.client.connection import admin_of
from odradek.cli.client.consumer_client import consumer_of
from odradek.cli.client.lookup import partition_counts
from odradek.cli.client.reading import POLL_S, Passes, consumer_configs
from odradek.cli.client.record_output import Printer
from odradek.cli.client.waiting import Status
from odradek.cli.failure import Failure
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.consumer.kafka_consumer import KafkaConsumer

COMMIT_EVERY_S = 5.0

_RESETS = {None: "earliest", "start": "earliest", "earliest": "earliest", "end": "latest", "latest": "latest"}


def read(options: argparse.Namespace, printer: Printer, passes: Passes | None) -> int:
    if options.start not in _RESETS:
        raise Failure(
            f"--from {options.start} goes without -g: a group goes on where it is. To set that: "
            f"odradek groups reset {options.group} --to {options.start}; start and end say where one begins that is new"
        )
    with admin_of(options) as admin:
        partition_counts(admin, options.topics)  # a topic that is not there says so
    configs = {**consumer_configs(options), "group.id": options.group, "auto.offset.reset": _RESETS[options.start]}
    with consumer_of(options, configs) as consumer:
        consumer.subscribe(options.topics)
        _read(options, consumer, printer, passes)
    return 0


def _read(
    options: argparse.Namespace, consumer: "KafkaConsumer[bytes, bytes]", printer: Printer, passes: Passes | None
) -> None:
    left = options.number
    committer = _Committer(consumer if options.commit else None)
    status = _Joining(options.group)
    try:
        while left is None or left > 0:
            records = consumer.poll(POLL_S, max_records=left)
            status.tell(consumer)
            chosen = list(records) if passes is None else [record for record in records if passes(record)]
            printer.show(chosen)
            left = None if left is None else left - len(chosen)
            committer.printed(records.next_offsets())
            if not printer.has_reader() or (options.exit and not records and _is_at_the_end(consumer)):
                break
    finally:
        status.clear()
        committer.commit()


class _Committer:
    """Commits what was printed, not more often than every few seconds; for nobody if there is no consumer."""

    def __init__(self, consumer: "KafkaConsumer[bytes, bytes] | None") -> None:
        self._consumer = consumer
        self._offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        self._next = time.monotonic() + COMMIT_EVERY_S

    def printed(self, offsets: "Mapping[TopicPartition, OffsetAndMetadata]") -> None:
        self._offsets |= offsets
        if time.monotonic() >= self._next:
            self.commit()

    def commit(self) -> None:
        if self._consumer is not None and self._offsets:
            held = self._consumer.assignment()
            self._consumer.commit_sync({place: at for place, at in self._offsets.items() if place in held})
        self._offsets = {}
        self._next = time.monotonic() + COMMIT_EVERY_S


class _Joining:
    """Tells at a terminal that the group has not given any partition yet."""

    def __init__(self, group: str) -> None:
        self._text = f"joining the group {group} ..."
        self._status = Status() if sys.stderr.isatty() else None

    def tell(self, consumer: "KafkaConsumer[bytes, bytes]") -> None:
        if self._status is not None and not consumer.assignment():
            self._status.show(self._text)
        else:
            self.clear()

    def clear(self) -> None:
        if self._status is not None:
            self._status.clear()


def _is_at_the_end(consumer: "KafkaConsumer[bytes, bytes]") -> bool:
    places = list(consumer.assignment())
    if not places:
        return False
    ends = consumer.end_offsets(places)
    return all(consumer.position(place) >= ends[place] for place in places)
