"""`odradek transactions`: which there are, and how one ends that hangs.

A transaction hangs in a partition when the partition has it open and its coordinator does not know of it: then nobody
will ever end it, and readers of committed records wait there for good.
"""

import argparse
import time
from typing import TYPE_CHECKING

from odradek.cli.client import plan
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.lookup import described_topics
from odradek.cli.client.near import unknown
from odradek.cli.client.table import show
from odradek.cli.client.times import duration_ms, shown_duration, shown_time
from odradek.cli.failure import Failure, Refusal
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.transactions import ProducerState

HELP = "transactions: list, show, abort, hanging"

HANGING_AFTER = "15m"  # the longest that brokers allow a transaction to take, unless they are told otherwise
COLUMNS = {
    "topic": "TOPIC",
    "partition": "PARTITION",
    "producer_id": "PRODUCER",
    "producer_epoch": "EPOCH",
    "start_offset": "FROM OFFSET",
    "idle": "LAST WRITE",
}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "transactions", HELP)
    listing = group.action(
        "list",
        "the transactional ids that coordinators know, with their states",
        _list,
        """
        transactions list
        transactions list --state Ongoing --older 1m
        """,
    )
    listing.add_argument("--state", action="append", default=[], metavar="STATE", help="only those in it, as Ongoing")
    listing.add_argument("--older", type=duration_ms, metavar="TIME", help="only those open for longer, as 90s")
    showing = group.action(
        "show",
        "what a coordinator knows of transactional ids",
        _show,
        """
        transactions show billing-1
        """,
    )
    showing.add_argument("ids", nargs="+", metavar="ID")
    hanging = group.action(
        "hanging",
        "transactions that partitions have open and no coordinator knows of",
        _hanging,
        """
        transactions hanging
        transactions hanging orders --older 1h
        """,
    )
    hanging.add_argument("topics", nargs="*", default=[], metavar="TOPIC", help="only in these (default: all)")
    hanging.add_argument(
        "--older", type=duration_ms, default=HANGING_AFTER, metavar="TIME", help="without a write for longer (15m)"
    )
    abort = group.action(
        "abort",
        "end the open transaction of a transactional id, or one that hangs in a partition",
        _abort,
        """
        transactions abort billing-1 # shows what would be ended
        transactions abort billing-1 --execute # its producer is shut out
        transactions abort --partition orders:0 --producer 4711 --execute # one that hangs
        """,
    )
    abort.add_argument("id", nargs="?", metavar="ID")
    abort.add_argument("--partition", metavar="TOPIC:N", help="where it hangs")
    abort.add_argument(
        "--producer", type=int, metavar="PRODUCER", help="the producer id, as transactions hanging shows it"
    )
    plan.add_execute(abort)


