"""The rows of a topic: their columns, what `.schema(...)` may ask for, and the same in Arrow."""

from typing import TYPE_CHECKING, Any

from odradek.spark.errors import SparkOptionError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}


def schema_text(includes_headers: bool) -> str:
    """As Spark's connector has it: headers only where they were asked for."""
    return ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items() if includes_headers or name != "headers")


def requested_columns(schema: "StructType") -> tuple[str, ...]:
    """The columns to read: all, or those that `.schema(...)` has named, in its order."""
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if COLUMNS.get(field.name) != kind:
            known = ", ".join(f"{name} {each}" for name, each in COLUMNS.items())
            raise SparkOptionError("schema", f"{field.name} {kind}", f"a topic has these columns: {known}")
    return tuple(field.name for field in schema.fields)


def arrow_schema(columns: tuple[str, ...]) -> Any:
    """Any: pyarrow's Schema. Exactly the types that Spark compares with."""
    import pyarrow as pa

    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    kinds = {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        "headers": pa.list_(pa.field("element", header)),
    }
    return pa.schema([(name, kinds[name]) for name in columns])
