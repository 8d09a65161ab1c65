"""Spark imports every package whose name begins with `pyspark_` and registers its `DefaultSource`: with this one
installed, `format("odradek")` is there without a call. It is imported at the start of every session, so it stays small.
"""

from odradek.spark.datasource import OdradekDataSource as DefaultSource

__all__ = ["DefaultSource"]
