"""Pipelines for the tests: declared in Python, run in the session of the process until everything is read."""

from odradek.spark import Pipeline

WAIT_S_MAX = 120


def pipeline(broker, checkpoint, **fields):
    return Pipeline(
        "tested", checkpoint=str(checkpoint), options={"kafka.bootstrap.servers": broker.bootstrap}, **fields
    )


class Rows:
    """A function sink that keeps the rows of every batch, as dicts."""

    def __init__(self):
        self.batches = []

    def __call__(self, frame, batch_id):
        self.batches.append((batch_id, [row.asDict(recursive=True) for row in frame.collect()]))

    @property
    def rows(self):
        return [row for _, rows in self.batches for row in rows]

    def own(self):
        """Without the columns of the records."""
        return [{name: value for name, value in row.items() if not name.startswith("_")} for row in self.rows]


def run(declared, spark):
    """To the end of what is there; a query that fails raises."""
    running = declared.start(spark, once=True)
    try:
        assert running.wait(WAIT_S_MAX), [each.name for each in running.queries if each.query.isActive]
    finally:
        running.stop()
