"""Runs a pipeline: its parts become DataFrames and temporary views, its sinks streaming queries, in its own session.

Nothing here schedules or distributes: a sink is a query of Structured Streaming with a checkpoint of its own, and the
dead letters of a source are another. A query and the dead letters of its source begin at the same offsets, so that a
record is in the one or in the other.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from odradek.spark.pipeline.decoding import FORMAT, dead_letters, decoded, records
from odradek.spark.pipeline.encoding import encoded, own_columns
from odradek.spark.pipeline.functions import resolved, send_by_value
from odradek.spark.pipeline.graph import Part, in_order, parts_by_name, upstream
from odradek.spark.pipeline.lake import DeltaTable, IcebergTable
from odradek.spark.pipeline.mistakes import Mistake, PipelineError, Place
from odradek.spark.pipeline.model import (
    AVAILABLE_NOW,
    CONSOLE,
    DELTA,
    FUNCTION,
    ICEBERG,
    PARQUET,
    TOPIC,
    Declaration,
    FunctionStep,
    Sink,
    SqlStep,
    TableSource,
    TopicSource,
)
from odradek.spark.pipeline.plan import checkpoint_of, dead_letters_query, with_dead_letters
from odradek.spark.pipeline.starting import Beginnings, beginnings
from odradek.spark.pipeline.topic_options import options_of_dead_letters, options_of_sink

Printer = Callable[[str, DataFrame, int], None]  # of a console sink: its name, the rows, how many to show
Told = Callable[[str], None]  # that a query runs; what it raises stops all that run

_STARTED_WITHIN_S = 60.0
_SQL_LINE = re.compile(r"line (\d+),? pos")


@dataclass(frozen=True)
class RunningQuery:
    name: str
    place: Place
    query: StreamingQuery


class Running:
    """The queries of a pipeline, dead letters first."""

    def __init__(self, declaration: Declaration, queries: list[RunningQuery]) -> None:
        self.declaration = declaration
        self.queries = queries

    @property
    def is_active(self) -> bool:
        return any(each.query.isActive for each in self.queries)

    def failed(self) -> RunningQuery | None:
        return next((each for each in self.queries if each.query.exception() is not None), None)

    def wait(self, seconds: float) -> bool:
        """Until all have ended, or one has failed, which is raised. True if they have."""
        limit = threading.Event()
        timer = threading.Timer(seconds, limit.set)
        timer.start()
        try:
            while self.is_active and not limit.is_set():
                self._raise_failure()
                limit.wait(0.1)
            self._raise_failure()
        finally:
            timer.cancel()
        return not self.is_active

    def _raise_failure(self) -> None:
        failed = self.failed()
        if failed is not None:
            raise failed.query.exception()

    def stop(self) -> None:
        """At once; a batch that is running is repeated by the next start."""
        for each in self.queries:
            each.query.stop()


def start(
    declaration: Declaration,
    spark: SparkSession,
    *,
    once: bool = False,
    printer: Printer | None = None,
    started: Told | None = None,
) -> Running:
    """PipelineError, with the line, for what only Spark can tell; then nothing runs."""
    session = spark.newSession()
    for name, value in declaration.conf.items():
        with _told_at(declaration.place, f"spark setting {name}"):
            session.conf.set(name, value)
    return _Start(declaration, session, once, printer or _print).start(started or _say_nothing)


def _say_nothing(query: str) -> None:
    pass


def _print(name: str, frame: DataFrame, rows: int) -> None:
    frame.show(rows, truncate=False)


class _Start:
    def __init__(self, declaration: Declaration, session: SparkSession, once: bool, printer: Printer) -> None:
        self._declaration = declaration
        self._session = session
        self._once = once
        self._printer = printer
        self._frames: dict[str, DataFrame] = {}
        self._beginnings: dict[str, Beginnings] = {}

    def start(self, told: Told) -> Running:
        send_by_value(self._declaration.place.file)
        for source in with_dead_letters(self._declaration):
            with _told_at(source.place, f"the source {source.name}"):
                self._beginnings[source.name] = self._beginnings_of(source)
        for part in in_order(self._declaration):
            with _told_at(part.place, f"{_kind(part)} {part.name}"):
                self._add(part)
        return Running(self._declaration, self._start_all(told))

    def _add(self, part: Part) -> None:
        frame = self._frame(part)
        frame.createOrReplaceTempView(f"`{part.name}`")
        self._frames[part.name.lower()] = frame

    def _frame(self, part: Part) -> DataFrame:
        if isinstance(part, TopicSource):
            begin = self._beginnings.get(part.name, Beginnings()).sinks
            return decoded(records(self._session, part, begin, headers=False), part)
        if isinstance(part, TableSource):
            reader = self._session.read.format(part.format).options(**part.options)
            return (reader if part.schema is None else reader.schema(part.schema)).load(part.path)
        if isinstance(part, SqlStep):
            return self._session.sql(part.text)
        return self._made_by_function(part)

    def _beginnings_of(self, source: TopicSource) -> Beginnings:
        parts = parts_by_name(self._declaration)
        readers = [sink for sink in self._declaration.sinks if source in upstream(parts[sink.input.lower()], parts)]
        sinks_go_on = any(self._goes_on(sink.name) for sink in readers)
        return beginnings(source, sinks_go_on, self._goes_on(dead_letters_query(source)))

    def _goes_on(self, query: str) -> bool:
        """Whether it has a checkpoint, on whatever file system of Spark's."""
        jvm: Any = self._session.sparkContext._jvm  # Any: Java's
        path = jvm.org.apache.hadoop.fs.Path(f"{checkpoint_of(self._declaration, query)}/offsets")
        files = path.getFileSystem(self._session.sparkContext._jsc.hadoopConfiguration())
        return bool(files.exists(path) and len(files.listStatus(path)))

    def _made_by_function(self, step: FunctionStep) -> DataFrame:
        function = resolved(step.function, step.place)
        made = function(*(self._frames[name.lower()] for name in step.inputs))
        if not isinstance(made, DataFrame):
            raise PipelineError(
                [Mistake(step.place, f"the step {step.name} returns {type(made).__name__}, no DataFrame")]
            )
        return made

    def _start_all(self, told: Told) -> list[RunningQuery]:
        running: list[RunningQuery] = []
        try:
            for each in self._started():
                running.append(each)
                _wait_for_sources(each.query)
                told(each.name)
        except BaseException:
            for each in running:
                each.query.stop()
            raise
        return running

    def _started(self) -> Iterator[RunningQuery]:
        """One after the other: Spark gives the process of a source ten seconds, and many at once would need more."""
        for source in with_dead_letters(self._declaration):
            yield self._start_dead_letters(source)
        for sink in self._declaration.sinks:
            with _told_at(sink.place, f"the sink {sink.name}"):
                running = self._start_sink(sink)
            yield running

    def _start_dead_letters(self, source: TopicSource) -> RunningQuery:
        name = dead_letters_query(source)
        begin = self._beginnings[source.name].dead_letters
        frame = dead_letters(records(self._session, source, begin, headers=True), source)
        writer = self._writer(frame, name).format(FORMAT).options(**options_of_dead_letters(source))
        with _told_at(source.place, f"the dead letters of {source.name}"):
            return RunningQuery(name, source.place, writer.start())

    def _start_sink(self, sink: Sink) -> RunningQuery:
        frame = self._frames[sink.input.lower()]
        if sink.kind == TOPIC:
            writer = self._writer(encoded(frame, sink), sink.name).format(FORMAT).options(**options_of_sink(sink))
        elif sink.kind == PARQUET:
            writer = self._writer(own_columns(frame), sink.name).format(PARQUET).options(**sink.options)
            writer = writer.option("path", str(sink.target)).partitionBy(*sink.partition_by)
        else:
            return self._start_foreach(sink, frame)
        return RunningQuery(sink.name, sink.place, writer.outputMode(sink.mode).start())

    def _start_foreach(self, sink: Sink, frame: DataFrame) -> RunningQuery:
        id_of_query = _Later()
        function = self._batch_function(sink, id_of_query.get)
        query = self._writer(frame, sink.name).outputMode(sink.mode).foreachBatch(function).start()
        id_of_query.set(str(query.id))
        return RunningQuery(sink.name, sink.place, query)

    def _batch_function(self, sink: Sink, query_id: Callable[[], str]) -> Callable[[DataFrame, int], Any]:
        """Any: what a person's function returns is nobody's business."""
        if sink.kind == DELTA:
            return DeltaTable(sink, query_id).write
        if sink.kind == ICEBERG:
            return IcebergTable(sink, query_id).write
        if sink.kind == FUNCTION:
            return resolved(sink.target, sink.place)
        if sink.kind != CONSOLE:
            raise AssertionError(sink.kind)
        return lambda batch, _: self._printer(sink.name, own_columns(batch), sink.rows)

    def _writer(self, frame: DataFrame, name: str) -> DataStreamWriter:
        writer = frame.writeStream.queryName(name).option("checkpointLocation", checkpoint_of(self._declaration, name))
        trigger = AVAILABLE_NOW if self._once else self._declaration.trigger
        if trigger is None:
            return writer
        return writer.trigger(availableNow=True) if trigger == AVAILABLE_NOW else writer.trigger(processingTime=trigger)


