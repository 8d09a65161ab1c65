"""`kafka-delete-records.sh`: deletes what lies before the offsets that a file of JSON names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Options, value
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.protocol.topic_partition import TopicPartition

OPTIONS = Options(
    "kafka-delete-records.sh",
    "delete the records before some offsets",
    [
        options.BOOTSTRAP,
        options.COMMAND_CONFIG,
        value(
            "offset-json-file",
            "FILE",
            '{"partitions": [{"topic": "orders", "partition": 0, "offset": 10}], "version": 1}; -1 is all there is',
        ),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    given.require("bootstrap-server", "offset-json-file")
    from odradek.cli.kafka.java_errors import as_java
    from odradek.cli.kafka.json_file import read_file

    before = _offsets(read_file(given.text("offset-json-file")))
    with opened_admin(given) as admin:
        print("Executing records delete operation")
        gone = admin.delete_records(before)
        print("Records delete operation completed:")
        for place in gone:
            error = gone.errors.get(place)
            told = f"low_watermark: {gone[place]}" if error is None else f"error: {as_java(error)}"
            print(f"partition: {place}\t{told}")
    return 0


def _offsets(text: str) -> "dict[TopicPartition, int]":
    from odradek.cli.kafka.json_file import check_version, parsed, required
    from odradek.protocol.topic_partition import TopicPartition

    found = parsed(text)
    check_version(found)
    offsets: dict[TopicPartition, int] = {}
    twice = []
    for each in required(found, "partitions"):
        place = TopicPartition(str(required(each, "topic")), int(required(each, "partition")))
        twice += [place] if place in offsets else []
        offsets[place] = int(required(each, "offset"))
    if twice:
        raise Refusal(f"Offset json file contains duplicate topic partitions: {', '.join(map(str, twice))}")
    return offsets
