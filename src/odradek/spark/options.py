"""Every option of `format("odradek")`, for reading and writing, in one table; and what a checked set of them says.

The names, values and defaults are those of Spark's own Kafka connector, so that a program changes the name of the
format and nothing else. What it would ignore is refused here: a name that is in no table is a mistake of somebody.
Option names are read without regard to case, as everywhere in Spark. Needs no pyspark.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from odradek.client.python_names import NAMES as PYTHON_NAMES
from odradek.client.python_names import SAME as PYTHON_SAME
from odradek.client.settings import RELEASE, client_config
from odradek.config.admin import TABLE as ADMIN_TABLE
from odradek.config.consumer import TABLE as CONSUMER_TABLE
from odradek.config.definition import Table
from odradek.config.errors import ConfigError
from odradek.config.producer import TABLE as PRODUCER_TABLE
from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.errors import SparkOptionError
from odradek.spark.option_values import (
    above_zero,
    assigned_partitions,
    boolean,
    byte_count,
    dir_list,
    duration_ms,
    ending_rule,
    milliseconds,
    name_list,
    non_empty,
    one_of,
    pattern,
    starting_rule,
    timestamps,
)
from odradek.spark.source.rules import EARLIEST, LATEST, AtTime, AtTimes, OffsetRule

BATCH, STREAM, WRITE, STREAM_WRITE = "batch read", "stream read", "batch write", "stream write"
READING = frozenset([BATCH, STREAM])
WRITING = frozenset([WRITE, STREAM_WRITE])

AT_LEAST_ONCE, EXACTLY_ONCE = "at-least-once", "exactly-once"


@dataclass(frozen=True)
class Option:
    """One row of the table. `uses` are the kinds of query that may have it."""

    name: str
    uses: frozenset[str]
    parse: Callable[[str, str], object]  # the option's name and its text
    default: object
    meaning: str


# fmt: off
OPTIONS = (
    Option("subscribe", READING, name_list, None,
           "The topics to read, separated by commas. One of subscribe, subscribePattern and assign has to be given."),
    Option("subscribePattern", READING, pattern, None,
           "A regular expression that the whole name of a topic has to match; a stream finds new ones."),
    Option("assign", READING, assigned_partitions, None,
           'Partitions by topic, as JSON: {"orders":[0,1]}.'),
    Option("startingOffsets", READING, starting_rule, None,
           "Where a new query begins: earliest, latest (streams), a time before now such as -10m, or JSON by topic and "
           'partition: {"orders":{"0":23,"1":-2}}, -2 for earliest, -1 for latest. Batches: earliest, else latest.'),
    Option("startingTimestamp", READING, milliseconds, None,
           "Begin at the first record at or after this time, in milliseconds since 1970; goes before the next two."),
    Option("startingOffsetsByTimestamp", READING, timestamps, None,
           'The same for each partition: {"orders":{"0":1700000000000}}; goes before startingOffsets.'),
    Option("startingOffsetsByTimestampStrategy", READING, one_of("error", "latest"), "error",
           "Where a partition has no record at or after the time: fail, or begin at its end."),
    Option("endingOffsets", frozenset([BATCH]), ending_rule, LATEST,
           "Where a batch ends: latest, a time before now such as -10m, or JSON by partition, -1 for latest."),
    Option("endingTimestamp", frozenset([BATCH]), milliseconds, None,
           "End before the first record at or after this time; at the end of the log where there is none."),
    Option("endingOffsetsByTimestamp", frozenset([BATCH]), timestamps, None,
           "The same for each partition; goes before endingOffsets."),
    Option("failOnDataLoss", READING, boolean, True,
           "Whether a query fails when records that it should read are gone; else it warns and reads what is there."),
    Option("maxOffsetsPerTrigger", READING, above_zero, None,
           "The most offsets of one micro-batch, shared by what each partition has waiting. Batches ignore it."),
    Option("minOffsetsPerTrigger", READING, above_zero, None,
           "A micro-batch waits until so many offsets are there, or maxTriggerDelay is over. Batches ignore it."),
    Option("maxTriggerDelay", READING, duration_ms, 15 * 60_000,
           "How long minOffsetsPerTrigger may hold a micro-batch back: 15m, 30s."),
    Option("maxBytesPerTrigger", frozenset([STREAM]), byte_count, None,
           "About the most bytes of one micro-batch, as they lie on the broker: 64m."),
    Option("minPartitions", READING, above_zero, None,
           "At least about so many tasks: large partitions are read by several."),
    Option("maxRecordsPerPartition", READING, above_zero, None,
           "The most offsets that one task reads: larger ranges are cut."),
    Option("includeHeaders", READING, boolean, False,
           "Adds the column headers."),
    Option("kafka.group.id", READING, non_empty, None,
           "Shown to the broker in the client's id. No group is joined, and none is needed."),
    Option("groupIdPrefix", READING, non_empty, None,
           "The same, as the beginning of a generated id; spark-kafka-source, or spark-kafka-relation for batches."),
    Option("kafkaConsumer.pollTimeoutMs", READING, above_zero, 120_000,
           "How long a task waits for a record that has to be there."),
    Option("fetchOffset.numRetries", READING, above_zero, 3,
           "How often the driver asks again for offsets."),
    Option("fetchOffset.retryIntervalMs", READING, milliseconds, 1000,
           "How long it waits in between."),
    Option("commitOffsetsToGroup", frozenset([STREAM]), non_empty, None,
           "Offsets of finished micro-batches are committed to this group, so that Kafka's tools show the lag."),
    Option("pushdown", frozenset([BATCH]), boolean, False,
           "Filters on topic, partition, offset and timestamp bound what is read; Spark's own switch "
           "spark.sql.python.filterPushdown.enabled has to be on."),
    Option("odradek.log.dirs", READING, dir_list, None,
           "Log dirs of brokers, as executors see them, separated by commas: closed segments are read from there, and "
           "the broker is asked for the rest."),
    Option("topic", WRITING, non_empty, None,
           "The topic of every row; goes before the column topic."),
    Option("odradek.sink.guarantee", WRITING, one_of(AT_LEAST_ONCE, EXACTLY_ONCE), AT_LEAST_ONCE,
           "Whether a task that is repeated may write its rows again."),
    Option("odradek.sink.transactional.id.prefix", WRITING, non_empty, None,
           "Begins the transactional ids of exactly-once; the same for every run of a query, and no other query's."),
    Option("checkpointLocation", frozenset([STREAM_WRITE]), non_empty, None,
           "Spark's own: it hands it to the format as well."),
    Option("queryName", frozenset([STREAM_WRITE]), non_empty, None,
           "Spark's own: it hands it to the format as well."),
)
# fmt: on

BY_NAME = {option.name.lower(): option for option in OPTIONS}
PREFIX = "kafka."
_FIXED = "the format sets it itself: leave it out"
_FIXED_FOR_READING = {
    "auto.offset.reset": "use startingOffsets to say where to begin",
    "key.deserializer": "keys are read as bytes: cast the column",
    "value.deserializer": "values are read as bytes: cast the column",
    "enable.auto.commit": "offsets are kept in the checkpoint: use commitOffsetsToGroup to show them to a group",
    "interceptor.classes": "nothing may change records on their way",
}
_FIXED_FOR_WRITING = {
    "key.serializer": "keys are bytes or strings already",
    "value.serializer": "values are bytes or strings already",
    "transactional.id": "use odradek.sink.guarantee=exactly-once, which makes one for each task",
}


@dataclass(frozen=True)
class SourceOptions:
    """What a query reads, and how; everything checked, nothing resolved yet."""

    is_streaming: bool
    topics: tuple[str, ...] | None
    topic_pattern: str | None
    assigned: tuple[TopicPartition, ...] | None
    starting: OffsetRule
    ending: OffsetRule
    fails_on_data_loss: bool
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    max_bytes_per_trigger: int | None
    min_partitions: int | None
    max_records_per_partition: int | None
    includes_headers: bool
    poll_timeout_ms: int
    fetch_offset_retries: int
    fetch_offset_retry_ms: int
    committed_group: str | None
    pushes_down: bool
    log_dirs: tuple[str, ...] | None
    client_id: str
    clients: Mapping[str, str] = field(repr=False)  # passwords are among them

    @property
    def is_read_committed(self) -> bool:
        return self.clients.get("isolation.level", "read_committed") == "read_committed"

    def admin_configs(self) -> dict[str, str]:
        return admin_configs(self.clients)

    def described(self) -> str:
        """What is read, for errors and logs."""
        if self.topics is not None:
            return f"subscribe={','.join(self.topics)}"
        if self.topic_pattern is not None:
            return f"subscribePattern={self.topic_pattern}"
        return f"assign={', '.join(map(str, self.assigned or ()))}"


@dataclass(frozen=True)
class SinkOptions:
    is_streaming: bool
    topic: str | None
    guarantee: str
    transactional_id_prefix: str | None
    clients: Mapping[str, str] = field(repr=False)  # passwords are among them

    @property
    def is_exactly_once(self) -> bool:
        return self.guarantee == EXACTLY_ONCE


def source_options(options: Mapping[str, str], is_streaming: bool) -> SourceOptions:
    use = STREAM if is_streaming else BATCH
    found = _parsed(options, use)
    chosen = [name for name in ("subscribe", "subscribePattern", "assign") if found[name] is not None]
    if len(chosen) != 1:
        said = "give only one of them" if chosen else "one of them has to say what to read"
        raise SparkOptionError("subscribe, subscribePattern, assign", None, said)
    return SourceOptions(
        is_streaming=is_streaming,
        topics=found["subscribe"],
        topic_pattern=found["subscribePattern"],
        assigned=found["assign"],
        starting=_starting(found, is_streaming),
        ending=_ending(found),
        fails_on_data_loss=found["failOnDataLoss"],
        max_offsets_per_trigger=found["maxOffsetsPerTrigger"],
        min_offsets_per_trigger=found["minOffsetsPerTrigger"],
        max_trigger_delay_ms=found["maxTriggerDelay"],
        max_bytes_per_trigger=found["maxBytesPerTrigger"],
        min_partitions=found["minPartitions"],
        max_records_per_partition=found["maxRecordsPerPartition"],
        includes_headers=found["includeHeaders"],
        poll_timeout_ms=found["kafkaConsumer.pollTimeoutMs"],
        fetch_offset_retries=found["fetchOffset.numRetries"],
        fetch_offset_retry_ms=found["fetchOffset.retryIntervalMs"],
        committed_group=found["commitOffsetsToGroup"],
        pushes_down=found["pushdown"],
        log_dirs=found["odradek.log.dirs"],
        client_id=_client_id(found, is_streaming),
        clients=_checked_clients(options, CONSUMER_TABLE, _FIXED_FOR_READING, use),
    )


def includes_headers(options: Mapping[str, str]) -> bool:
    """Asked before it is known what kind of query it is: a name that no kind has is refused here already."""
    for name in options:
        if name.lower() not in BY_NAME:
            _refuse_unknown(name, STREAM)
    given = {name.lower(): text for name, text in options.items()}
    return boolean("includeHeaders", given.get("includeheaders", "false"))


def sink_options(options: Mapping[str, str], is_streaming: bool) -> SinkOptions:
    use = STREAM_WRITE if is_streaming else WRITE
    found = _parsed(options, use)
    return SinkOptions(
        is_streaming=is_streaming,
        topic=found["topic"],
        guarantee=found["odradek.sink.guarantee"],
        transactional_id_prefix=found["odradek.sink.transactional.id.prefix"],
        clients=_checked_clients(options, PRODUCER_TABLE, _FIXED_FOR_WRITING, use),
    )


def admin_configs(configs: Mapping[str, str]) -> dict[str, str]:
    """Those that an admin client has, too."""
    known = {*ADMIN_TABLE.at(RELEASE), *PYTHON_NAMES, *PYTHON_SAME}
    return {name: value for name, value in configs.items() if name in known}


def client_configs(options: Mapping[str, str]) -> dict[str, str]:
    """The `kafka.*` options by the names that our clients have for them."""
    names = {name.lower(): value for name, value in options.items()}
    return {name.removeprefix(PREFIX): value for name, value in names.items() if name.startswith(PREFIX)}


def _parsed(options: Mapping[str, str], use: str) -> dict[str, Any]:
    """Every option that this use may have, by its name; None or its default where it was not given.

    Any: what each row's parser gives.
    """
    found: dict[str, Any] = {option.name: option.default for option in OPTIONS}
    for name, text in options.items():
        option = BY_NAME.get(name.lower())
        if option is None:
            _refuse_unknown(name, use)
        elif use not in option.uses:
            raise SparkOptionError(option.name, text, f"not for a {use}: it is for {_spoken(option.uses)}")
        else:
            found[option.name] = option.parse(option.name, text)
    return found


def _spoken(uses: Iterable[str]) -> str:
    return " or ".join(f"a {use}" for use in sorted(uses))


def _refuse_unknown(name: str, use: str) -> None:
    """Without the value, which may be the password of a name that was misspelt."""
    if name.lower().startswith(PREFIX):
        return  # the table of the client knows it, or refuses it
    near = get_close_matches(name.lower(), [each for each, option in BY_NAME.items() if use in option.uses], 1, 0.7)
    kafkas = {*CONSUMER_TABLE.at(RELEASE), *PRODUCER_TABLE.at(RELEASE)}
    if name.lower() in kafkas:
        raise SparkOptionError(name, None, f"there is none of this name; did you mean kafka.{name.lower()}?")
    hint = f"; did you mean {BY_NAME[near[0]].name}?" if near else "; docs/spark.md has them all"
    raise SparkOptionError(name, None, f"there is none of this name for a {use}{hint}")


def _starting(found: Mapping[str, Any], is_streaming: bool) -> OffsetRule:
    at_end = found["startingOffsetsByTimestampStrategy"] == "latest"
    if found["startingTimestamp"] is not None:
        return AtTime(found["startingTimestamp"], at_end)
    if found["startingOffsetsByTimestamp"] is not None:
        return AtTimes(found["startingOffsetsByTimestamp"], at_end)
    rule: OffsetRule = found["startingOffsets"] or (LATEST if is_streaming else EARLIEST)
    if not is_streaming:
        _refuse_latest(rule)
    return rule


def _refuse_latest(rule: object) -> None:
    if rule == LATEST:
        raise SparkOptionError("startingOffsets", "latest", "a batch cannot begin at the end: use earliest or offsets")
    for place, offset in getattr(rule, "offsets", {}).items():
        if offset == -1:
            advice = f"topic {place.topic} partition {place.partition}: a batch cannot begin at the end (-1)"
            raise SparkOptionError("startingOffsets", -1, advice)


def _ending(found: Mapping[str, Any]) -> OffsetRule:
    if found["endingTimestamp"] is not None:
        return AtTime(found["endingTimestamp"], True)
    if found["endingOffsetsByTimestamp"] is not None:
        return AtTimes(found["endingOffsetsByTimestamp"], True)
    rule: OffsetRule = found["endingOffsets"]
    return rule


def _client_id(found: Mapping[str, object], is_streaming: bool) -> str:
    prefix = "spark-kafka-source" if is_streaming else "spark-kafka-relation"
    return str(found["kafka.group.id"] or found["groupIdPrefix"] or prefix)


def _checked_clients(options: Mapping[str, str], table: Table, fixed: Mapping[str, str], use: str) -> dict[str, str]:
    """What the clients are given, after they have looked at it once: a mistake is met before anything is read."""
    given = {name: value for name, value in client_configs(options).items() if f"{PREFIX}{name}" not in BY_NAME}
    if not given.get("bootstrap.servers"):
        raise SparkOptionError("kafka.bootstrap.servers", given.get("bootstrap.servers"), "give host:port of a broker")
    known = {*table.at(RELEASE), *PYTHON_NAMES, *PYTHON_SAME}
    for name, value in given.items():
        if name in fixed:
            raise SparkOptionError(f"{PREFIX}{name}", value, f"{_FIXED}; {fixed[name]}")
        if name not in known:
            near = get_close_matches(name, sorted(known), 1)
            hint = f"; did you mean {PREFIX}{near[0]}?" if near else ""
            raise SparkOptionError(f"{PREFIX}{name}", None, f"no config of a client for a {use}{hint}")
    try:
        client_config(table, given, {})
    except ConfigError as error:
        raise SparkOptionError(PREFIX + (error.name or "*"), None, str(error)) from None
    return given
