"""`odradek produce`: write records, from lines, files, JSON or the command itself."""

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.cli.client import positions
from odradek.cli.client.command import complete
from odradek.cli.client.connection import admin_of, timeout_s, told_errors
from odradek.cli.client.lookup import partition_counts
from odradek.cli.client.near import nearest
from odradek.cli.client.new_records import is_typed, new_records
from odradek.cli.client.producer_client import producer_of
from odradek.cli.client.record_json import NewRecord
from odradek.cli.client.table import counted
from odradek.cli.client.times import time_ms
from odradek.cli.client.waiting import told_if_slow
from odradek.cli.failure import Failure, Refusal
from odradek.cli.progress import Progress

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.producer.accumulator import RecordFuture
    from odradek.client.producer.kafka_producer import KafkaProducer

HELP = "write records: lines, files, JSON, or what the command itself says"

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS = ("0", "1", "all")
DELIVERY_TIMEOUTS = 3  # so many times --timeout may a record take, with all attempts


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("produce", help=HELP)
    add = parser.add_argument
    add("topic", metavar="TOPIC")
    add("values", nargs="*", default=[], metavar="VALUE", help="records (default: each line of standard input is one)")
    add("-k", "--key", metavar="KEY", help="the key of every record")
    add("-K", "--key-delimiter", metavar="TEXT", help="each line is a key, this text, and a value")
    add("-H", "--headers", action="append", default=[], metavar="NAME=VALUE", help="a header of every record")
    add("-p", "--partition", type=int, metavar="N", help="(default: by the key)")
    add("-z", "--compression", choices=CODECS, help=", ".join(CODECS), metavar="CODEC")
    add(
        "--timestamp",
        metavar="TIME",
        help="of every record: milliseconds, a date, or -1h for an hour ago (default: now)",
    )
    add("--file", action="append", default=[], metavar="FILE", help="a whole file is one value; with --json, of lines")
    add("--json", action="store_true", help="each line is a record as consume --json prints it")
    add("--keep-partition", action="store_true", help="with --json: into the partition that the line names")
    add("--null", action="store_true", help="an empty key or value is null: in a compacted topic, a deletion")
    add("--escaped", action="store_true", help="\\n, \\t, \\\\ and \\xNN in the input stand for those bytes")
    add("--rate", type=float, metavar="N", help="so many records a second at most")
    add("--acks", choices=ACKS, help="who has to have a record before it counts as written (default: all)")
    add("--transaction", metavar="ID", help="all of it in one transaction, under this transactional id")
    add("--create", action="store_true", help="create the topic if it is not there")
    add("--offsets", action="store_true", help="print partition and offset of each record, as on a terminal")
    complete(
        parser,
        HELP,
        _produce,
        """
        produce orders # each line that you type, until Ctrl-D
        produce orders 'one order' -k customer-1
        produce orders -K: < orders.txt # key:value on each line
        produce orders -H source=import -z zstd --rate 1000 < orders.txt
        produce pictures --file cat.png -k cat
        produce orders --json < records.jsonl # what consume --json has printed
        produce orders -k customer-1 --null '' # a deletion, if the topic is compacted
        produce orders --transaction import-1 < orders.txt # all or nothing
        """,
        json=False,
    )


