"""What both formats are asked, as data: batches and streams, and what each says where it refuses.

The defaults differ in one thing that is meant: ours reads committed records only. So whatever has transactions says its
isolation level.
"""

import json
from typing import NamedTuple

MS = 1_700_000_000_000  # the time of the first record of `plain`; each following offset is a second later
COUNTS = {0: 50, 1: 30}  # of `plain`, whose third partition is empty
DIRTY = {"kafka.isolation.level": "read_uncommitted"}
CLEAN = {"kafka.isolation.level": "read_committed"}


class Case(NamedTuple):
    """A read. `compares` is what is made of the frame before it is collected; None for all columns."""

    name: str
    options: dict
    compares: object = None
    tasks: int | None = None  # of both; else ours has none for a partition without records, and the connector has one


class Refusal(NamedTuple):
    """A read that fails. What each says, as a regular expression."""

    name: str
    options: dict
    theirs: str
    ours: str


def on(topic, **options):
    """Names with dots come as keywords with __."""
    return {"subscribe": topic, **{name.replace("__", "."): _text(value) for name, value in options.items()}}


def _text(value):
    return value if isinstance(value, str) else json.dumps(value)


def of_plain(**offsets):
    """{"plain": {"0": ...}} of p0=, p1=, p2=."""
    return {"plain": {name.removeprefix("p"): value for name, value in offsets.items()}}


BATCHES = [
    Case("all of a topic", on("plain")),
    Case("headers", on("headers", includeHeaders="true")),
    Case("headers that nobody asked for", on("headers")),
    Case("includeHeaders in capitals", on("headers", includeHeaders="TRUE")),
    Case("no headers at all", on("plain", includeHeaders="true")),
    Case("nulls and empty strings", on("nulls", includeHeaders="true")),
    Case("every codec", on("codecs")),
    Case("LogAppendTime", on("appended")),
    Case("committed transactions", on("transactions", **CLEAN)),
    Case("transactions that were aborted, too", on("transactions", **DIRTY)),
    Case("a log that begins later", on("trimmed")),
    Case(
        "deleted records that may be missing",
        on("trimmed", startingOffsets={"trimmed": {"0": 0}}, failOnDataLoss="false"),
    ),
    Case("two topics", on("plain,headers")),
    Case("a list with blanks", on(" plain , headers ,")),
    Case("a topic that is named twice", on("plain,plain")),
    Case("an empty topic", on("empty")),
    Case("a pattern", {"subscribePattern": "pattern-.*"}),
    Case("a pattern of a whole name", {"subscribePattern": "pattern-a"}),
    Case("a pattern that matches no topic", {"subscribePattern": "nothing.*"}),
    Case("assigned partitions", {"assign": '{"plain":[1,2]}'}),
    Case("assigned partitions of two topics", {"assign": '{"plain":[0],"headers":[0]}'}),
    Case("from earliest", on("plain", startingOffsets="earliest")),
    Case("a word in capitals", on("plain", startingOffsets="EARLIEST")),
    Case("from offsets", on("plain", startingOffsets=of_plain(p0=10, p1=30, p2=0))),
    Case("from offsets, one of them earliest", on("plain", startingOffsets=of_plain(p0=10, p1=-2, p2=-2))),
    Case("to offsets", on("plain", endingOffsets=of_plain(p0=10, p1=0, p2=0))),
    Case("to offsets, one of them latest", on("plain", endingOffsets=of_plain(p0=10, p1=-1, p2=-1))),
    Case("to latest", on("plain", endingOffsets="latest")),
    Case(
        "from offsets to offsets",
        on("plain", startingOffsets=of_plain(p0=5, p1=5, p2=0), endingOffsets=of_plain(p0=9, p1=6, p2=0)),
    ),
    Case(
        "from offsets to the same",
        on("plain", startingOffsets=of_plain(p0=5, p1=5, p2=0), endingOffsets=of_plain(p0=5, p1=5, p2=0)),
    ),
    Case("from a time", on("plain", startingTimestamp=str(MS + 10_000), startingOffsetsByTimestampStrategy="latest")),
    Case("from a time between two", on("headers", startingTimestamp=str(MS + 1))),
    Case(
        "from the future", on("plain", startingTimestamp="9999999999999", startingOffsetsByTimestampStrategy="latest")
    ),
    Case("from a time for each", on("headers", startingOffsetsByTimestamp={"headers": {"0": MS + 2}})),
    Case(
        "from a time for each, some without",
        on(
            "plain",
            startingOffsetsByTimestamp=of_plain(p0=MS + 20_000, p1=MS + 40_000, p2=MS),
            startingOffsetsByTimestampStrategy="latest",
        ),
    ),
    Case("to a time", on("plain", endingTimestamp=str(MS + 20_000))),
    Case("to a time before everything", on("plain", endingTimestamp="1000")),
    Case("to a time for each", on("plain", endingOffsetsByTimestamp=of_plain(p0=MS + 7000, p1=MS + 3500, p2=MS))),
    Case(
        "from a time to a time",
        on("headers", startingTimestamp=str(MS + 1), endingTimestamp=str(MS + 3)),
    ),
    Case(
        "a time goes before times, and times before offsets",
        on(
            "headers",
            startingTimestamp=str(MS + 3),
            startingOffsetsByTimestamp={"headers": {"0": MS}},
            startingOffsets="earliest",
            endingOffsetsByTimestamp={"headers": {"0": MS + 5}},
            endingOffsets="latest",
        ),
    ),
    Case("more tasks than partitions", on("large", minPartitions="5"), tasks=5),
    Case("more tasks, not even", on("plain", minPartitions="7"), tasks=7),
    Case("fewer tasks than partitions", on("plain", minPartitions="1")),
    Case("limits of streams", on("plain", maxOffsetsPerTrigger="5", minOffsetsPerTrigger="2", maxTriggerDelay="5s")),
    Case("maxRecordsPerPartition", on("plain", maxRecordsPerPartition="7")),
    Case("a group id", on("plain", kafka__group__id="mine")),
    Case("the prefix of a group id", on("plain", groupIdPrefix="mine")),
    Case("small fetches", on("large", kafka__max__partition__fetch__bytes="2000", kafka__fetch__max__bytes="3000")),
    Case("retries and timeouts", on("plain", fetchOffset__numRetries="2", kafkaConsumer__pollTimeoutMs="30000")),
    Case("names in any case", {"SUBSCRIBE": "plain", "STARTINGOFFSETS": "earliest", "Kafka.Fetch.Min.Bytes": "1"}),
    Case(
        "an end beyond the log that may be missing",
        on("headers", endingOffsets={"headers": {"0": 99}}, failOnDataLoss="false", kafkaConsumer__pollTimeoutMs="500"),
    ),
    Case("one column", on("plain"), lambda frame: frame.select("value")),
    Case(
        "text",
        on("plain"),
        lambda frame: frame.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING) AS v", "offset"),
    ),
    Case("a filter", on("plain"), lambda frame: frame.where("partition = 1 AND offset >= 10")),
    Case("a count", on("large"), lambda frame: frame.groupBy("topic", "partition").count()),
    Case(
        "a join",
        on("plain"),
        lambda frame: frame.alias("a").join(frame.alias("b"), "key").selectExpr("a.offset", "b.value"),
    ),
]

