"""`kafka-console-consumer.sh`: prints the records of a topic, one at a time."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.console_producer import properties, warn_of_old_names
from odradek.cli.kafka.options import Given, Misuse, Options, flag, value
from odradek.cli.kafka.tool import client_properties, tool

if TYPE_CHECKING:
    from odradek.client.consumer.kafka_consumer import KafkaConsumer
    from odradek.client.consumer.records import ConsumerRecord

DEFAULT_FORMATTER = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
OLD_NAMES = {
    "property": "formatter-property",
    "consumer-property": "command-property",
    "consumer.config": "command-config",
}
POLL_S = 0.2  # between two looks at whether somebody wants it to end
ISOLATION_LEVELS = ("read_committed", "read_uncommitted")

OPTIONS = Options(
    "kafka-console-consumer.sh",
    "print the records of a topic",
    [
        options.BOOTSTRAP,
        value("topic", "TOPIC", "what to read"),
        value("include", "REGEX", "topics whose whole names match, instead of one topic"),
        value("whitelist", "REGEX", "the same as --include"),
        value("partition", "NUMBER", "only this partition, from --offset on"),
        value("offset", "OFFSET", "with --partition: a number, earliest or latest", "latest"),
        value("group", "GROUP", "read as a member of a group, and commit"),
        flag("from-beginning", "from the first record on where nothing is committed"),
        value("max-messages", "NUMBER", "end after so many records"),
        value("timeout-ms", "MS", "end when no record comes for so long"),
        flag("skip-message-on-error", "go on after a record that cannot be printed"),
        flag("enable-systest-events", "of no effect"),
        value("isolation-level", "LEVEL", " or ".join(ISOLATION_LEVELS), "read_uncommitted"),
        value(
            "formatter",
            "CLASS",
            "DefaultMessageFormatter, LoggingMessageFormatter or NoOpMessageFormatter",
            DEFAULT_FORMATTER,
        ),
        value("formatter-property", "NAME=VALUE", "what is printed of a record: print.key and the like"),
        value("property", "NAME=VALUE", "the same as --formatter-property"),
        value("formatter-config", "FILE", "such properties in a file"),
        value("consumer-property", "NAME=VALUE", "the same as --command-property"),
        value("command-property", "NAME=VALUE", "a config of the consumer"),
        value("consumer.config", "FILE", "the same as --command-config"),
        options.COMMAND_CONFIG,
        value("key-deserializer", "CLASS", "for keys"),
        value("value-deserializer", "CLASS", "for values"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    _check(given)
    warn_of_old_names(given, "Option --{old}", OLD_NAMES)
    configs = _configs(given)
    from odradek.cli.kafka.message_formatter import formatter
    from odradek.client.consumer.kafka_consumer import KafkaConsumer
    from odradek.client.settings import client_config
    from odradek.config.consumer import TABLE

    line = formatter(given.text("formatter"), _formatter_properties(given), client_config(TABLE, configs, {}))
    reading = _Reading(given, KafkaConsumer(configs), has_group="group.id" in configs and _commits(configs))
    try:
        reading.print_records(line)
    except KeyboardInterrupt:
        pass  # the usual end
    finally:
        reading.close()
        print(f"Processed a total of {reading.count} messages", file=sys.stderr)
    return 0


def _commits(configs: dict[str, object]) -> bool:
    return str(configs.get("enable.auto.commit", "true")).lower() != "false"


class _Reading:
    """Polls when its records are used up, and hands out one at a time."""

    def __init__(self, given: Given, consumer: "KafkaConsumer[bytes, bytes]", *, has_group: bool) -> None:
        self.count = 0
        self._given = given
        self._consumer = consumer
        self._commits = has_group
        self._waiting: list[ConsumerRecord[bytes, bytes]] = []  # the next one is the last
        self._begin()

    def _begin(self) -> None:
        given, consumer = self._given, self._consumer
        if given.has("partition"):
            self._seek()
        elif given.has("topic"):
            consumer.subscribe([given.text("topic")])
        else:
            import re

            consumer.subscribe(re.compile(given.text("include") or given.text("whitelist")))

    def _seek(self) -> None:
        from odradek.protocol.topic_partition import TopicPartition

        place = TopicPartition(self._given.text("topic"), self._given.integer("partition") or 0)
        self._consumer.assign([place])
        offset = "earliest" if self._given.has("from-beginning") else self._given.text("offset")
        if offset == "earliest":
            self._consumer.seek_to_beginning(place)
        elif offset == "latest":
            self._consumer.seek_to_end(place)
        else:
            self._consumer.seek(place, int(offset))

    def print_records(self, line: "Callable[[ConsumerRecord[bytes, bytes]], bytes]") -> None:
        for record in self._records():
            try:
                _write(line(record))
            except ValueError as error:
                if not self._given.has("skip-message-on-error"):
                    raise Refusal(str(error)) from None

    def _records(self) -> "Iterator[ConsumerRecord[bytes, bytes]]":
        most = self._given.integer("max-messages")
        timeout_ms = self._given.integer("timeout-ms")
        while most is None or most < 0 or self.count < most:
            record = self._next(timeout_ms)
            if record is None:
                return
            self.count += 1
            yield record

    def _next(self, timeout_ms: int | None) -> "ConsumerRecord[bytes, bytes] | None":
        """None if none has come in time; without a time it is waited for ever."""
        waited_s = 0.0
        while not self._waiting:
            left_s = POLL_S if timeout_ms is None else min(POLL_S, timeout_ms / 1000 - waited_s)
            if left_s <= 0:
                return None
            self._waiting = list(self._consumer.poll(left_s))[::-1]
            waited_s += left_s
        return self._waiting.pop()

    def close(self) -> None:
        """What was polled and not handed out is not to be committed."""
        from odradek.protocol.topic_partition import TopicPartition

        first: dict[TopicPartition, int] = {}
        for record in self._waiting:
            place = TopicPartition(record.topic, record.partition)
            first[place] = min(record.offset, first.get(place, record.offset))
        assigned = self._consumer.assignment()
        for place, offset in first.items():
            if place in assigned:
                self._consumer.seek(place, offset)
        if self._commits and first:
            self._consumer.commit_sync({place: offset for place, offset in first.items() if place in assigned})
        self._consumer.close()


def _write(data: bytes) -> None:
    """As it is, where standard output takes bytes."""
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(data.decode("utf-8", "replace"))
    else:
        raw.write(data)
        raw.flush()


def _configs(given: Given) -> dict[str, object]:
    path = given.value("command-config") or given.value("consumer.config")
    configs = client_properties(path, given.text("bootstrap-server"), {})
    configs |= properties([*given.values("consumer-property"), *given.values("command-property")])
    named = {str(name) for name in (given.value("group"), configs.get("group.id")) if name is not None}
    if len(named) > 1:
        raise Refusal(
            "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
            f"'--consumer.config') do not match. Detected group ids: {', '.join(map(repr, sorted(named)))}"
        )
    if named and given.has("partition"):
        raise Misuse("Options group and partition cannot be specified together.")
    if named:
        configs["group.id"] = named.pop()
    else:
        from odradek.reactor.adapters.rng import SystemRng

        configs["group.id"] = f"console-consumer-{SystemRng().stream('console').below(100_000)}"
        configs.setdefault("enable.auto.commit", "false")
    configs.setdefault("client.id", "console-consumer")
    configs.setdefault("auto.offset.reset", "earliest" if given.has("from-beginning") else "latest")
    configs["isolation.level"] = given.text("isolation-level")
    return configs


def _formatter_properties(given: Given) -> dict[str, str]:
    found: dict[str, str] = {}
    if given.has("formatter-config"):
        from odradek.cli.server_properties import read_properties

        found |= read_properties(given.text("formatter-config"))
    found |= properties([*given.values("property"), *given.values("formatter-property")])
    for side in ("key", "value"):
        if given.has(f"{side}-deserializer"):
            found[f"{side}.deserializer"] = given.text(f"{side}-deserializer")
    return found


def _check(given: Given) -> None:
    given.require("bootstrap-server")
    if sum(map(given.has, ("topic", "include", "whitelist"))) != 1:
        raise Misuse("Exactly one of the following arguments is required: [topic], [include]")
    if given.has("partition") and not given.has("topic"):
        raise Misuse("The topic is required when partition is specified.")
    if given.has("offset") and not given.has("partition"):
        raise Misuse("The partition is required when offset is specified.")
    if given.has("offset") and given.has("from-beginning"):
        raise Misuse("Options from-beginning and offset cannot be specified together.")
    offset = given.text("offset").lower()
    if offset not in ("earliest", "latest") and not offset.isdecimal():
        raise Misuse(
            f"The provided offset value '{given.text('offset')}' is incorrect. Valid values are 'earliest', 'latest', "
            "or a non-negative long."
        )
    if given.text("isolation-level") not in ISOLATION_LEVELS:
        raise Refusal(f"--isolation-level is one of {', '.join(ISOLATION_LEVELS)}")
