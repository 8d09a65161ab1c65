"""A Spark session that is ready for `format("odradek")`: its Java found, its workers on this Python."""

import os
import sys
from typing import TYPE_CHECKING

from odradek.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERYWHERE = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
}
_LOCALLY = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),  # 200 are for a cluster
}


def session(master: str = "local[*]", app_name: str = "odradek", **conf: object) -> "SparkSession":
    """The session of this process, made if there is none: `session("local[2]", **{"spark.ui.enabled": "false"})`.

    JavaMissingError says what to install where there is no Java.
    """
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers run whatever python3 the path has
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app_name).master(master)
    settings = {**_EVERYWHERE, **(_LOCALLY if master.startswith("local") else {}), **conf}
    for name, value in settings.items():
        builder = builder.config(name, str(value))
    return builder.getOrCreate()
