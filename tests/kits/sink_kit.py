"""Writing with Spark in tests: frames to a topic, and a stream whose batches are always the same."""

from pathlib import Path

EXACTLY_ONCE = {"odradek.sink.guarantee": "exactly-once"}
WAIT_S_MAX = 60


def write(frame, bootstrap, topic=None, mode="append", **options):
    writer = frame.write.format("odradek").option("kafka.bootstrap.servers", bootstrap).options(**options)
    (writer if topic is None else writer.option("topic", topic)).mode(mode).save()


def numbered(spark, rows, tasks=2):
    """A stream of batches of so many rows in so many tasks: value is the number of the row, the same on each replay."""
    source = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=str(rows), numPartitions=str(tasks))
    return source.load().selectExpr("cast(value as string) as value")


def wide(frame):
    """With a key that makes rows large enough for Spark to pass them on before their task ends."""
    return frame.selectExpr("value", "repeat(value, 40) as key")


def failing(bootstrap, topic, *, attempts, notes=None):
    """For `mapInArrow`: passes all rows on and fails when some of them stand in the topic, in so many attempts of each
    task. Each failure leaves a note in a directory.
    """

    def rows(batches):
        import time
        from pathlib import Path

        from pyspark import TaskContext

        from odradek import AdminClient, TopicPartition

        def written():
            places = [
                TopicPartition(topic, each.partition) for each in admin.describe_topics([topic])[topic].partitions
            ]
            return sum(each.offset for each in admin.list_offsets(dict.fromkeys(places, -1)).values())

        task = TaskContext.get()
        if task.attemptNumber() >= attempts:
            yield from batches
            return
        with AdminClient(bootstrap_servers=bootstrap) as admin:
            before = written()
            yield from batches
            deadline = time.monotonic() + 60
            while written() == before and time.monotonic() < deadline:
                time.sleep(0.05)
        if notes is not None:
            (Path(notes) / f"{task.taskAttemptId()}").touch()
        raise ZeroDivisionError("on purpose")

    return rows


def run_batch(frame, bootstrap, topic, checkpoint, mode="append", **options):
    """One batch of a `numbered` stream, from its checkpoint, and before it the last one again if that was not noted as
    done. Raises what it has failed with.
    """
    writer = frame.writeStream.format("odradek").option("kafka.bootstrap.servers", bootstrap).option("topic", topic)
    writer = writer.options(**options).option("checkpointLocation", str(checkpoint)).outputMode(mode)
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(WAIT_S_MAX), "the batch did not end"
    finally:
        query.stop()


def forget_commit(checkpoint, batch):
    """Takes the note that a batch is done out of a checkpoint: as if the driver had died before."""
    forget(checkpoint, "commits", batch)


def forget(checkpoint, what, batch):
    for name in (str(batch), f".{batch}.crc"):
        (Path(checkpoint) / what / name).unlink(missing_ok=True)
