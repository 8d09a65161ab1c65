"""Change data capture into Delta: a topic with the changes of a table becomes the table.

    odradek spark run examples/cdc_to_delta.py

A change is a JSON object: `op` is c (created), u (updated) or d (deleted), and the other fields are the row. Of several
changes of a row in one batch the last counts. A batch that is repeated after a crash is known again by its number.
"""

import os

from odradek.spark import Pipeline

WHERE = os.environ.get("PIPELINES", "/tmp/odradek-pipelines") + "/cdc_to_delta"

pipeline = Pipeline(
    "cdc_to_delta",
    checkpoint=f"{WHERE}/checkpoint",
    options={"kafka.bootstrap.servers": os.environ.get("BOOTSTRAP", "localhost:9092")},
)
pipeline.source(
    "changes",
    topic="customers-changes",
    decode="json",
    schema="op STRING NOT NULL, id BIGINT NOT NULL, name STRING, city STRING",
    options={"startingOffsets": "earliest"},
)


@pipeline.step("changes")
def tidy(changes):
    """Any DataFrame that Spark can make of another: here names without blanks around them."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    return changes.withColumn("name", F.trim("name"))


pipeline.sink(
    "customers",
    "tidy",
    delta=f"{WHERE}/customers",
    merge_on=["id"],
    latest_by=["_offset"],
    delete_when="op = 'd'",
)

if __name__ == "__main__":
    pipeline.run()
