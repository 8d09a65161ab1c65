"""Topics in Spark: `format("odradek")`, a session that finds its Java, offsets of finished batches as a group's.

    from odradek.spark import session

    spark = session(master="local[*]")
    options = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}
    spark.read.format("odradek").options(**options).load()

Nothing here imports pyspark before it is used: the names are loaded when they are first asked for.
"""

from typing import TYPE_CHECKING

from odradek.spark.session import (
    session,
)  # at once, and it is light: else the module of this name could be in its place

if TYPE_CHECKING:
    from odradek.spark.errors import DataLossError, SourceError, SparkOptionError
    from odradek.spark.java import JavaMissingError
    from odradek.spark.pipeline.python_api import Pipeline
    from odradek.spark.source.group_offsets import commit_offsets_to_groups

__all__ = [
    "DataLossError",
    "JavaMissingError",
    "Pipeline",
    "SourceError",
    "SparkOptionError",
    "commit_offsets_to_groups",
    "session",
]

_MODULES = {
    "DataLossError": "errors",
    "JavaMissingError": "java",
    "Pipeline": "pipeline.python_api",
    "SourceError": "errors",
    "SparkOptionError": "errors",
    "commit_offsets_to_groups": "source.group_offsets",
}


def __dir__() -> list[str]:
    """What completion and help show: the names that are there when they are asked for, too."""
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # to a type checker a name that is not above is a mistake

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
