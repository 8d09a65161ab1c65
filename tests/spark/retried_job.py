"""A program of a test: a query in a Spark that tries tasks again, and whose first attempts all fail when they have
written something. Each leaves a note.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "kits"))

import sink_kit
import spark_kit
from odradek.spark.session import session

ROWS = 8000


def main(bootstrap, topic, checkpoint, batches):
    notes = Path(checkpoint).with_name("notes")
    notes.mkdir()
    small = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}
    spark = session("local[2,4]", "odradek-tests", **spark_kit.CONF, **small)
    failing = sink_kit.failing(bootstrap, topic, attempts=1, notes=str(notes))
    frame = sink_kit.wide(sink_kit.numbered(spark, ROWS, 2)).mapInArrow(failing, "value string, key string")
    for _ in range(batches):
        sink_kit.run_batch(frame, bootstrap, topic, checkpoint, **sink_kit.EXACTLY_ONCE)
    sys.stdout.write(json.dumps({"rows": ROWS * batches, "failed_attempts": len(list(notes.iterdir()))}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
