"""`kafka-verifiable-consumer.sh`: reads a topic as a member of a group, and tells what it read, as lines of JSON."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from odradek.cli.kafka import options
from odradek.cli.kafka.flags import Flags
from odradek.cli.kafka.options import Given, flag, value
from odradek.cli.kafka.tool import client_properties, tool
from odradek.cli.kafka.verifiable import tell

if TYPE_CHECKING:
    from odradek.client.consumer.records import ConsumerRecord
    from odradek.protocol.topic_partition import TopicPartition

POLL_S = 0.2

FLAGS = Flags(
    "verifiable-consumer",
    "read a topic in a group, and tell what was read",
    [
        options.BOOTSTRAP,
        value("topic", "TOPIC", "what to read"),
        value("group-id", "GROUP", "the group"),
        value("group-instance-id", "ID", "of a static member"),
        value("group-protocol", "PROTOCOL", "classic or consumer", "classic"),
        value("group-remote-assignor", "NAME", "with --group-protocol consumer"),
        value("assignment-strategy", "CLASS", "with --group-protocol classic"),
        value("max-messages", "NUMBER", "end after so many; -1: never", "-1"),
        value("session-timeout", "MS", "with --group-protocol classic", "30000"),
        value("reset-policy", "POLICY", "earliest, latest or none", "earliest"),
        flag("verbose", "tell of each record"),
        flag("enable-autocommit", "instead of a commit after each poll"),
        value("consumer.config", "FILE", "the same as --command-config"),
        options.COMMAND_CONFIG,
    ],
    required=("bootstrap-server", "topic", "group-id"),
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = FLAGS.parse(arguments)
    reading = _Reading(given)
    tell("startup_complete")
    try:
        reading.run()
    except KeyboardInterrupt:
        pass  # the usual end of one without a limit
    finally:
        reading.close()
        tell("shutdown_complete")
    return 0


class _Reading:
    def __init__(self, given: Given) -> None:
        from odradek.client.consumer.kafka_consumer import KafkaConsumer

        self._given = given
        self._most = int(given.text("max-messages"))
        self._count = 0
        self._consumer: KafkaConsumer[bytes, bytes] = KafkaConsumer(_configs(given))
        self._consumer.subscribe(
            [given.text("topic")],
            on_assigned=lambda places: tell("partitions_assigned", partitions=_named(places)),
            on_revoked=lambda places: tell("partitions_revoked", partitions=_named(places)),
        )

    def run(self) -> None:
        while self._most < 0 or self._count < self._most:
            records = self._consumer.poll(POLL_S)
            if records:
                self._take(list(records))

    def _take(self, records: "list[ConsumerRecord[bytes, bytes]]") -> None:
        from odradek.protocol.topic_partition import TopicPartition

        wanted = records if self._most < 0 else records[: self._most - self._count]
        self._count += len(wanted)
        offsets: dict[TopicPartition, list[int]] = {}
        for record in wanted:
            offsets.setdefault(TopicPartition(record.topic, record.partition), []).append(record.offset)
        if self._given.has("verbose"):
            for record in wanted:
                _tell_of_record(record)
        told = [_summary(place, offsets[place]) for place in offsets]
        tell("records_consumed", count=len(records), partitions=told)
        if not self._given.has("enable-autocommit"):
            self._commit({place: numbers[-1] + 1 for place, numbers in offsets.items()})

    def _commit(self, offsets: "dict[TopicPartition, int]") -> None:
        from odradek.protocol.errors import KafkaError

        told = [{"topic": topic, "partition": number, "offset": at} for (topic, number), at in offsets.items()]
        try:
            self._consumer.commit_sync(offsets)
        except KafkaError as error:
            tell("offsets_committed", offsets=told, error=error.message, success=False)
        else:
            tell("offsets_committed", offsets=told, success=True)

    def close(self) -> None:
        self._consumer.close()


def _configs(given: Given) -> dict[str, object]:
    path = given.value("command-config") or given.value("consumer.config")
    configs = client_properties(path, given.text("bootstrap-server"), {})
    configs |= {
        "group.id": given.text("group-id"),
        "group.protocol": given.text("group-protocol").lower(),
        "enable.auto.commit": str(given.has("enable-autocommit")).lower(),
        "auto.offset.reset": given.text("reset-policy"),
    }
    if given.has("group-instance-id"):
        configs["group.instance.id"] = given.text("group-instance-id")
    if configs["group.protocol"] == "consumer":
        if given.has("group-remote-assignor"):
            configs["group.remote.assignor"] = given.text("group-remote-assignor")
        return configs
    configs["session.timeout.ms"] = given.text("session-timeout")
    if given.has("assignment-strategy"):
        configs["partition.assignment.strategy"] = given.text("assignment-strategy")
    return configs


def _named(places: "Iterable[TopicPartition]") -> list[dict[str, object]]:
    return [{"topic": topic, "partition": number} for topic, number in sorted(places)]


def _summary(place: "TopicPartition", offsets: list[int]) -> dict[str, object]:
    about: dict[str, object] = {"topic": place.topic, "partition": place.partition, "count": len(offsets)}
    return about | {"minOffset": offsets[0], "maxOffset": offsets[-1]}


def _tell_of_record(record: "ConsumerRecord[bytes, bytes]") -> None:
    key = None if record.key is None else record.key.decode("utf-8", "replace")
    text = None if record.value is None else record.value.decode("utf-8", "replace")
    tell("record_data", key=key, value=text, topic=record.topic, partition=record.partition, offset=record.offset)