def _list(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        if options.older is None:
            found = admin.list_transactions(states=options.state)
        else:
            found = admin.list_transactions(states=options.state, duration_ms=options.older)
    rows = [
        {"id": each.transactional_id, "producer_id": each.producer_id, "state": each.state} for each in found.values()
    ]
    show(options, rows, {"id": "TRANSACTIONAL ID", "producer_id": "PRODUCER", "state": "STATE"})
    return 0


def _show(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        rows = _described(admin, options.ids)
    columns = {
        "id": "TRANSACTIONAL ID",
        "state": "STATE",
        "producer_id": "PRODUCER",
        "producer_epoch": "EPOCH",
        "coordinator": "COORDINATOR",
        "timeout_ms": "TIMEOUT MS",
        "started": "STARTED",
        "partitions": "PARTITIONS",
    }
    if not options.json:
        rows = [{**row, "started": shown_time(_number(row["start_time_ms"]))} for row in rows]
    show(options, rows, columns)
    return 0


def _described(admin: "AdminClient", ids: list[str]) -> list[dict[str, object]]:
    from odradek.protocol.errors import TransactionalIdNotFound

    described = admin.describe_transactions(ids)
    for name, error in described.errors.items():
        if isinstance(error, TransactionalIdNotFound):
            raise unknown("transactional id", name, admin.list_transactions(), "odradek transactions list")
    return [
        {
            "id": name,
            "state": each.state,
            "producer_id": each.producer_id,
            "producer_epoch": each.producer_epoch,
            "coordinator": each.coordinator,
            "timeout_ms": each.timeout_ms,
            "start_time_ms": each.start_time_ms,
            "partitions": [f"{place.topic}:{place.partition}" for place in sorted(each.partitions)],
        }
        for name, each in described.items()
    ]


def _hanging(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        names = options.topics or admin.list_topics(internal=True)
        topics = described_topics(admin, names)
        places = [TopicPartition(name, each.partition) for name, topic in topics.items() for each in topic.partitions]
        rows = hanging_rows(admin, places, options.older)
    show(options, rows, COLUMNS)
    return 0


def hanging_rows(admin: "AdminClient", places: list[TopicPartition], older_ms: int) -> list[dict[str, object]]:
    now_ms = time.time_ns() // 1_000_000
    found = admin.describe_producers(places).values_ok if places else {}
    suspects = [
        (place, producer)
        for place, producers in sorted(found.items())
        for producer in producers
        if producer.transaction_start_offset is not None and now_ms - producer.last_timestamp_ms >= older_ms
    ]
    known = _open_places(admin, {producer.producer_id for _, producer in suspects})
    return [
        {**_row(place, producer), "idle": f"{shown_duration(max(0, now_ms - producer.last_timestamp_ms))} ago"}
        for place, producer in suspects
        if (producer.producer_id, place) not in known
    ]


def _open_places(admin: "AdminClient", producer_ids: set[int]) -> set[tuple[int, TopicPartition]]:
    """The partitions in which coordinators know transactions of these producers to be open."""
    if not producer_ids:
        return set()
    listed = admin.list_transactions(producer_ids=producer_ids)
    described = admin.describe_transactions(listed).values_ok if listed else {}
    return {(each.producer_id, place) for each in described.values() for place in each.partitions}


def _abort(options: argparse.Namespace) -> int:
    if options.id is not None:
        return _abort_id(options)
    if options.partition is None or options.producer is None:
        raise Failure("which transaction? a transactional id, or --partition TOPIC:N with --producer; see --help")
    return _abort_hanging(options)


def _abort_id(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        rows = _described(admin, [options.id])
        show(options, rows, {"id": "ABORT", "state": "STATE", "producer_id": "PRODUCER", "partitions": "PARTITIONS"})
        if not plan.is_to_be_done(options):
            return 0
        admin.force_terminate_transaction(options.id)
    return plan.outcome({})


def _abort_hanging(options: argparse.Namespace) -> int:
    from odradek.client.admin.transactions import AbortTransactionSpec

    topic, _, number = options.partition.rpartition(":")
    if not topic or not number.isdecimal():
        raise Failure(f"--partition {options.partition}: expected a topic and a partition, as in orders:0")
    place = TopicPartition(topic, int(number))
    with admin_of(options) as admin:
        described_topics(admin, [topic])
        producers = [each for each in admin.describe_producers([place])[place] if each.producer_id == options.producer]
        if not producers or producers[0].transaction_start_offset is None:
            raise Refusal(f"producer {options.producer} has no open transaction in {options.partition}")
        row = _row(place, producers[0])
        show(options, [row], _ABORT_COLUMNS)
        if not plan.is_to_be_done(options):
            return 0
        spec = AbortTransactionSpec(
            place, producers[0].producer_id, producers[0].producer_epoch, producers[0].coordinator_epoch or 0
        )
        admin.abort_transaction(spec)
    return plan.outcome({})


_ABORT_COLUMNS = {
    "topic": "ABORT IN",
    "partition": "PARTITION",
    "producer_id": "PRODUCER",
    "producer_epoch": "EPOCH",
    "start_offset": "FROM OFFSET",
}


def _row(place: TopicPartition, producer: "ProducerState") -> dict[str, object]:
    return {
        "topic": place.topic,
        "partition": place.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": producer.coordinator_epoch,
        "start_offset": producer.transaction_start_offset,
        "last_timestamp_ms": producer.last_timestamp_ms,
    }


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
