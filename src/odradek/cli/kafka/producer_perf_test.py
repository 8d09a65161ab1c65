"""`kafka-producer-perf-test.sh`: how fast records can be written, and how long each takes."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.console_producer import properties
from odradek.cli.kafka.flags import Flags
from odradek.cli.kafka.latencies import Latencies
from odradek.cli.kafka.options import Given, flag, value
from odradek.cli.kafka.tool import client_properties, tool

if TYPE_CHECKING:
    from odradek.client.producer.kafka_producer import KafkaProducer

PAYLOADS = ("record-size", "payload-file", "payload-monotonic")
SETTINGS = ("bootstrap-server", "command-property", "producer-props", "producer.config", "command-config")

FLAGS = Flags(
    "kafka-producer-perf-test",
    "measure how fast records are written",
    [
        options.BOOTSTRAP,
        value("topic", "TOPIC", "where the records go"),
        value("num-records", "NUMBER", "how many"),
        value("record-size", "BYTES", "of each"),
        value("payload-file", "FILE", "lines, of which each record has one by chance"),
        value("payload-delimiter", "TEXT", "between payloads in the file", "\\n"),
        flag("payload-monotonic", "each record is its number"),
        value("throughput", "NUMBER", "records a second; -1: as many as go"),
        value("producer-props", "NAME=VALUE...", "the same as --command-property, several at once"),
        value("command-property", "NAME=VALUE", "a config of the producer; may be repeated"),
        value("producer.config", "FILE", "the same as --command-config"),
        options.COMMAND_CONFIG,
        flag("print-metrics", "left out"),
        value("transactional-id", "ID", "write in transactions"),
        value("transaction-duration-ms", "MS", "how long each lasts"),
        value("warmup-records", "NUMBER", "records at the beginning that do not count", "0"),
        value("reporting-interval", "MS", "how often to tell", "5000"),
    ],
    required=("topic", "num-records"),
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = FLAGS.parse(_one_by_one(arguments))
    count, rate = _checked(given)
    payloads = _payloads(given)
    configs = _configs(given)
    from odradek.client.producer.kafka_producer import KafkaProducer

    measuring = _Measuring(given, count, rate)
    producer: KafkaProducer[bytes, bytes] = KafkaProducer(configs)
    with producer:
        measuring.run(producer, payloads, is_transactional="transactional.id" in configs)
    print(measuring.latencies.total())
    return 0


def _one_by_one(arguments: Sequence[str]) -> list[str]:
    """`--producer-props a=1 b=2` as two flags."""
    words: list[str] = []
    is_listing = False
    for word in arguments:
        if word.startswith("--"):
            is_listing = word == "--producer-props"
            words += [] if is_listing else [word]
        else:
            words += [f"--producer-props={word}"] if is_listing else [word]
    return words


def _checked(given: Given) -> tuple[int, float]:
    if sum(map(given.has, PAYLOADS)) != 1:
        listed = " ".join(f"--{name}" for name in PAYLOADS)
        FLAGS.fail(f"one of the arguments {listed} is required")
    if not given.has("throughput"):
        FLAGS.fail("argument --throughput is required")
    if not any(map(given.has, SETTINGS)):
        FLAGS.fail(
            "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or "
            "--command-config must be specified."
        )
    count = given.integer("num-records") or 0
    if count <= 0:
        FLAGS.fail("--num-records should be greater than zero.")
    if given.has("record-size") and (given.integer("record-size") or 0) <= 0:
        FLAGS.fail("--record-size should be greater than zero.")
    return count, float(given.text("throughput"))


def _payloads(given: Given) -> list[bytes]:
    """Of which each record has one; none: each is its number."""
    from random import Random

    if given.has("payload-monotonic"):
        return []
    if given.has("record-size"):
        chance = Random(0)
        return [bytes(chance.randrange(65, 91) for _ in range(given.integer("record-size") or 0))]
    path = given.text("payload-file")
    print(f"Reading payloads from: {path}")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}") from None
    delimiter = given.text("payload-delimiter").replace("\\n", "\n")
    found = [line.encode() for line in text.split(delimiter) if line]
    print(f"Number of records read: {len(found)}")
    if not found:
        raise Refusal(f"File does not exist or empty file provided: {path}")
    return found


def _configs(given: Given) -> dict[str, object]:
    if given.has("producer-props"):
        print(
            "Option --producer-props has been deprecated and will be removed in a future version. "
            "Use --command-property instead."
        )
    path = given.value("command-config") or given.value("producer.config")
    configs = client_properties(path, given.text("bootstrap-server"), {})
    if not given.has("bootstrap-server"):
        del configs["bootstrap.servers"]
    configs |= properties([*given.values("producer-props"), *given.values("command-property")])
    configs.setdefault("client.id", "perf-producer-client")
    if given.has("transaction-duration-ms") or given.has("transactional-id"):
        configs["transactional.id"] = given.value("transactional-id") or f"performance-producer-{time.time_ns()}"
    if "bootstrap.servers" not in configs:
        raise Refusal("bootstrap.servers is set by nobody: use --bootstrap-server")
    return configs


class _Measuring:
    def __init__(self, given: Given, count: int, rate: float) -> None:
        self._topic = given.text("topic")
        self._count = count
        self._rate = rate
        self._transaction_s = (given.integer("transaction-duration-ms") or 3000) / 1000
        self._warmup = given.integer("warmup-records") or 0
        self.latencies = Latencies(given.integer("reporting-interval") or 5000)

    def run(self, producer: "KafkaProducer[bytes, bytes]", payloads: list[bytes], *, is_transactional: bool) -> None:
        if is_transactional:
            producer.init_transactions()
        self.latencies.begin()
        began_s = time.monotonic()
        transaction_s: float | None = None
        for number in range(self._count):
            if is_transactional and transaction_s is None:
                producer.begin_transaction()
                transaction_s = time.monotonic()
            self._send(producer, payloads[number % len(payloads)] if payloads else b"%d" % number, number)
            if transaction_s is not None and time.monotonic() - transaction_s >= self._transaction_s:
                producer.commit_transaction()
                transaction_s = None
            if self._rate > 0:
                time.sleep(max(0.0, (number + 1) / self._rate - (time.monotonic() - began_s)))
        if transaction_s is not None:
            producer.commit_transaction()
        producer.flush()

    def _send(self, producer: "KafkaProducer[bytes, bytes]", payload: bytes, number: int) -> None:
        sent_s = time.monotonic()

        def told(_: object, error: Exception | None) -> None:
            if error is None and number >= self._warmup:
                self.latencies.add(int((time.monotonic() - sent_s) * 1000), len(payload))

        producer.send(self._topic, payload, callback=told)
