"""Tells an operator when a log dir has no space left, and when it has some again.

Clients try again many times a second, so a refusal is told once a minute. What tells of its end is a write: nobody may
be writing when space is made, so a checkpoint is written once more now and then, until the disk takes it.
"""

from odradek.broker.server_log import Logger
from odradek.log import names
from odradek.log.manager.log_dir import LogDir
from odradek.log.manager.manager import LogManager
from odradek.protocol import errors
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Cancelled

TOLD_EVERY_MS = 60_000
LOOK_EVERY_MS = 5_000


class FullDirs:
    """What the log manager calls when a disk has refused to take more."""

    __slots__ = ("_log", "_logs", "_loop", "_refused_ms", "_told_ms")

    def __init__(self, loop: Loop, logs: LogManager, log: Logger) -> None:
        self._loop = loop
        self._logs = logs
        self._log = log
        self._told_ms: dict[str, int] = {}  # by dir
        self._refused_ms: dict[str, int] = {}  # the last time, of the dirs that are full

    def refused(self, log_dir: LogDir) -> None:
        path, now_ms = log_dir.path, self._loop.ports.clock.mono_ms()
        if path not in self._refused_ms:
            self._look_later(log_dir)
        self._refused_ms[path] = now_ms
        if path not in self._told_ms or now_ms - self._told_ms[path] >= TOLD_EVERY_MS:
            self._told_ms[path] = now_ms
            self._log.error(
                f"There is no space left in the log dir {path}: writes are refused until there is some again"
            )

    def _look_later(self, log_dir: LogDir) -> None:
        self._loop.after(LOOK_EVERY_MS, lambda: self._loop.spawn(self._look(log_dir)))

    async def _look(self, log_dir: LogDir) -> None:
        if self._logs.is_stopping or not log_dir.is_online:
            return
        began_ms = self._loop.ports.clock.mono_ms()
        if await self._takes_more(log_dir) and self._refused_ms[log_dir.path] < began_ms - LOOK_EVERY_MS // 2:
            self._has_space(log_dir)
        else:
            self._look_later(log_dir)

    async def _takes_more(self, log_dir: LogDir) -> bool:
        try:
            await self._logs.dirs.save(log_dir, names.RECOVERY_POINTS, even_if_same=True)
        except (errors.KafkaStorageError, Cancelled):
            return False
        return True

    def _has_space(self, log_dir: LogDir) -> None:
        """The next refusal is news again."""
        del self._refused_ms[log_dir.path], self._told_ms[log_dir.path]
        self._log.info(f"There is space again in the log dir {log_dir.path}: writes are taken")
