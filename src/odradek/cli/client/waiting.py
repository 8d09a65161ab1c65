"""Words on standard error while something takes longer than two seconds: what it is, and why it is not done yet."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from odradek.cli import progress

_CLEAR_LINE = "\r\x1b[K"


class Status:
    """One line that is written over on a terminal. Elsewhere each different text is a line of its own."""

    def __init__(self) -> None:
        self.is_terminal = sys.stderr.isatty()
        self._shown = ""

    def show(self, text: str) -> None:
        if text == self._shown:
            return
        start, end = (_CLEAR_LINE, "") if self.is_terminal else ("", "\n")
        print(f"{start}{text}", end=end, file=sys.stderr, flush=True)
        self._shown = text

    def clear(self) -> None:
        if self._shown and self.is_terminal:
            print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)
        self._shown = ""


@contextmanager
def told_if_slow(text: str) -> Iterator[None]:
    """Shows the text on a terminal if what happens inside takes long."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Timer

    status = Status()
    timer = Timer(progress.SILENT_SECONDS, status.show, (f"{text} ...",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.clear()
