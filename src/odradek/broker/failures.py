"""What a node does when a disk fails: the dir with the metadata log ends it, so does the last dir, another does not.

A log that is damaged ends nothing but its own service.
"""

from collections.abc import Callable, Iterable

from odradek.broken_rule import present
from odradek.broker.lifecycle import BrokerLifecycle
from odradek.broker.server_log import Logger
from odradek.log import names
from odradek.log.failure import remedy_for, with_remedy
from odradek.log.manager.log_dir import LogDir, SetAsideLog

OnFatal = Callable[[str], None]
STRAYS_SHOWN_MAX = 5


class DirFailures:
    """What the log manager calls when one of its dirs fails, or holds a damaged log."""

    __slots__ = ("_directory_ids", "_lifecycle", "_log", "_metadata_dir", "_on_fatal")

    def __init__(
        self,
        metadata_dir: str,
        directory_ids: dict[str, bytes],
        lifecycle: BrokerLifecycle,
        log: Logger,
        on_fatal: OnFatal,
    ) -> None:
        self._metadata_dir = metadata_dir
        self._directory_ids = directory_ids
        self._lifecycle = lifecycle
        self._log = log
        self._on_fatal = on_fatal

    def failed(self, log_dir: LogDir, is_last: bool) -> None:
        reason = with_remedy(present(log_dir.failure, "a dir has failed when that is told"))
        self._log.error(f"Stopping serving logs in dir {log_dir.path}: {reason}")
        if log_dir.path == self._metadata_dir:
            self._on_fatal(f"The log dir {log_dir.path} with the metadata log has failed: {reason}")
        elif is_last:
            self._on_fatal(f"Shutdown broker because all log dirs have failed, {log_dir.path} last: {reason}")
        elif log_dir.path in self._directory_ids:
            self._lifecycle.dir_failed(self._directory_ids[log_dir.path])

    def tell_damaged_checkpoints(self, log_dirs: Iterable[LogDir]) -> None:
        for log_dir in log_dirs:
            for name, wrong in log_dir.damaged_checkpoints.items():
                self._log.error(
                    f"{log_dir.path}/{name} is damaged ({wrong}): what the logs themselves tell is taken instead, and "
                    "the file is written anew"
                )

    def tell_strays(self, log_dirs: Iterable[LogDir]) -> None:
        """Logs which partition directories are of no topic that the metadata knows.

        A topic that was deleted while this broker was away leaves one; so does a topic id that was damaged."""
        for log_dir in log_dirs:
            if log_dir.strays:
                shown = ", ".join(stray.rpartition("/")[2] for stray in sorted(log_dir.strays)[:STRAYS_SHOWN_MAX])
                more = len(log_dir.strays) - STRAYS_SHOWN_MAX
                self._log.error(
                    f"{log_dir.path} has partitions of which the metadata knows nothing: {shown}"
                    f"{f' and {more} more' if more > 0 else ''}. They are kept and served to nobody. If one of them is "
                    "missed, the topic id in its partition.metadata is not that of its topic; else it can be deleted"
                )

    def damaged(self, log_dir: LogDir, found: SetAsideLog) -> None:
        name, remedy = names.dir_name(*found.topic_partition), remedy_for(found.damage)
        advice = (
            f"'odradek log repair {log_dir.path} --partition {name} --dry-run' says what can be saved"
            if remedy is None
            else f"{remedy}: nothing of it is damaged"
        )
        self._log.error(
            f"partition {name} is set aside: {found.damage}; its clients get KAFKA_STORAGE_ERROR, all others are "
            f"served; with this broker stopped, {advice}"
        )
