"""The writers that Spark plans with, hands to its tasks and calls at the end: each call may be in another process.

A writer of a stream is made anew for each batch and once more for its end; what a task has to say goes in its message.
A writer of a batch query is made once, with an id of its own, and travels.
"""

import logging
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from odradek.spark.errors import SparkOptionError
from odradek.spark.sink.columns import written_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from odradek.client.producer.prepared_transaction import PreparedTransaction
    from odradek.spark.options import SinkOptions
    from odradek.spark.sink.exactly_once import Part

logger = logging.getLogger("odradek.spark")

QUERY_ID, BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"  # properties that Spark gives to its tasks


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task has done. `prepared` is what the driver has to end; without it there is nothing to end: at least
    once, no rows, or rows that were written before.
    """

    rows: int
    prepared: "PreparedTransaction | None" = None


def batch_writer(options: "SinkOptions", schema: "StructType", overwrite: bool) -> "BatchWriter":
    if overwrite:
        raise SparkOptionError("mode", "overwrite", "a topic is only added to: use append")
    return BatchWriter(options, _columns(options, schema), uuid.uuid4().hex)


def stream_writer(options: "SinkOptions", schema: "StructType", overwrite: bool) -> "StreamWriter":
    """With `overwrite` (the mode complete) each batch has all rows, and is added like any other."""
    return StreamWriter(options, _columns(options, schema))


class _Sink:
    """What both kinds of writers do in a task."""

    def __init__(self, options: "SinkOptions", columns: list[str]) -> None:
        self.options = options
        self.columns = columns

    def written(self, batches: "Iterator[pa.RecordBatch]", part: "Part | None") -> Written:
        """Without a part: at least once."""
        from odradek.spark.sink import clients
        from odradek.spark.sink.sending import not_empty

        if TaskContext.get().attemptNumber():
            clients.drop_all()
        rows = not_empty(batches)
        first = next(rows, None)
        if first is None:
            return Written(0)
        try:
            return self._all(first, rows) if part is None else self._once(first, rows, part)
        except BaseException:
            clients.drop_all()
            raise

    def _all(self, first: "pa.RecordBatch", rows: "Iterator[pa.RecordBatch]") -> Written:
        from odradek.spark.sink import clients
        from odradek.spark.sink.sending import Sending

        sending = Sending(clients.producer(self.options.clients), self.columns, self.options.topic)
        sending.send(first)
        for batch in rows:
            sending.send(batch)
        sending.finish()
        return Written(sending.rows)

    def _once(self, first: "pa.RecordBatch", rows: "Iterator[pa.RecordBatch]", part: "Part") -> Written:
        from odradek.spark.sink import clients, exactly_once
        from odradek.spark.sink.sending import Sending

        configs = exactly_once.with_timeout(self.options.clients)
        producer = clients.transactional_producer(configs, part.transactional_id)
        if not exactly_once.begun(producer, configs, part):
            logger.info("%s: batch %s was written before", part.transactional_id, part.batch)
            for _ in rows:  # what feeds this task goes to its end
                pass
            clients.drop_all()  # a producer without a transaction cannot begin anew, as the next batch wants it
            return Written(0)
        sending = Sending(producer, self.columns, self.options.topic)
        sending.send(first)
        for batch in rows:
            sending.send(batch)
        return Written(sending.rows, exactly_once.prepared(producer, part, sending))

    def commit_all(self, messages: "Iterable[WriterCommitMessage | None]", what: str) -> None:
        from odradek.spark.sink import exactly_once

        if open_ones := _prepared(messages):
            exactly_once.commit(exactly_once.with_timeout(self.options.clients), open_ones, what)

    def abort_known(self, messages: "Iterable[WriterCommitMessage | None]") -> None:
        from odradek.spark.sink import exactly_once

        if open_ones := _prepared(messages):
            exactly_once.abort(exactly_once.with_timeout(self.options.clients), open_ones)


class BatchWriter(_Sink, DataSourceArrowWriter):
    def __init__(self, options: "SinkOptions", columns: list[str], job: str) -> None:
        super().__init__(options, columns)
        self.job = job

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Written:
        from odradek.spark.sink.exactly_once import part_of

        if not self.options.is_exactly_once:
            return self.written(iterator, None)
        number = TaskContext.get().partitionId()
        return self.written(iterator, part_of(self.options.transactional_id_prefix, self.job, number, None))

    def commit(self, messages: "list[WriterCommitMessage | None]") -> None:
        self.commit_all(messages, "the write")

    def abort(self, messages: "list[WriterCommitMessage | None]") -> None:
        self.abort_known(messages)


class StreamWriter(_Sink, DataSourceStreamArrowWriter):
    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Written:
        from odradek.spark.sink.exactly_once import part_of

        if not self.options.is_exactly_once:
            return self.written(iterator, None)
        task = TaskContext.get()
        query, batch = task.getLocalProperty(QUERY_ID), int(task.getLocalProperty(BATCH_ID))
        part = part_of(self.options.transactional_id_prefix, query, task.partitionId(), batch)
        return self.written(iterator, part)

    def commit(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:  # noqa: N803 - Spark's name
        self.commit_all(messages, f"batch {batchId}")

    def abort(self, messages: "list[WriterCommitMessage | None]", batchId: int) -> None:  # noqa: N803 - Spark's name
        self.abort_known(messages)


def _columns(options: "SinkOptions", schema: "StructType") -> list[str]:
    return written_columns(((field.name, field.dataType.simpleString()) for field in schema.fields), options.topic)


def _prepared(messages: "Iterable[WriterCommitMessage | None]") -> "list[PreparedTransaction]":
    """Of the tasks that have ended well."""
    return [each.prepared for each in messages if isinstance(each, Written) and each.prepared is not None]
