"""The one model of a pipeline, whichever front end it came from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from odradek.spark.pipeline.mistakes import Place

RAW, STRING, JSON, CSV, AVRO, PROTOBUF = "raw", "string", "json", "csv", "avro", "protobuf"
DECODERS = (RAW, STRING, JSON, CSV, AVRO, PROTOBUF)
ENCODERS = (JSON, STRING, RAW)

APPEND, UPDATE, COMPLETE = "append", "update", "complete"
MODES = (APPEND, UPDATE, COMPLETE)

TOPIC, PARQUET, DELTA, ICEBERG, CONSOLE, FUNCTION = "topic", "parquet", "delta", "iceberg", "console", "function"
SINKS = (TOPIC, PARQUET, DELTA, ICEBERG, CONSOLE, FUNCTION)
TABLE_FORMATS = (PARQUET, CSV, JSON, "orc")

AVAILABLE_NOW = "available-now"

# What a decoded record brings along beside its own columns. Sinks but functions leave these out.
RECORD_COLUMNS = {
    "_key": "key",
    "_topic": "topic",
    "_partition": "partition",
    "_offset": "offset",
    "_timestamp": "timestamp",
    "_headers": "headers",
}


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """How the bytes of a record's value become columns. `schema` is Spark's DDL, for Avro a schema in its JSON."""

    kind: str = RAW
    schema: str | None = None
    registry: str | None = None
    message: str | None = None  # Protobuf: the full name of the type in `descriptor`, or module:Class
    descriptor: str | None = None  # a file that `protoc --descriptor_set_out --include_imports` has written


@dataclass(frozen=True, kw_only=True)
class TopicSource:
    """`chosen_by` is the option of the source that names the topics: subscribe, subscribePattern or assign."""

    name: str
    place: Place
    chosen_by: str
    topics: str
    decoder: Decoder = field(default_factory=Decoder)
    options: Mapping[str, str] = field(default_factory=dict)
    event_time: str | None = None
    watermark: str | None = None
    dead_letters: str | None = None


@dataclass(frozen=True, kw_only=True)
class TableSource:
    """Files that do not change while the pipeline runs, for joins."""

    name: str
    place: Place
    path: str
    format: str = PARQUET
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SqlStep:
    name: str
    place: Place
    text: str


@dataclass(frozen=True, kw_only=True)
class FunctionStep:
    """A function that is given the DataFrames of its inputs and returns one."""

    name: str
    place: Place
    inputs: tuple[str, ...]
    function: str | Callable[..., Any]  # module:function, or the function; Any: DataFrames, known where pyspark is


@dataclass(frozen=True, kw_only=True)
class Sink:
    """`target` is a topic, a path, the name of a table, or a function of a DataFrame and the number of the batch."""

    name: str
    place: Place
    input: str
    kind: str
    target: str | Callable[..., Any]  # Any: as above
    mode: str = APPEND
    encoder: str = JSON
    key: str | None = None
    guarantee: str | None = None
    partition_by: tuple[str, ...] = ()
    merge_on: tuple[str, ...] = ()
    latest_by: tuple[str, ...] = ()
    delete_when: str | None = None
    catalog: Mapping[str, str] = field(default_factory=dict)
    rows: int = 20
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A pipeline. `options` are those of every topic, such as kafka.bootstrap.servers; `conf` is Spark's own."""

    name: str
    place: Place
    checkpoint: str
    trigger: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[TopicSource | TableSource, ...] = ()
    steps: tuple[SqlStep | FunctionStep, ...] = ()
    sinks: tuple[Sink, ...] = ()


def target_text(target: object) -> str:
    """A path, a topic or the name of a function."""
    return target if isinstance(target, str) else getattr(target, "__name__", "a function")
