"""The directories of a node at its start: whose they are, and locked before anything in them is read or written.

Each dir is made if it is missing, its `.lock` is taken, its meta.properties is read. All that there are must name this
node and one cluster. A dir that cannot be used because its disk fails is left to the log manager, which goes on without
it; the one that is to hold the metadata log must be usable.
"""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.broker.start_refused import BadConfig, StartRefused
from odradek.config.broker import TABLE
from odradek.log.failure import remedy_for
from odradek.log.manager.log_dir import (
    NO_BROKER_EPOCH,
    LogDirRefused,
    LookedAt,
    clean_shutdown_epoch,
    lock_dir,
    make_dir,
)
from odradek.metadata import meta_properties, storage
from odradek.metadata.meta_properties import CorruptMetaProperties, MetaProperties
from odradek.metadata.storage import Found, StorageRefused
from odradek.reactor.ports import Disk, DiskLock, JobOf


class FoundDir(NamedTuple):
    lock: DiskLock
    meta: MetaProperties | None  # None: nobody has formatted it
    clean_epoch: int | None  # of the broker that stopped cleanly


def dirs_of(properties: Mapping[str, object]) -> tuple[tuple[str, ...], str]:
    """The log dirs and the dir of the metadata log, before the config can be parsed: its release stands in them."""
    given = properties.get("log.dirs") or properties.get("log.dir") or TABLE.rows["log.dir"].default
    listed = given if isinstance(given, (list, tuple)) else str(given).split(",")
    log_dirs = tuple(_clean(str(path)) for path in listed if str(path).strip())
    if not log_dirs:
        raise BadConfig("log.dirs names no directory")
    return log_dirs, _clean(str(properties.get("metadata.log.dir") or log_dirs[0]))


def _clean(path: str) -> str:
    return path.strip().rstrip("/") or "/"


class NodeDirs:
    """`locked` are the dirs that this process has; their locks are kept until `release`."""

    __slots__ = ("_found", "cluster_id", "log_dirs", "metadata_dir", "unusable")

    def __init__(self, log_dirs: tuple[str, ...], metadata_dir: str) -> None:
        self.log_dirs = log_dirs
        self.metadata_dir = metadata_dir
        self.cluster_id = ""
        self.unusable: dict[str, OSError] = {}
        self._found: dict[str, FoundDir] = {}

    @property
    def all(self) -> list[str]:
        """All dirs, that of the metadata log first."""
        return list(dict.fromkeys((self.metadata_dir, *self.log_dirs)))

    @property
    def locked(self) -> frozenset[str]:
        return frozenset(self._found)

    @property
    def looked_at(self) -> dict[str, LookedAt]:
        """For the log manager, which need not look once more."""
        found = {
            path: LookedAt(None if each.meta is None else each.meta.directory_id, each.clean_epoch)
            for path, each in self._found.items()
        }
        return found | {path: LookedAt(failure=error) for path, error in self.unusable.items()}

    @property
    def unformatted(self) -> list[str]:
        return [path for path, found in self._found.items() if found.meta is None]

    @property
    def metas(self) -> dict[str, MetaProperties]:
        return {path: found.meta for path, found in self._found.items() if found.meta is not None}

    @property
    def directory_ids(self) -> dict[str, bytes]:
        """The ids of the log dirs that have one, by path."""
        metas = self.metas
        return {
            path: directory_id
            for path in self.log_dirs
            if path in metas and (directory_id := metas[path].directory_id) is not None
        }

    @property
    def metadata_directory_id(self) -> bytes | None:
        return self.metas[self.metadata_dir].directory_id

    @property
    def previous_broker_epoch(self) -> int:
        """The broker epoch of the last run, if all log dirs agree on it; -1 unless that run ended cleanly."""
        epochs = {self._found[path].clean_epoch for path in self.log_dirs if path in self._found}
        found = epochs.pop() if len(epochs) == 1 else None
        return NO_BROKER_EPOCH if found is None else found

    def look_job(self, disk: Disk) -> JobOf[None]:
        """Locks the dirs and reads their meta.properties. Raises StartRefused for what an operator has to look at."""
        corrupt: dict[str, CorruptMetaProperties] = {}
        for path in self.all:
            try:
                self._found[path] = _look(disk, path)
            except LogDirRefused as refusal:
                raise StartRefused(str(refusal)) from None
            except CorruptMetaProperties as error:
                corrupt[path] = error
            except OSError as error:
                self._unusable(path, error)
            yield 0
        if corrupt or self.unformatted:
            self._refuse_lost(disk, corrupt)

    def _refuse_lost(self, disk: Disk, corrupt: Mapping[str, CorruptMetaProperties]) -> None:
        """A dir whose meta.properties is of no use is looked at last: the other dirs tell what belongs there."""
        from odradek.metadata import lost_meta  # it knows of records, which a start does not need yet

        for path, error in corrupt.items():
            raise StartRefused(lost_meta.unreadable(disk, path, self.metadata_dir, self.metas, error))
        for path in self.unformatted:
            reason = lost_meta.lost(disk, path, self.metadata_dir, self.metas)
            if reason is not None:
                raise StartRefused(reason)

    def _unusable(self, path: str, error: OSError) -> None:
        if path == self.metadata_dir:
            remedy = remedy_for(error)
            known = "" if remedy is None else f"{remedy}; or "
            raise StartRefused(
                f"The dir {path} of the metadata log cannot be used: {_told(path, error)}; "
                f"{known}set another --data, or log.dirs"
            ) from None
        self.unusable[path] = error

    def read_again_job(self, disk: Disk) -> JobOf[None]:
        """Reads the meta.properties again, after formatting."""
        for path, found in self._found.items():
            self._found[path] = found._replace(meta=_meta(disk, path))
            yield 0

    def verify(self, node_id: int) -> None:
        """Raises StartRefused unless every dir is formatted, belongs to this node, and all to one cluster."""
        metas = self.metas
        if self.unformatted:
            raise StartRefused(
                f"No `{meta_properties.FILE_NAME}` found in {self.unformatted[0]} "
                "(have you run `kafka-storage.sh` to format the directory?)"
            )
        try:
            storage.verify(Found(metas, (), (), {}, ()), node_id)
        except StorageRefused as refusal:
            raise StartRefused(str(refusal)) from None
        self.cluster_id = metas[self.metadata_dir].cluster_id or ""

    def release(self) -> None:
        found, self._found = self._found, {}
        for each in found.values():
            each.lock.release()


def reason_of(path: str, error: OSError) -> str:
    """Why a dir cannot be used, and what helps if that is known."""
    remedy = remedy_for(error)
    return _told(path, error) if remedy is None else f"{_told(path, error)}; {remedy}"


def _told(path: str, error: OSError) -> str:
    return f"{error.strerror or error} ({error.filename or path})"


def _look(disk: Disk, path: str) -> FoundDir:
    make_dir(disk, path)
    lock = lock_dir(disk, path)
    try:
        return FoundDir(lock, _meta(disk, path), clean_shutdown_epoch(disk, path))
    except BaseException:
        lock.release()
        raise


def _meta(disk: Disk, path: str) -> MetaProperties | None:
    file = f"{path}/{meta_properties.FILE_NAME}"
    return meta_properties.parse(disk.read(file)) if disk.exists(file) else None
