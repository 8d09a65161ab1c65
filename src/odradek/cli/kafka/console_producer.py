"""`kafka-console-producer.sh`: writes the lines of standard input to a topic, a record each."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Misuse, Options, flag, optional, value
from odradek.cli.kafka.tool import client_properties, tool

if TYPE_CHECKING:
    from odradek.cli.kafka.line_reader import LineRecord
    from odradek.client.producer.kafka_producer import KafkaProducer

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LINE_READER = "org.apache.kafka.tools.LineMessageReader"
# The flags that set a config of the producer.
_CONFIGS = {
    "request-required-acks": "acks",
    "request-timeout-ms": "request.timeout.ms",
    "message-send-max-retries": "retries",
    "retry-backoff-ms": "retry.backoff.ms",
    "socket-buffer-size": "send.buffer.bytes",
    "max-memory-bytes": "buffer.memory",
    "batch-size": "batch.size",
    "max-partition-memory-bytes": "batch.size",  # the same by another name, which counts if it is given
    "max-block-ms": "max.block.ms",
    "metadata-expiry-ms": "metadata.max.age.ms",
    "timeout": "linger.ms",
}
OLD_NAMES = {
    "property": "reader-property",
    "producer-property": "command-property",
    "producer.config": "command-config",
}
_RARE = ("socket-buffer-size", "max-partition-memory-bytes")  # set only if they are asked for

OPTIONS = Options(
    "kafka-console-producer.sh",
    "write lines of standard input to a topic",
    [
        options.BOOTSTRAP,
        value("topic", "TOPIC", "where the records go"),
        flag("sync", "wait for each record before the next one"),
        optional("compression-codec", "CODEC", f"{', '.join(CODECS)}; gzip if none is named"),
        value("batch-size", "BYTES", "of a batch of one partition", "16384"),
        value("message-send-max-retries", "NUMBER", "how often a batch is sent again", "3"),
        value("retry-backoff-ms", "MS", "how long to wait before", "100"),
        value("timeout", "MS", "how long a batch may wait for more records", "1000"),
        value("request-required-acks", "ACKS", "0, 1 or -1 for all", "-1"),
        value("request-timeout-ms", "MS", "how long to wait for an answer", "1500"),
        value("metadata-expiry-ms", "MS", "how old metadata may get", "300000"),
        value("max-block-ms", "MS", "how long to wait for memory or metadata", "60000"),
        value("max-memory-bytes", "BYTES", "for records that are not sent yet", "33554432"),
        value("max-partition-memory-bytes", "BYTES", "of a batch of one partition", "16384"),
        value("socket-buffer-size", "BYTES", "of a connection", "102400"),
        value("line-reader", "CLASS", f"only {LINE_READER}", LINE_READER),
        value("property", "NAME=VALUE", "the same as --reader-property"),
        value("reader-property", "NAME=VALUE", "how lines are read: parse.key, key.separator and the like"),
        value("reader-config", "FILE", "such properties in a file"),
        value("producer-property", "NAME=VALUE", "the same as --command-property"),
        value("command-property", "NAME=VALUE", "a config of the producer"),
        value("producer.config", "FILE", "the same as --command-config"),
        options.COMMAND_CONFIG,
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    given.require("topic")
    if not given.has("bootstrap-server"):
        raise Misuse('Missing required argument "[bootstrap-server]"')
    warn_of_old_names(given, "Warning: --{old}", OLD_NAMES)
    configs = _configs(given)
    from odradek.cli.kafka.line_reader import LineReader
    from odradek.client.producer.kafka_producer import KafkaProducer

    reader = LineReader(_reader_properties(given))
    failures: list[str] = []
    producer: KafkaProducer[bytes, bytes] = KafkaProducer(configs)
    with producer:
        for record in reader.records(_lines()):
            _send(producer, given.text("topic"), record, failures, is_sync=given.has("sync"))
    return 1 if failures else 0


def _send(
    producer: "KafkaProducer[bytes, bytes]", topic: str, record: "LineRecord", failures: list[str], *, is_sync: bool
) -> None:
    from odradek.cli.kafka.java_errors import as_java
    from odradek.protocol.errors import KafkaError

    def told(_: object, error: KafkaError | None) -> None:
        if error is not None:
            failures.append(as_java(error))
            print(f"ERROR Error when sending message to topic {topic}: {as_java(error)}", file=sys.stderr)

    try:
        future = producer.send(topic, record.value, record.key, headers=record.headers, callback=told)
        if is_sync:
            future.exception()
    except KafkaError as error:
        told(None, error)


def _lines() -> Iterator[str]:
    is_asked = sys.stdin.isatty()
    if is_asked:
        print(">", end="", flush=True)
    for line in sys.stdin:
        yield line
        if is_asked:
            print(">", end="", flush=True)


def _configs(given: Given) -> dict[str, object]:
    """The flags count less than files and properties, and those for which nothing was given least."""
    path = given.value("command-config") or given.value("producer.config")
    configs: dict[str, object] = {
        name: given.value(option) for option, name in _CONFIGS.items() if given.has(option) or option not in _RARE
    }
    for option in ("request-timeout-ms", "max-block-ms", "timeout"):
        options.as_integer(option, given.text(option))
    configs["client.id"] = "console-producer"
    configs["compression.type"] = _codec(given)
    configs |= client_properties(path, given.text("bootstrap-server"), {})
    configs |= properties([*given.values("producer-property"), *given.values("command-property")])
    return _consistent(configs)


def _consistent(configs: dict[str, object]) -> dict[str, object]:
    """Idempotence asks for retries and all acks: who asks for less does without it, as Kafka's producer decides it."""
    if str(configs.get("acks")) not in ("-1", "all") and "enable.idempotence" not in configs:
        configs["enable.idempotence"] = "false"
    return configs


def _codec(given: Given) -> str:
    if not given.has("compression-codec"):
        return "none"
    return given.value("compression-codec") or "gzip"


def _reader_properties(given: Given) -> dict[str, str]:
    if given.text("line-reader") not in (LINE_READER, "kafka.tools.ConsoleProducer$LineMessageReader"):
        raise Refusal(f"the class {given.text('line-reader')} is not served; there is {LINE_READER}")
    found: dict[str, str] = {}
    if given.has("reader-config"):
        from odradek.cli.server_properties import read_properties

        found |= read_properties(given.text("reader-config"))
    return found | properties([*given.values("property"), *given.values("reader-property")])


def warn_of_old_names(given: Given, whom: str, names: Mapping[str, str]) -> None:
    for old, new in names.items():
        if given.has(old):
            print(f"{whom.format(old=old)} is deprecated and will be removed in a future version. Use --{new} instead.")


def properties(texts: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE of each; a name alone has nothing for a value."""
    return dict(text.partition("=")[::2] for text in texts)
