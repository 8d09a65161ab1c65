"""The server log: what an operator reads, in the words and under the logger names that Kafka uses.

A line is made only when its level is on, and goes to a sink at once; whoever made the log decides what that is (a
writer's queue in a process, a list in a simulation). Nothing on the path of a request writes a line.
"""

from collections.abc import Callable, Mapping

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")
_RANKS = {level: rank for rank, level in enumerate(LEVELS)}
_INFO = _RANKS["INFO"]

# Takes the wall clock's milliseconds, the level, the message and the logger's name.
Sink = Callable[[int, str, str, str], None]


class ServerLog:
    """Where all loggers write. `levels` has the levels of loggers by name, and that of all others as "root"."""

    __slots__ = ("_sink", "_wall_ms", "levels")

    def __init__(self, wall_ms: Callable[[], int], sink: Sink, levels: Mapping[str, str] | None = None) -> None:
        self._wall_ms = wall_ms
        self._sink = sink
        self.levels: Mapping[str, str] = {} if levels is None else levels

    def logger(self, name: str, prefix: str = "") -> "Logger":
        return Logger(self, name, prefix)

    def is_on(self, name: str, level: str) -> bool:
        levels = self.levels
        while name:
            if name in levels:
                return _RANKS[level] >= _RANKS.get(levels[name], _INFO)
            name = name.rpartition(".")[0]
        return _RANKS[level] >= _RANKS.get(levels.get("root", "INFO"), _INFO)

    def write(self, level: str, message: str, name: str) -> None:
        if self.is_on(name, level):
            self._sink(self._wall_ms(), level, message, name)


class Logger:
    """The logger of one component. `prefix` is what Kafka calls its log ident: `[BrokerServer id=1] `."""

    __slots__ = ("_log", "_name", "_prefix")

    def __init__(self, log: ServerLog, name: str, prefix: str) -> None:
        self._log = log
        self._name = name
        self._prefix = prefix

    def debug(self, message: str) -> None:
        self._log.write("DEBUG", self._prefix + message, self._name)

    def info(self, message: str) -> None:
        self._log.write("INFO", self._prefix + message, self._name)

    def warn(self, message: str) -> None:
        self._log.write("WARN", self._prefix + message, self._name)

    def error(self, message: str, error: BaseException | None = None) -> None:
        self._log.write("ERROR", self._prefix + message + _traceback(error), self._name)

    def fatal(self, message: str, error: BaseException | None = None) -> None:
        self._log.write("FATAL", self._prefix + message + _traceback(error), self._name)


def _traceback(error: BaseException | None) -> str:
    if error is None:
        return ""
    import traceback  # rare, and slow to import

    return "\n" + "".join(traceback.format_exception(error)).rstrip()