def _wait_for_sources(query: StreamingQuery) -> None:
    deadline = time.monotonic() + _STARTED_WITHIN_S
    while query.isActive and query.status["message"].startswith("Initializing") and time.monotonic() < deadline:
        time.sleep(0.05)


class _Later:
    """A value that is known a moment after those who need it have begun."""

    def __init__(self) -> None:
        self._is_there = threading.Event()
        self._value = ""

    def set(self, value: str) -> None:
        self._value = value
        self._is_there.set()

    def get(self) -> str:
        if not self._is_there.wait(_STARTED_WITHIN_S):
            raise TimeoutError("the query has not been started")
        return self._value


def _kind(part: Part) -> str:
    return "the source" if isinstance(part, (TopicSource, TableSource)) else "the step"


class _told_at:  # noqa: N801 - used as a function
    """What Spark or a person's function says is a mistake at this place, in one line."""

    def __init__(self, place: Place, what: str) -> None:
        self._place = place
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, PipelineError) or not isinstance(error, Exception):
            return
        said = one_line(error)
        raise PipelineError([Mistake(self._line(said), f"{self._what}: {said}")]) from error

    def _line(self, said: str) -> Place:
        within = _SQL_LINE.search(said)
        return Place(self._place.file, self._place.line + int(within[1]) - 1) if within else self._place


def one_line(error: Exception) -> str:
    """The first line of what Spark says, without the plan that follows; of another error its kind as well."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return first if isinstance(error, PySparkException) else f"{type(error).__name__}: {first}"
