"""Runs a pipeline for a person: watches its queries, tells what they do, and ends them cleanly.

Ctrl-C (or SIGTERM) lets the batch of each query end, then stops it; a second one stops at once, which loses nothing
either: the batch is repeated by the next start.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from odradek.serde.extras import library
from odradek.spark.errors import SourceError
from odradek.spark.java import JavaMissingError
from odradek.spark.options import source_options
from odradek.spark.pipeline.failure_text import failure_line, java_reason
from odradek.spark.pipeline.model import Declaration, TopicSource
from odradek.spark.pipeline.progress_view import ENDED, FAILED, RUNNING, QueryView, view
from odradek.spark.pipeline.prometheus import MetricsServer, metrics_text
from odradek.spark.pipeline.state_files import PipelineState, StateFile, process_start
from odradek.spark.pipeline.topic_options import options_of_source
from odradek.spark.pipeline.watching import JsonLines, LiveTable, PlainLines, Watcher
from odradek.spark.source.cluster_offsets import ClusterOffsets

_LOOK_S = 0.5
_WRITE_STATE_S = 2.0
_WIDTH_WITHOUT_A_TERMINAL = 200


class QueryFailedError(RuntimeError):
    """A query of the pipeline has failed: which, and why, in one line."""


def run_declaration(
    declaration: Declaration,
    *,
    master: str = "local[*]",
    once: bool = False,
    as_json: bool = False,
    metrics_port: int | None = None,
    spark_log: str = "OFF",
) -> None:
    """To its end or to Ctrl-C. QueryFailedError says why a query could not go on; ImportError and JavaMissingError what
    to install; PipelineError what only Spark could tell.
    """
    library("pyspark", "spark")
    from odradek.spark.session import session

    watcher = _watcher(as_json)
    _look_for_topics(declaration, watcher)
    watcher.say(f"{declaration.name}: starting Spark ({master})")
    conf = {"spark.ui.enabled": "false", "spark.log.level": spark_log, **declaration.conf}
    with quiet_java(spark_log == "OFF"):
        spark: Any = session(master, f"odradek {declaration.name}", **conf)  # Any: pyspark is not there for mypy
    try:
        _Run(declaration, master, watcher, sys.stderr if as_json else sys.stdout).run(spark, once, metrics_port)
    finally:
        spark.stop()


def _look_for_topics(declaration: Declaration, watcher: Watcher) -> None:
    """What is not there is told before Spark starts, which takes longer."""
    for source in declaration.sources:
        if not isinstance(source, TopicSource):
            continue
        options = source_options({**options_of_source(source), "fetchOffset.numRetries": "1"}, True)
        watcher.say(f"{declaration.name}: looking for {options.described()} at {options.clients['bootstrap.servers']}")
        cluster = ClusterOffsets(options)
        try:
            cluster.topics()
        except SourceError as error:
            raise QueryFailedError(f"{source.place}: the source {source.name}: {error}") from None
        finally:
            cluster.close()


@contextmanager
def quiet_java(is_quiet: bool) -> Iterator[None]:
    """What Java says on standard error while it starts, and later, is shown only if it does not start."""
    if not is_quiet:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except JavaMissingError:
            raise
        except Exception as error:
            said.seek(0)
            reason = java_reason(said.read().decode(errors="replace")) or failure_line(str(error))
            raise QueryFailedError(f"Spark does not start: {reason}") from error
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _watcher(as_json: bool) -> Watcher:
    people = sys.stderr
    if as_json:
        return JsonLines(sys.stdout, people)
    if people.isatty():
        return LiveTable(people, os.get_terminal_size(people.fileno()).columns or _WIDTH_WITHOUT_A_TERMINAL)
    return PlainLines(people)


class _Run:
    def __init__(self, declaration: Declaration, master: str, watcher: Watcher, console: TextIO) -> None:
        self._declaration = declaration
        self._master = master
        self._watcher = watcher
        self._console = console
        self._followed: list[Followed] = []
        self._stops_asked = 0
        self._wake = threading.Event()

    def run(self, spark: Any, once: bool, metrics_port: int | None) -> None:
        from odradek.spark.pipeline.running import start

        metrics = self._metrics(metrics_port)
        state = StateFile()
        restore = self._take_signals()
        try:
            running = start(self._declaration, spark, once=once, printer=self._print_rows, started=self._started)
            self._followed = [Followed(each.name, each.query) for each in running.queries]
            self._watch(state)
            self._raise_failure()
        except _StoppedEarly:
            self._watcher.say("stopped before all queries were started")
        finally:
            restore()
            state.remove()
            if metrics is not None:
                metrics.close()

    def views(self) -> list[QueryView]:
        return [each.view for each in self._followed]

    def _metrics(self, port: int | None) -> MetricsServer | None:
        if port is None:
            return None
        try:
            server = MetricsServer(port, lambda: metrics_text(self._declaration.name, self.views()))
        except OSError as error:
            raise QueryFailedError(f"metrics cannot be served on port {port}: {error.strerror}") from None
        self._watcher.say(f"metrics: http://127.0.0.1:{server.port}/metrics")
        return server

    def _take_signals(self) -> Callable[[], None]:
        """What was there before comes back with what is returned. Outside the main thread there are no signals."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}

        def restore() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        return restore

    def _on_signal(self, number: int, frame: object) -> None:
        self._stops_asked += 1
        self._wake.set()

    def _watch(self, state: StateFile) -> None:
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        written = 0.0
        while True:
            is_active = self._look()
            if time.monotonic() - written >= _WRITE_STATE_S:
                state.write(self._state(started))
                written = time.monotonic()
            if not is_active:
                return
            if self._stops_asked or any(each.has_failed for each in self._followed):
                self._end_queries()
                return
            self._wake.wait(_LOOK_S)

    def _look(self) -> bool:
        """Tells what is new. Whether a query runs is asked first: what it did last is then not missed."""
        is_active = [each.is_active for each in self._followed]
        for each in self._followed:
            for done in each.look():
                self._watcher.batch(done)
        self._watcher.now(self.views())
        return any(is_active)

    def _end_queries(self) -> None:
        """Each after its batch; at once if a stop is asked for again."""
        asked = self._stops_asked
        active = [each for each in self._followed if each.is_active]
        if active:
            names = ", ".join(each.name for each in active)
            self._watcher.say(f"ending the running batch of {names}; Ctrl-C again stops at once")
        marks = {each.name: each.mark() for each in active}
        while active:
            self._wake.clear()
            for each in active:
                if self._stops_asked > max(1, asked) or each.is_between_batches(marks[each.name]):
                    each.stop()
            active = [each for each in active if each.is_active]
            self._wake.wait(0.05)
        self._look()

    def _state(self, started: str) -> PipelineState:
        return PipelineState(
            pipeline=self._declaration.name,
            file=os.path.abspath(self._declaration.place.file),
            master=self._master,
            pid=os.getpid(),
            process_start=process_start(os.getpid()) or "",
            started=started,
            queries=tuple(each.as_dict() for each in self.views()),
        )

    def _raise_failure(self) -> None:
        for each in self._followed:
            reason = each.failure()
            if reason is not None:
                raise QueryFailedError(f"query {each.name} failed: {failure_line(reason)}")

    def _started(self, name: str) -> None:
        self._watcher.say(f"{name}: started")
        if self._stops_asked:
            raise _StoppedEarly

    def _print_rows(self, name: str, frame: Any, rows: int) -> None:
        """A console sink, on standard output. Any: a DataFrame."""
        found = frame.limit(rows).collect()
        lines = [", ".join(f"{key}={value}" for key, value in row.asDict().items()) for row in found]
        if isinstance(self._watcher, LiveTable) and self._console.isatty():
            for line in lines:
                self._watcher.say(f"{name}: {line}")
        else:
            self._console.write("".join(f"{name}: {line}\n" for line in lines))
            self._console.flush()


