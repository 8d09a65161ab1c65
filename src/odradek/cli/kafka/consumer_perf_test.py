"""`kafka-consumer-perf-test.sh`: how fast records can be read."""

import time
from collections.abc import Sequence
from datetime import datetime

from odradek.cli.kafka import options
from odradek.cli.kafka.console_producer import properties
from odradek.cli.kafka.options import Given, Misuse, Options, flag, value
from odradek.cli.kafka.tool import client_properties, tool

MEGABYTE = 1024 * 1024
POLL_S = 0.1
_FIGURES = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, "
_FIGURES += "fetch.MB.sec, fetch.nMsg.sec"

OPTIONS = Options(
    "kafka-consumer-perf-test.sh",
    "measure how fast records are read",
    [
        options.BOOTSTRAP,
        value("topic", "TOPIC", "what to read"),
        value("include", "REGEX", "topics whose whole names match, instead of one topic"),
        value("group", "GROUP", "read as a member of this group"),
        value("num-records", "NUMBER", "how many"),
        value("messages", "NUMBER", "the same as --num-records"),
        value("fetch-size", "BYTES", "of one partition in an answer", "1048576"),
        flag("from-latest", "not from the beginning"),
        value("socket-buffer-size", "BYTES", "of a connection", "2097152"),
        value("consumer.config", "FILE", "the same as --command-config"),
        options.COMMAND_CONFIG,
        value("command-property", "NAME=VALUE", "a config of the consumer; may be repeated"),
        flag("print-metrics", "left out"),
        flag("show-detailed-stats", "a line for each interval instead of one at the end"),
        value("timeout", "MS", "end when no record comes for so long", "10000"),
        value("reporting-interval", "MS", "with --show-detailed-stats", "5000"),
        flag("hide-header", "no line with titles"),
        value("date-format", "FORMAT", "left out: always yyyy-MM-dd HH:mm:ss:SSS"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    _check(given)
    if given.has("messages"):
        print("Warning: --messages is deprecated. Use --num-records instead.")
    if not given.has("hide-header"):
        first = "time, threadId, " if given.has("show-detailed-stats") else "start.time, end.time, "
        print(first + _FIGURES)
    _Measuring(given).run()
    return 0


def _check(given: Given) -> None:
    given.require("bootstrap-server")
    if given.has("topic") == given.has("include"):
        raise Misuse("Exactly one of the following arguments is required: [topic], [include]")
    if given.has("messages") == given.has("num-records"):
        raise Misuse("Exactly one of the following arguments is required: [messages], [num-records]")


class _Measuring:
    def __init__(self, given: Given) -> None:
        from odradek.client.consumer.kafka_consumer import KafkaConsumer

        self._given = given
        self._wanted = given.integer("num-records") or given.integer("messages") or 0
        self._timeout_ms = given.integer("timeout") or 0
        self._count = self._bytes = 0
        self._assigned_s: float | None = None
        self._consumer: KafkaConsumer[bytes, bytes] = KafkaConsumer(_configs(given))

    def run(self) -> None:
        began, began_s = datetime.now(), time.monotonic()
        self._subscribe()
        with self._consumer:
            self._read(began_s)
            end, end_s = datetime.now(), time.monotonic()
        if not self._given.has("show-detailed-stats"):
            print(f"{_shown(began)}, {_shown(end)}, {self._figures(began_s, end_s)}")

    def _subscribe(self) -> None:
        def assigned(_: object) -> None:
            self._assigned_s = self._assigned_s or time.monotonic()

        if self._given.has("topic"):
            self._consumer.subscribe([self._given.text("topic")], on_assigned=assigned)
        else:
            import re

            self._consumer.subscribe(re.compile(self._given.text("include")), on_assigned=assigned)

    def _read(self, began_s: float) -> None:
        last_s = told_s = time.monotonic()
        while self._count < self._wanted:
            records = self._consumer.poll(POLL_S)
            now_s = time.monotonic()
            if records:
                last_s = now_s
                self._count += len(records)
                self._bytes += sum(
                    max(0, each.serialized_key_size) + max(0, each.serialized_value_size) for each in records
                )
            elif (now_s - last_s) * 1000 > self._timeout_ms:
                print(
                    "WARNING: Exiting before consuming the expected number of records: timeout "
                    f"({self._timeout_ms} ms) exceeded. You can use the --timeout option to increase the timeout."
                )
                return
            if self._given.has("show-detailed-stats") and now_s - told_s >= (
                (self._given.integer("reporting-interval") or 0) / 1000
            ):
                told_s = now_s
                print(f"{_shown(datetime.now())}, 0, {self._figures(began_s, now_s)}")

    def _figures(self, began_s: float, end_s: float) -> str:
        whole_s = max(end_s - began_s, 1e-9)
        joining_s = (self._assigned_s or began_s) - began_s
        fetching_s = max(whole_s - joining_s, 1e-9)
        megabytes = self._bytes / MEGABYTE
        return (
            f"{megabytes:.4f}, {megabytes / whole_s:.4f}, {self._count}, {self._count / whole_s:.4f}, "
            f"{round(joining_s * 1000)}, {round(fetching_s * 1000)}, {megabytes / fetching_s:.4f}, "
            f"{self._count / fetching_s:.4f}"
        )


def _shown(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}:{when.microsecond // 1000:03d}"


def _configs(given: Given) -> dict[str, object]:
    path = given.value("command-config") or given.value("consumer.config")
    configs = client_properties(path, given.text("bootstrap-server"), {})
    configs |= properties(given.values("command-property"))
    configs.setdefault("group.id", given.value("group") or f"perf-consumer-{time.time_ns() % 100_000}")
    configs.setdefault("max.partition.fetch.bytes", given.text("fetch-size"))
    configs.setdefault("auto.offset.reset", "latest" if given.has("from-latest") else "earliest")
    configs.setdefault("check.crcs", "false")
    configs.setdefault("client.id", "perf-consumer-client")
    return configs