NOT_SUPPORTED = r"is not supported"
SETS_ITSELF = "the format sets it itself"
REFUSALS = [
    Refusal(
        "nothing to read", {}, "One of the following options", "subscribe, subscribePattern, assign: one of them has"
    ),
    Refusal("two ways to say it", {**on("plain"), "subscribePattern": "p.*"}, "Only one of", "give only one of them"),
    Refusal("no broker", {**on("plain"), "kafka.bootstrap.servers": None}, "must be specified", "give host:port"),
    Refusal("a missing topic", on("nowhere"), "UnknownTopicOrPartition", "topic nowhere does not exist"),
    Refusal("no topic in the list", on(" , "), "No topics to subscribe", "must name at least one topic"),
    Refusal("a bad pattern", {"subscribePattern": ""}, "Pattern to subscribe is empty", "must be a regular expression"),
    Refusal("a bad assignment", {"assign": '{"plain":5}'}, "Expected e.g. ", "must be JSON such as"),
    Refusal("bad offsets", on("plain", startingOffsets="soon"), "Expected e.g. ", "startingOffsets=soon: must be"),
    Refusal(
        "offsets that lack a partition",
        on("plain", startingOffsets=of_plain(p0=1)),
        "don't match what are assigned",
        "missing are plain-1, plain-2",
    ),
    Refusal("a batch from latest", on("plain", startingOffsets="latest"), "can't be latest", "cannot begin at the end"),
    Refusal(
        "a batch from latest offsets",
        on("plain", startingOffsets=of_plain(p0=-1, p1=0, p2=0)),
        "can't be latest",
        "topic plain partition 0: a batch cannot begin at the end",
    ),
    Refusal("a batch to earliest", on("plain", endingOffsets="earliest"), "can't be earliest", "must be latest"),
    Refusal(
        "a batch to earliest offsets",
        on("plain", endingOffsets=of_plain(p0=-2, p1=0, p2=0)),
        "can't be earliest",
        "topic plain partition 0 cannot end at earliest",
    ),
    Refusal(
        "a start behind the end",
        on("headers", startingOffsets={"headers": {"0": 4}}, endingOffsets={"headers": {"0": 2}}),
        "start offset 4 is greater than the end offset 2",
        "is greater than the end offset 2 for topic headers partition 0",
    ),
    Refusal(
        "a start behind the log",
        on("headers", startingOffsets={"headers": {"0": 5000}}),
        "start offset 5000 is greater than",
        "start offset 5000 is greater than the resolved end offset .* topic headers partition 0",
    ),
    Refusal(
        "an end behind the log",
        on("headers", endingOffsets={"headers": {"0": 99}}, kafkaConsumer__pollTimeoutMs="500"),
        r"(?s)Some data may have been lost|KAFKA_DATA_LOSS",
        r"could not read records in offset \[6, 99\) for topic headers partition 0",
    ),
    Refusal(
        "deleted records",
        on("trimmed", startingOffsets={"trimmed": {"0": 0}}, kafkaConsumer__pollTimeoutMs="500"),
        r"(?s)Some data may have been lost|KAFKA_DATA_LOSS",
        r"could not read records in offset \[0, 20\) for topic trimmed partition 0",
    ),
    Refusal(
        "a time without a record",
        on("plain", startingTimestamp="9999999999999"),
        "No offset matched",
        "topic plain partition 0 has no record at or after it: no offset matched",
    ),
    Refusal("no time", on("plain", startingTimestamp="2026-01-01"), "single long value", "single whole number"),
    Refusal(
        "an unknown strategy",
        on("plain", startingTimestamp="1", startingOffsetsByTimestampStrategy="guess"),
        "GUESS",
        "must be error or latest",
    ),
    Refusal("no boolean", on("plain", failOnDataLoss="maybe"), "maybe", "failOnDataLoss=maybe: must be true or false"),
    Refusal("no tasks", on("plain", minPartitions="0"), "must be positive", "must be positive"),
    *(
        Refusal(f"kafka.{name}", {**on("plain"), f"kafka.{name}": value}, NOT_SUPPORTED, SETS_ITSELF)
        for name, value in {
            "auto.offset.reset": "latest",
            "key.deserializer": "x",
            "value.deserializer": "x",
            "enable.auto.commit": "true",
            "interceptor.classes": "x",
        }.items()
    ),
]

