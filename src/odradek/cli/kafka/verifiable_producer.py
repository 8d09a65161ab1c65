"""`kafka-verifiable-producer.sh`: writes numbers, and tells of each whether it was written, as lines of JSON."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.broken_rule import present
from odradek.cli.kafka import options
from odradek.cli.kafka.flags import Flags
from odradek.cli.kafka.options import Given, value
from odradek.cli.kafka.tool import client_properties, tool
from odradek.cli.kafka.verifiable import tell

if TYPE_CHECKING:
    from odradek.client.producer.kafka_producer import KafkaProducer
    from odradek.client.producer.record_metadata import RecordMetadata

FLAGS = Flags(
    "verifiable-producer",
    "write numbers, and tell what became of each",
    [
        value("topic", "TOPIC", "where the records go"),
        options.BOOTSTRAP,
        value("max-messages", "NUMBER", "end after so many; -1: never", "-1"),
        value("throughput", "NUMBER", "records a second; -1: as many as go", "-1"),
        value("acks", "ACKS", "0, 1 or -1 for all", "-1"),
        value("producer.config", "FILE", "the same as --command-config"),
        options.COMMAND_CONFIG,
        value("message-create-time", "MS", "the time of the first record; a millisecond more for each", "-1"),
        value("value-prefix", "NUMBER", "before each value, with a dot between"),
        value("repeating-keys", "NUMBER", "keys from 0 up to this, again and again"),
    ],
    required=("topic", "bootstrap-server"),
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = FLAGS.parse(arguments)
    path = given.value("command-config") or given.value("producer.config")
    configs: dict[str, object] = {"acks": given.text("acks"), "retries": "0"}
    if given.text("acks") not in ("-1", "all"):
        configs["enable.idempotence"] = "false"
    configs |= client_properties(path, given.text("bootstrap-server"), {})
    if "enable.idempotence" not in configs and str(configs["retries"]) == "0":
        configs["enable.idempotence"] = "false"
    producing = _Producing(given)
    tell("startup_complete")
    try:
        producing.run(configs)
    except KeyboardInterrupt:
        pass  # the usual end of one without a limit
    finally:
        tell("shutdown_complete")
        producing.tell_all()
    return 0


class _Producing:
    def __init__(self, given: Given) -> None:
        self._given = given
        self._topic = given.text("topic")
        self._acked = self._sent = 0
        self._target = int(given.text("throughput"))
        self._began_s = time.monotonic()

    def run(self, configs: dict[str, object]) -> None:
        from odradek.client.producer.kafka_producer import KafkaProducer

        most, created_ms = int(self._given.text("max-messages")), int(self._given.text("message-create-time"))
        producer: KafkaProducer[bytes, bytes] = KafkaProducer(configs)
        with producer:
            while most < 0 or self._sent < most:
                self._send(producer, self._sent, None if created_ms < 0 else created_ms + self._sent)
                self._sent += 1
                if self._target > 0:
                    time.sleep(max(0.0, self._sent / self._target - (time.monotonic() - self._began_s)))

    def _send(self, producer: "KafkaProducer[bytes, bytes]", number: int, timestamp_ms: int | None) -> None:
        from odradek.protocol.errors import KafkaError

        prefix, keys = self._given.value("value-prefix"), self._given.value("repeating-keys")
        value_text = str(number) if prefix is None else f"{prefix}.{number}"
        key = None if keys is None else str(number % int(keys))
        told = _Told(self, key, value_text)
        raw_key = None if key is None else key.encode()
        try:
            producer.send(self._topic, value_text.encode(), raw_key, timestamp_ms=timestamp_ms, callback=told)
        except KafkaError as error:
            told(None, error)

    def written(self, key: str | None, value_text: str, metadata: "RecordMetadata") -> None:
        self._acked += 1
        tell(
            "producer_send_success",
            key=key,
            value=value_text,
            offset=metadata.offset,
            topic=self._topic,
            partition=metadata.partition,
        )

    def failed(self, key: str | None, value_text: str, error: Exception) -> None:
        name = type(error).__name__
        tell("producer_send_error", key=key, value=value_text, topic=self._topic, exception=name, message=str(error))

    def tell_all(self) -> None:
        passed_s = max(time.monotonic() - self._began_s, 1e-9)
        rate = self._acked / passed_s
        tell("tool_data", sent=self._sent, acked=self._acked, target_throughput=self._target, avg_throughput=rate)
        sys.stdout.flush()


class _Told:
    """What a record's future is told; a lambda would not say which record it was."""

    __slots__ = ("_key", "_producing", "_value")

    def __init__(self, producing: _Producing, key: str | None, value_text: str) -> None:
        self._producing = producing
        self._key = key
        self._value = value_text

    def __call__(self, metadata: "RecordMetadata | None", error: Exception | None) -> None:
        if error is None:
            self._producing.written(self._key, self._value, present(metadata, "what was written is somewhere"))
        else:
            self._producing.failed(self._key, self._value, error)
