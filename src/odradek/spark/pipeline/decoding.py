"""Records of a topic as columns; those that do not decode apart, or as the end of the query.

JSON, CSV and texts are decoded by Spark's own functions; Avro and Protobuf by `byte_decoders.py`, a whole Arrow array
at a time. Either way a row has a value or a reason. Beside its own columns a decoded row has those of the record, with
an underscore (RECORD_COLUMNS).
"""

from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StringType, StructField, StructType

from odradek.serde.registry import SchemaRegistry
from odradek.spark.pipeline.byte_decoders import AvroBytes, ProtobufBytes, decoder_of, outcome
from odradek.spark.pipeline.model import AVRO, CSV, JSON, PROTOBUF, RAW, RECORD_COLUMNS, STRING, Decoder, TopicSource
from odradek.spark.pipeline.protobuf_types import descriptors_of
from odradek.spark.pipeline.topic_options import options_of_source

FORMAT = "odradek"
_RESULT, _CORRUPT = "_odradek_result", "_odradek_corrupt"
_SHOWN_CHARACTERS = 100


def records(spark: SparkSession, source: TopicSource, starting_offsets: str | None, *, headers: bool) -> DataFrame:
    """The rows of the format, undecoded."""
    options = options_of_source(source)
    if starting_offsets is not None:
        options = {name: value for name, value in options.items() if not name.lower().startswith("starting")}
        options["startingOffsets"] = starting_offsets
    if headers:
        options["includeHeaders"] = "true"
    return spark.readStream.format(FORMAT).options(**options).load()


def decoded(rows: DataFrame, source: TopicSource) -> DataFrame:
    """The records that decode. Where there are no dead letters, another ends the query."""
    rows = rows.withColumn(_RESULT, _result(source))
    is_good = F.col(_RESULT).reason.isNull()
    rows = rows.where(_or_fail(source) if source.dead_letters is None else is_good)
    found = rows.select(*_columns(rows, source.decoder))
    if source.watermark is not None and source.event_time is not None:
        found = found.withWatermark(source.event_time, source.watermark)
    return found


def dead_letters(rows: DataFrame, source: TopicSource) -> DataFrame:
    """The others, as they came: key, value and headers, and as further headers why and where from."""
    rows = rows.withColumn(_RESULT, _result(source)).where(F.col(_RESULT).reason.isNotNull())
    about = {
        "reason": F.col(_RESULT).reason,
        "source": F.lit(source.name),
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "offset": F.col("offset"),
        "timestamp": F.unix_millis("timestamp"),
    }
    own = F.array(*(_header(f"odradek.{name}", value) for name, value in about.items()))
    headers = F.concat(F.coalesce(F.col("headers"), F.array().cast(_HEADERS)), own)
    return rows.select("key", "value", headers.alias("headers"))


_HEADERS = "array<struct<key:string,value:binary>>"


def _header(name: str, value: Column) -> Column:
    return F.struct(F.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))


def _or_fail(source: TopicSource) -> Column:
    reason = F.col(_RESULT).reason
    where = ["topic", F.col("topic"), "partition", F.col("partition"), "offset", F.col("offset")]
    words = [each.cast("string") if isinstance(each, Column) else F.lit(each) for each in where]
    message = F.concat(F.lit(f"the source {source.name}: "), F.concat_ws(" ", *words), F.lit(": "), reason)
    return F.when(reason.isNotNull(), F.raise_error(message)).otherwise(F.lit(True)).cast("boolean")


def _columns(rows: DataFrame, decoder: Decoder) -> list[Column]:
    of_record = [F.col(theirs).alias(ours) for ours, theirs in RECORD_COLUMNS.items() if theirs in rows.columns]
    if decoder.kind in (RAW, STRING):
        return [F.col(_RESULT).value.alias("value"), *of_record]
    fields = _struct_of(rows, "value").fieldNames()
    own = [F.col(_RESULT).value.getField(name).alias(name) for name in fields if name != _CORRUPT]
    return [*own, *of_record]


def _struct_of(rows: DataFrame, name: str) -> StructType:
    result: Any = rows.schema[_RESULT].dataType  # Any: which type it is, only Spark knows
    return result[name].dataType


def _result(source: TopicSource) -> Column:
    """A struct of value and reason."""
    decoder, data = source.decoder, F.col("value")
    if decoder.kind == RAW:
        return _pair(data, F.lit(None).cast("string"))
    if decoder.kind == STRING:
        text = data.cast("string")
        return _pair(text, F.when(~F.is_valid_utf8(text), F.lit("the value is no UTF-8")))
    if decoder.kind in (JSON, CSV):
        return _parsed_text(decoder, data.cast("string"))
    return _by_bytes(_description(source), data)


def _pair(value: Column, reason: Column) -> Column:
    return F.struct(value.alias("value"), reason.alias("reason"))


def _parsed_text(decoder: Decoder, text: Column) -> Column:
    schema = StructType.fromDDL(str(decoder.schema))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    with_corrupt = StructType([*schema.fields, StructField(_CORRUPT, StringType())])
    if decoder.kind == JSON:
        parsed = F.from_json(text, with_corrupt, options)
    else:
        parsed = F.from_csv(text, f"{decoder.schema}\n, `{_CORRUPT}` STRING", options)
    shown = F.concat(
        F.lit(f"the value is no {decoder.kind.upper()} of the schema: "), F.left(text, F.lit(_SHOWN_CHARACTERS))
    )
    reason = F.when(text.isNull(), F.lit(None).cast("string"))
    reason = reason.when(~F.is_valid_utf8(text), F.lit("the value is no UTF-8"))
    reason = reason.when((F.length(text) == 0) | parsed.isNull() | parsed.getField(_CORRUPT).isNotNull(), shown)
    for field in schema.fields:
        if not field.nullable:
            reason = reason.when(parsed.getField(field.name).isNull(), F.lit(f"the column {field.name} is missing"))
    return _pair(parsed, reason)


def _description(source: TopicSource) -> AvroBytes | ProtobufBytes:
    decoder = source.decoder
    if decoder.kind == AVRO:
        return AvroBytes(decoder.schema or _newest_schema(source), decoder.registry)
    if decoder.kind != PROTOBUF:
        raise AssertionError(decoder.kind)
    descriptors, name = descriptors_of(str(decoder.message), decoder.descriptor)
    return ProtobufBytes(descriptors, name, decoder.registry is not None)


def _newest_schema(source: TopicSource) -> str:
    """That of the subject of the (first) topic: what is written with older ones is brought into its form."""
    topic = source.topics.split(",")[0]
    return SchemaRegistry(str(source.decoder.registry)).version(f"{topic}-value").schema.text


def _by_bytes(description: AvroBytes | ProtobufBytes, data: Column) -> Column:
    result = StructType.fromDDL(f"value STRUCT<{description.columns().replace('` ', '`: ')}>, reason STRING")
    arrow = to_arrow_type(result, timezone="UTC")

    def decode(values: pa.Array) -> pa.Array:
        one = decoder_of(description)
        return pa.array([outcome(one, value) for value in values.to_pylist()], type=arrow)

    return F.arrow_udf(decode, result)(data)