STREAMS = [
    Case("all of a topic", on("plain", startingOffsets="earliest")),
    Case("headers", on("headers", startingOffsets="earliest", includeHeaders="true")),
    Case("so many at a time", on("plain", startingOffsets="earliest", maxOffsetsPerTrigger="33")),
    Case("from offsets", on("plain", startingOffsets=of_plain(p0=10, p1=-2, p2=0))),
    Case("from a time", on("headers", startingTimestamp=str(MS + 2))),
    Case("assigned partitions", {"assign": '{"plain":[1]}', "startingOffsets": "earliest"}),
    Case("a pattern", {"subscribePattern": "pattern-.*", "startingOffsets": "earliest"}),
    Case("more tasks", on("large", startingOffsets="earliest", minPartitions="3")),
    Case("committed transactions", on("transactions", startingOffsets="earliest", **CLEAN)),
    Case(
        "deleted records that may be missing",
        on(
            "trimmed", startingOffsets={"trimmed": {"0": 5}}, failOnDataLoss="false", kafkaConsumer__pollTimeoutMs="500"
        ),
    ),
]

STREAM_REFUSALS = [
    Refusal("an end", on("plain", endingOffsets="latest"), "ending offset not valid", "not for a stream read"),
    Refusal("a missing topic", on("nowhere"), "UnknownTopicOrPartition", "topic nowhere does not exist"),
    Refusal(
        "offsets that lack a partition",
        on("plain", startingOffsets=of_plain(p0=1)),
        "you must specify all TopicPartitions",
        "missing are plain-1, plain-2",
    ),
    Refusal(
        "deleted records",
        on("trimmed", startingOffsets={"trimmed": {"0": 0}}, kafkaConsumer__pollTimeoutMs="500"),
        r"(?s)Some data may have been lost|KAFKA_DATA_LOSS",
        r"could not read records in offset \[0, 20\) for topic trimmed partition 0",
    ),
]
