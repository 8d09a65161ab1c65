"""What sinks are given: a DataFrame without the columns of the records that it came from, as rows of a topic."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import BinaryType

from odradek.spark.pipeline.mistakes import Mistake, PipelineError
from odradek.spark.pipeline.model import JSON, RECORD_COLUMNS, STRING, Sink

_PASSED_ON = ("headers", "partition")


def own_columns(frame: DataFrame) -> DataFrame:
    return frame.select([F.col(f"`{name}`") for name in frame.columns if name not in RECORD_COLUMNS])


def encoded(frame: DataFrame, sink: Sink) -> DataFrame:
    """key and value; with the encoders that take the columns as they are, headers and partition, too."""
    own = own_columns(frame)
    if sink.encoder == JSON:
        value = F.to_json(F.struct(*(F.col(f"`{name}`") for name in own.columns)), {"ignoreNullFields": "false"})
        return frame.select([*_key(frame, sink), value.alias("value")])
    if "value" not in own.columns:
        there = ", ".join(own.columns)
        raise _mistake(sink, f"encode: {sink.encoder} writes the column value; there are {there}")
    value = F.col("value").cast("string") if sink.encoder == STRING else F.col("value")
    passed_on = [F.col(name) for name in _PASSED_ON if name in own.columns]
    return frame.select([*_key(frame, sink), value.alias("value"), *passed_on])


def _key(frame: DataFrame, sink: Sink) -> list[Column]:
    name = sink.key
    if name is None:
        return [F.col("key")] if sink.encoder != JSON and "key" in frame.columns else []
    if name not in frame.columns:
        raise _mistake(sink, f"the key {name} is no column; there are {', '.join(frame.columns)}")
    is_binary = isinstance(frame.schema[name].dataType, BinaryType)
    return [(F.col(f"`{name}`") if is_binary else F.col(f"`{name}`").cast("string")).alias("key")]


def _mistake(sink: Sink, text: str) -> PipelineError:
    return PipelineError([Mistake(sink.place, f"the sink {sink.name}: {text}")])