def _produce(options: argparse.Namespace) -> int:
    _refuse_what_does_not_fit(options)
    if options.timestamp is not None:
        options.timestamp = time_ms(options.timestamp, time.time_ns() // 1_000_000)
    with told_errors():
        with admin_of(options) as admin:
            _ensure_topic(admin, options)
        with producer_of(options, _configs(options)) as producer:
            writer = _Writer(producer, options)
            with _transaction(producer, options):
                writer.write()
    writer.tell()
    return 0


def _ensure_topic(admin: "AdminClient", options: argparse.Namespace) -> None:
    there = admin.list_topics(internal=True)
    if options.topic in there:
        _ensure_partition(admin, options)
        return
    if options.create:
        admin.create_topic(options.topic)
        return
    near = nearest(options.topic, there)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise Refusal(f"there is no topic {options.topic!r}; {meant}--create makes it")


def _ensure_partition(admin: "AdminClient", options: argparse.Namespace) -> None:
    """A producer waits for a partition that it does not know: the topic may be growing. Who types waits for nothing."""
    if options.partition is not None:
        counts = partition_counts(admin, [options.topic])
        positions.wanted_partitions([f"{options.topic}:{options.partition}"], counts)


def _configs(options: argparse.Namespace) -> dict[str, str]:
    timeout_ms = round(timeout_s(options) * 1000)
    found = {
        "max.block.ms": str(timeout_ms),
        "request.timeout.ms": str(timeout_ms),
        "delivery.timeout.ms": str(DELIVERY_TIMEOUTS * timeout_ms),
    }
    if options.compression is not None:
        found["compression.type"] = options.compression
    if options.acks is not None:
        found["acks"] = options.acks
        found["enable.idempotence"] = str(options.acks == "all").lower()
    if options.transaction is not None:
        found["transactional.id"] = options.transaction
    return found


@contextmanager
def _transaction(producer: "KafkaProducer[bytes, bytes]", options: argparse.Namespace) -> Iterator[None]:
    if options.transaction is None:
        yield
        return
    producer.init_transactions()
    with producer.transaction():
        yield


class _Writer:
    """Sends one record after the other, and looks after those before meanwhile. The first one that failed ends it."""

    def __init__(self, producer: "KafkaProducer[bytes, bytes]", options: argparse.Namespace) -> None:
        self._producer = producer
        self._options = options
        self._prints = options.offsets or sys.stdout.isatty()
        self._waits = is_typed(options)  # whoever types wants to see each one through
        self._sent: deque[RecordFuture] = deque()  # what has no outcome yet, in the order of the input
        self._written = 0
        self._rate = _Rate(options.rate)

    def write(self) -> None:
        progress = Progress("records written")
        if self._waits:
            print("each line is a record; Ctrl-D ends", file=sys.stderr)
        for record in new_records(self._options):
            self._rate.wait()
            self._sent.append(self._send(record))
            if self._waits:
                self._sent[-1].result()
            self._settle()
            progress.advance()
        with told_if_slow("waiting until all records are acknowledged"):
            self._producer.flush()
        progress.done()
        self._settle()

    def _send(self, record: NewRecord) -> "RecordFuture":
        key, value, headers, partition, timestamp_ms, _ = record
        if not headers and partition is None and timestamp_ms is None:
            return self._producer.send(self._options.topic, value, key)  # the short way, which most records go
        return self._producer.send(
            self._options.topic, value, key, headers=headers, partition=partition, timestamp_ms=timestamp_ms
        )

    def _settle(self) -> None:
        """Raises why a record was not written."""
        while self._sent and self._sent[0].done():
            metadata = self._sent.popleft().result()
            self._written += 1
            if self._prints:
                print(f"{metadata.topic}:{metadata.partition} offset {metadata.offset}")

    def tell(self) -> None:
        if sys.stderr.isatty() and not self._waits:
            print(f"{counted(self._written, 'record')} written", file=sys.stderr)


class _Rate:
    """Keeps to so many a second."""

    def __init__(self, rate: float | None) -> None:
        self._every_s = 0.0 if rate is None else 1.0 / rate
        self._next = time.monotonic()

    def wait(self) -> None:
        if not self._every_s:
            return
        pause = self._next - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        self._next = max(self._next, time.monotonic() - 1.0) + self._every_s


def _refuse_what_does_not_fit(options: argparse.Namespace) -> None:
    if options.rate is not None and options.rate <= 0:
        raise Failure(f"--rate {options.rate:g}: a rate is a number of records a second, above 0")
    if options.values and (options.file or options.json):
        raise Failure("records come from the command or from a file: leave the values or --file and --json out")
    if options.key is not None and options.key_delimiter is not None:
        raise Failure("-k gives every record one key, -K takes the key from each line: choose one")
    if options.json and (options.key_delimiter or options.escaped):
        raise Failure("-K and --escaped are for lines of text: leave them or --json out")
    if options.transaction is not None and options.acks not in (None, "all"):
        raise Failure("a transaction needs --acks all")
