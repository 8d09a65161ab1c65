"""`odradek copy`: the records of one topic into another, in the same cluster or between two."""

import argparse
import time
from collections import deque
from typing import TYPE_CHECKING

from odradek.cli.client import positions, reading
from odradek.cli.client.command import complete
from odradek.cli.client.connection import admin_of, told_errors
from odradek.cli.client.lookup import described_topics, partition_counts
from odradek.cli.client.producer_client import producer_of
from odradek.cli.client.record import Record
from odradek.cli.client.record_filter import add_filters, filter_of
from odradek.cli.client.table import counted, show_json
from odradek.cli.client.waiting import Status
from odradek.cli.failure import Failure, Refusal
from odradek.cli.progress import REFRESH_SECONDS, SILENT_SECONDS

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.producer.accumulator import RecordFuture
    from odradek.client.producer.kafka_producer import KafkaProducer
    from odradek.protocol.topic_partition import TopicPartition

HELP = "copy records from a topic into another, in this cluster or into another one"

SAME, BY_KEY = "same", "key"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("copy", help=HELP)
    add = parser.add_argument
    add("source", metavar="TOPIC[:PARTITIONS]", help="what is copied")
    add("target", metavar="NEW-TOPIC", help="where to")
    add("--from", dest="start", default="start", metavar="PLACE", help=f"{positions.FORMS} (default: start)")
    add("--to", metavar="PLACE", help="where to end (default: where the topic ends now)")
    add("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    add("-n", "--number", type=int, metavar="N", help="end after so many records")
    add(
        "--partition",
        choices=(SAME, BY_KEY),
        default=SAME,
        help="into the partition of the same number (default), or by the key as a producer does it",
    )
    add("--create", action="store_true", help="create the target with as many partitions and the same configs")
    add("--isolation", choices=("committed", "uncommitted"), default="committed", help=argparse.SUPPRESS)
    add_filters(parser)
    into = parser.add_argument_group("the cluster that is copied into, if it is another one").add_argument
    into("--into-bootstrap", metavar="HOST:PORT", help="its brokers")
    into("--into-context", metavar="NAME", help="its context")
    into("--into-config", metavar="FILE", help="its client.properties")
    into("--into-X", dest="into_configs", action="append", default=[], metavar="NAME=VALUE", help="any config for it")
    complete(
        parser,
        HELP,
        _copy,
        """
        copy orders orders-copy --create
        copy orders orders --into-context test --from @-1d # yesterday's orders into the test cluster
        copy orders errors --grep error --partition key
        """,
    )


def _copy(options: argparse.Namespace) -> int:
    target = target_options(options)
    passes = filter_of(options)
    now_ms = time.time_ns() // 1_000_000
    start = positions.parse(options.start, now_ms)
    with told_errors():
        with admin_of(options, is_long=True) as admin:
            topic = positions.topic_of(options.source)
            places = positions.wanted_partitions([options.source], partition_counts(admin, [topic]))
            bounds = positions.bounds_of(admin, places, committed_only=True)
            starts = positions.offsets_at(admin, start, bounds)
            stops = _stops(admin, options, bounds, now_ms)
            wanted_topic = _new_topic(admin, topic) if options.create else None
        with admin_of(target, is_long=True) as admin:
            _ensure_target(admin, options, wanted_topic, max(place.partition for place in places))
        copied = _Copier(options, target).run(reading.Wanted(starts, stops, options.number), passes)
    if options.json:
        show_json([{"from": options.source, "to": options.target, "records": copied}])
    return 0


def target_options(options: argparse.Namespace) -> argparse.Namespace:
    """Those of the other cluster, or the same ones."""
    if not (options.into_bootstrap or options.into_context or options.into_config):
        if positions.topic_of(options.source) == options.target:
            raise Failure(
                "a topic is not copied into itself: name another target, or another cluster with --into-context"
            )
        return options
    return argparse.Namespace(
        bootstrap=options.into_bootstrap,
        context=options.into_context,
        config=options.into_config,
        configs=options.into_configs,
        timeout=options.timeout,
    )


def _stops(
    admin: "AdminClient", options: argparse.Namespace, bounds: "dict[TopicPartition, positions.Bounds]", now_ms: int
) -> "dict[TopicPartition, int] | None":
    if options.follow:
        return None
    if options.to is not None:
        return positions.offsets_at(admin, positions.parse(options.to, now_ms), bounds)
    return {place: limits.end for place, limits in bounds.items()}


def _new_topic(admin: "AdminClient", name: str) -> tuple[int, dict[str, object]]:
    """How many partitions, and which configs are its own."""
    from odradek.client.admin.configs import ConfigResource

    resource = ConfigResource.topic(name)
    entries = admin.describe_configs([resource])[resource].values()
    own: dict[str, object] = {each.name: each.value for each in entries if each.source == "DYNAMIC_TOPIC_CONFIG"}
    return len(described_topics(admin, [name])[name].partitions), own


def _ensure_target(
    admin: "AdminClient", options: argparse.Namespace, new: tuple[int, dict[str, object]] | None, highest: int
) -> None:
    from odradek.client.admin.topics import NewTopic

    if new is not None and options.target not in admin.list_topics(internal=True):
        admin.create_topics([NewTopic(options.target, new[0], -1, new[1])]).raise_any()
    count = partition_counts(admin, [options.target])[options.target]
    if options.partition == SAME and highest >= count:
        raise Refusal(
            f"{options.target} has {counted(count, 'partition')}, and {options.source} more: "
            f"--partition key spreads records by their keys, or odradek topics grow {options.target} {highest + 1}"
        )


class _Copier:
    """Sends what is read. Keys, headers and times stay as they were."""

    def __init__(self, options: argparse.Namespace, target: argparse.Namespace) -> None:
        self._options = options
        self._target = target
        self._sent: deque[RecordFuture] = deque()  # what has no outcome yet
        self._copied = 0
        self._status = Status()
        self._next = time.monotonic() + SILENT_SECONDS

    def run(self, wanted: reading.Wanted, passes: reading.Passes | None) -> int:
        """How many were copied."""
        total = _total(wanted)
        try:
            with producer_of(self._target, {"compression.type": "lz4"}) as producer:
                left = wanted.number
                for records in reading.batches(self._options, wanted):
                    chosen = records if passes is None else [record for record in records if passes(record)]
                    for record in chosen[:left]:
                        self._sent.append(self._send(producer, record))
                    left = None if left is None else left - len(chosen)
                    self._settle()
                    self._tell(total)
                    if left is not None and left <= 0:
                        break
                producer.flush()
                self._settle()
        finally:
            self._status.clear()
        return self._copied

    def _send(self, producer: "KafkaProducer[bytes, bytes]", record: Record) -> "RecordFuture":
        return producer.send(
            self._options.target,
            record.value,
            record.key,
            headers=record.headers,
            partition=record.partition if self._options.partition == SAME else None,
            timestamp_ms=record.timestamp if record.timestamp >= 0 else None,
        )

    def _settle(self) -> None:
        """Raises why a record was not written."""
        while self._sent and self._sent[0].done():
            self._sent.popleft().result()
            self._copied += 1

    def _tell(self, total: int | None) -> None:
        if time.monotonic() >= self._next and self._status.is_terminal:
            self._next = time.monotonic() + REFRESH_SECONDS
            of = "" if total is None else f" of {total}"
            self._status.show(f"{self._copied}{of} records copied")


def _total(wanted: reading.Wanted) -> int | None:
    """How many offsets lie between start and stop; None if there is no stop."""
    if wanted.stops is None:
        return None
    return sum(max(0, stop - wanted.starts[place]) for place, stop in wanted.stops.items())
