"""A program of a test: copies a topic to another until all is there that was there when it began.

It goes on from its checkpoint whenever it is started again.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "kits"))

import spark_kit
from odradek.spark.session import session


def main(bootstrap, source, target, checkpoint, guarantee, rows_per_batch):
    spark = session("local[2]", "odradek-tests", **spark_kit.CONF)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": str(rows_per_batch)}
    frame = spark_kit.stream_reader(spark, bootstrap, source, **options).load().select("key", "value")
    writer = frame.writeStream.format("odradek").option("kafka.bootstrap.servers", bootstrap).option("topic", target)
    writer = writer.option("odradek.sink.guarantee", guarantee).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