class _StoppedEarly(Exception):  # noqa: N818 - nobody's fault
    """Somebody has asked for the end while the queries were being started."""


class Followed:
    """A query, and what it has told so far. Spark keeps the last hundred batches, so that none is missed."""

    def __init__(self, name: str, query: Any) -> None:
        self.name = name
        self._query = query  # Any: a StreamingQuery, known where pyspark is
        self._seen: tuple[int, str] | None = None
        self._total_rows = 0
        self._last: dict[str, Any] | None = None

    @property
    def is_active(self) -> bool:
        return bool(self._query.isActive)

    @property
    def has_failed(self) -> bool:
        return self._query.exception() is not None

    @property
    def view(self) -> QueryView:
        state = RUNNING if self.is_active else FAILED if self.has_failed else ENDED
        return view(self.name, state, self._last, self._total_rows)

    def failure(self) -> str | None:
        error = self._query.exception()
        return None if error is None else str(error)

    def look(self) -> Sequence[QueryView]:
        """The batches that are new, in their order."""
        found = []
        for progress in [json.loads(each.json) for each in self._query.recentProgress]:
            key = (int(progress["batchId"]), str(progress["timestamp"]))
            if self._seen is not None and key <= self._seen:
                continue
            self._seen = key
            self._last = progress
            self._total_rows += int(progress.get("numInputRows") or 0)
            found.append(self.view)
        return found

    def mark(self) -> int:
        """The number of the last batch that was told."""
        progress = self._query.lastProgress
        return -1 if progress is None else int(json.loads(progress.json)["batchId"])

    def is_between_batches(self, mark: int) -> bool:
        return not self._query.status["isTriggerActive"] or self.mark() > mark

    def stop(self) -> None:
        self._query.stop()
