"""The names of odradek.spark, without Spark: they are there, light, and no module stands in the place of a function."""

import sys

import outside

CODE = """
import sys
import odradek.spark.session
from odradek.spark import DataLossError, JavaMissingError, SparkOptionError, session
assert callable(session) and issubclass(SparkOptionError, ValueError)
assert not {"pyspark", "pyarrow"} & set(sys.modules)
"""


def test_the_names_are_there_without_spark():
    outside.run([sys.executable, "-c", CODE], check=True)
