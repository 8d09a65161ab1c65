"""Shows how a pipeline runs: a table that stays in its place on a terminal, lines elsewhere, JSON for programs."""

import json
import threading
from collections.abc import Sequence
from typing import Protocol, TextIO

from odradek.spark.pipeline.progress_view import QueryView

_HEADINGS = (
    "QUERY",
    "STATE",
    "BATCH",
    "ROWS",
    "IN/S",
    "DONE/S",
    "LAG",
    "BATCH MS",
    "OF THAT",
    "STATE ROWS",
    "WATERMARK",
)
_LEFT = frozenset([0, 1, 8, 10])
_UP, _CLEAR = "\x1b[{}F", "\x1b[J"


class Watcher(Protocol):
    def batch(self, view: QueryView) -> None:
        """A batch is done."""

    def now(self, views: Sequence[QueryView]) -> None:
        """How all queries stand."""

    def say(self, text: str) -> None:
        """A line for people."""


class JsonLines:
    """One object for each batch; what is for people goes elsewhere."""

    def __init__(self, out: TextIO, people: TextIO) -> None:
        self._out = out
        self._people = people

    def batch(self, view: QueryView) -> None:
        _write(self._out, json.dumps(view.as_dict()))

    def now(self, views: Sequence[QueryView]) -> None:
        pass

    def say(self, text: str) -> None:
        _write(self._people, text)


class PlainLines:
    def __init__(self, people: TextIO) -> None:
        self._people = people

    def batch(self, view: QueryView) -> None:
        _write(self._people, line_of(view))

    def now(self, views: Sequence[QueryView]) -> None:
        pass

    def say(self, text: str) -> None:
        _write(self._people, text)


class LiveTable:
    """Is drawn over itself; a line for people stays above it."""

    def __init__(self, terminal: TextIO, width: int) -> None:
        self._terminal = terminal
        self._width = width
        self._drawn = 0
        self._lock = threading.Lock()  # a console sink speaks in a thread of its own

    def batch(self, view: QueryView) -> None:
        pass

    def now(self, views: Sequence[QueryView]) -> None:
        lines = [line[: self._width] for line in table_of(views)]
        with self._lock:
            self._erase()
            self._terminal.write("".join(f"{line}\n" for line in lines))
            self._terminal.flush()
            self._drawn = len(lines)

    def say(self, text: str) -> None:
        with self._lock:
            self._erase()
            _write(self._terminal, text)

    def _erase(self) -> None:
        if self._drawn:
            self._terminal.write(_UP.format(self._drawn) + _CLEAR)
        self._drawn = 0


def _write(out: TextIO, line: str) -> None:
    out.write(f"{line}\n")
    out.flush()


def line_of(view: QueryView) -> str:
    said = [
        f"{view.query}: batch {view.batch}",
        f"{view.input_rows} rows",
        f"in {view.input_rate:.0f}/s",
        f"done {view.processed_rate:.0f}/s",
        f"lag {_lag(view)}",
        f"{view.batch_ms} ms ({_parts(view)})",
    ]
    if view.state_rows:
        said.append(f"state {view.state_rows} rows")
    if view.watermark:
        said.append(f"watermark {view.watermark}")
    return ", ".join(said)


def table_of(views: Sequence[QueryView]) -> list[str]:
    rows = [_HEADINGS, *(_cells(view) for view in views)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEADINGS))]
    return [
        "  ".join(_padded(cell, width, at) for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def _padded(cell: str, width: int, at: int) -> str:
    return cell.ljust(width) if at in _LEFT else cell.rjust(width)


def _cells(view: QueryView) -> tuple[str, ...]:
    batch = "-" if view.batch is None else str(view.batch)
    return (
        view.query,
        view.state,
        batch,
        str(view.total_rows),
        f"{view.input_rate:.0f}",
        f"{view.processed_rate:.0f}",
        _lag(view),
        str(view.batch_ms),
        _parts(view) or "-",
        str(view.state_rows),
        view.watermark or "-",
    )


def _lag(view: QueryView) -> str:
    if len(view.lag) < 2:
        return str(sum(view.lag.values()))
    return ",".join(f"{topic}={offsets}" for topic, offsets in sorted(view.lag.items()))


def _parts(view: QueryView) -> str:
    return " ".join(f"{part} {ms}" for part, ms in view.parts_ms.items())
