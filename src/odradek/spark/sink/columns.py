"""Which columns of a query become the fields of a record, and of which types they have to be.

The columns and the rules are those of Spark's own Kafka connector; others are left alone, so that what was read from a
topic can be written as it is. Types are Spark's words for them: `struct.simpleString()`. Needs no pyspark.
"""

from collections.abc import Iterable, Sequence

from odradek.spark.errors import SinkColumnError

_TEXT = ("string", "binary")
_HEADERS = "array<struct<key:string,value:binary>>"
_TYPES: dict[str, Sequence[str]] = {
    "topic": ("string",),
    "partition": ("int",),
    "key": _TEXT,
    "value": _TEXT,
    "headers": (_HEADERS,),
}


def written_columns(fields: Iterable[tuple[str, str]], topic: str | None) -> list[str]:
    """The names of those that are written, of columns by name and type. SinkColumnError says what is wrong with them;
    the option `topic` goes before the column.
    """
    found = [(name, kind) for name, kind in fields if name in _TYPES and not (name == "topic" and topic is not None)]
    names = [name for name, _ in found]
    if "value" not in names:
        raise SinkColumnError("there is no column value: name the one to be written so, as string or binary")
    if topic is None and "topic" not in names:
        raise SinkColumnError("nothing says where to write: give the option topic, or a column topic")
    for name, kind in found:
        _check(name, kind, names.count(name))
    return names


def _check(name: str, kind: str, count: int) -> None:
    if count > 1:
        raise SinkColumnError(f"there are {count} columns {name}: rename or drop what should not be written")
    if _plain(kind) not in _TYPES[name]:
        raise SinkColumnError(f"column {name} is of type {kind}: it has to be {' or '.join(_TYPES[name])}")


def _plain(kind: str) -> str:
    """A string is a string, however it is compared."""
    return "string" if kind.startswith("string collate ") else kind
