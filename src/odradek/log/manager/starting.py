"""The start of the log manager.

    open     every dir: lock, checkpoints, names      nothing is changed; a refusal ends the start
    begin    every dir: the clean-shutdown marker goes, durably
    load     every partition, all dirs at once
    merge    one log per partition; what a crash left half-way is finished
    run      removal of what was deleted, schedules, cleaner

A crash in the middle of a move may leave a partition in two dirs: the copy has got its final name, the original was
still to be renamed. Both are sound, and the copy held all of the original and was durable before it was renamed: so the
longer one is the log, and the other is deleted. That is only done if both carry the same topic id; otherwise somebody
else has put them there, and the start is refused. If one is damaged, both wait for its repair.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.broken_rule import present, require
from odradek.log import names
from odradek.log.failure import LogDirFailure, dir_failure, with_remedy
from odradek.log.log import Log
from odradek.log.manager import lost_directories, set_aside
from odradek.log.manager.dir_loading import DirLoading, IsStray, OnProgress
from odradek.log.manager.log_dir import DirContents, LogDir, LogDirRefused, LookedAt, begin_job, open_job
from odradek.log.manager.partition_dirs import LoadedPartition
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled
from odradek.reactor.slices import Slices

if TYPE_CHECKING:
    from odradek.log.manager.manager import LogManager


async def start(
    manager: "LogManager",
    is_stray: IsStray | None,
    on_progress: OnProgress | None,
    known: Mapping[str, LookedAt],
) -> None:
    """`known`: dirs that the caller has locked and looked at already, as a broker has (`broker/node_dirs.py`)."""
    require(manager.start_ended is None, "a log manager is started once")
    manager.start_ended = manager.loop.pending()
    try:
        await _open(manager, known)
        await _begin(manager)
        missed = {log_dir: lost_directories.missed_in(log_dir) for log_dir in manager.dirs.online}
        await _load(manager, is_stray, on_progress)
        await _merge(manager)
        for log_dir, partitions in missed.items():
            if log_dir.is_online:
                lost_directories.set_lost_aside(manager, log_dir, partitions, is_stray)
        _ensure_wanted(manager)
    except BaseException:
        let_go(manager)
        raise
    finally:
        manager.start_ended.resolve(None)
    manager.loadings = []
    if not manager.dirs.online:
        raise errors.KafkaStorageError(f"No log dir is usable: {'; '.join(_failures(manager))}")
    manager.is_started = True
    _finish_deletions(manager)
    manager.schedules.start()
    manager.cleaner.start()


def _ensure_wanted(manager: "LogManager") -> None:
    if manager.is_stopping:
        raise Cancelled("the broker was stopped while it started")


async def give_up(manager: "LogManager") -> None:
    """For a stop before the start has ended."""
    for loading in manager.loadings:
        loading.give_up()
    if manager.start_ended is not None:
        await manager.start_ended


def let_go(manager: "LogManager") -> None:
    """Leaves everything as it is on disk, without a clean-shutdown marker."""
    for log_dir in manager.dirs.by_path.values():
        for topic_partition, log in log_dir.all_logs():
            manager.unregister(topic_partition, log)
        log_dir.release_lock()


def _failures(manager: "LogManager") -> list[str]:
    return [with_remedy(log_dir.failure) for log_dir in manager.dirs.offline if log_dir.failure is not None]


# Open.


async def _open(manager: "LogManager", known: Mapping[str, LookedAt]) -> None:
    jobs = {path: open_job(manager.disk, path, known.get(path)) for path in manager.dirs.by_path}
    submitted = [(manager.dirs.by_path[path], manager.jobs.submit(path, job)) for path, job in jobs.items()]
    refusals = []
    for log_dir, pending in submitted:
        try:
            _opened(manager, log_dir, await pending)
        except LogDirRefused as refusal:
            refusals.append(refusal)  # the others go on to their end: their locks have to be let go of
        except OSError as error:
            manager.dirs.fail(log_dir, dir_failure(error, "opening the log dir", log_dir.path))
    if refusals:
        raise refusals[0]


def _opened(manager: "LogManager", log_dir: LogDir, contents: DirContents) -> None:
    log_dir.opened(contents)
    cleaned = contents.checkpoints.get(names.CLEANER_OFFSETS, {})
    is_damaged = names.CLEANER_OFFSETS in contents.damaged_checkpoints
    manager.cleaner.checkpoints.add_dir(log_dir.path, cleaned, is_damaged=is_damaged)


async def _begin(manager: "LogManager") -> None:
    for log_dir in manager.dirs.online:
        if log_dir.had_clean_shutdown:
            try:
                await manager.dirs.run(log_dir, log_dir.path, begin_job(manager.disk, log_dir.path))
            except errors.KafkaStorageError as error:
                # Without space a name can still go; where it cannot, the dir must not be written to.
                manager.dirs.fail(log_dir, LogDirFailure(str(error), log_dir.path))


# Load.


async def _load(manager: "LogManager", is_stray: IsStray | None, on_progress: OnProgress | None) -> None:
    def build(loaded: LoadedPartition) -> Log:
        partition = loaded.to_load.topic_partition
        log = manager.build(loaded.log, partition[0], loaded.topic_id)
        log.was_compacted = manager.cleaner.checkpoints.get(log.directory.rpartition("/")[0], partition) is not None
        return log

    _ensure_wanted(manager)
    config = manager.config
    loadings = manager.loadings = [
        DirLoading(
            manager.loop,
            manager.dirs,
            log_dir,
            build,
            lambda log_dir, found: set_aside.remember(manager, log_dir, found),
            config.producer_id_expiration_ms,
            on_progress,
            is_stray,
        )
        for log_dir in manager.dirs.online
    ]
    tasks: list[Pending[None]] = [
        manager.loop.spawn(loading.load(manager.topic_configs.of, config.recovery_threads_per_dir))
        for loading in loadings
    ]
    for task in tasks:
        await task
    _ensure_wanted(manager)
    for loading in loadings:
        await _rename_strays(manager, loading)


async def _rename_strays(manager: "LogManager", loading: DirLoading) -> None:
    for stray in loading.strays:
        log_dir = present(manager.dirs.holding(stray.directory), "a stray lies in one of the log dirs")
        try:
            await manager.removals.rename_out(log_dir, stray.directory, stray.topic_partition, names.STRAY_DIR, 0)
        except errors.KafkaStorageError:
            return  # the dir is offline


# Merge.


async def _merge(manager: "LogManager") -> None:
    slices = Slices(manager.loop)
    for log_dir in manager.dirs.online:
        for topic_partition, log in list(log_dir.logs.items()):
            if log_dir.is_online:
                await _add(manager, topic_partition, log, is_future=False)
            await slices.pause_if_over()
    for log_dir in manager.dirs.online:
        for topic_partition, log in list(log_dir.futures.items()):
            if topic_partition in log_dir.logs:
                await _drop(manager, topic_partition, log)  # a copy in the same dir is none
            elif log_dir.is_online:
                await _add(manager, topic_partition, log, is_future=True)
            await slices.pause_if_over()
    _pause_cleaning_of_moving(manager)


async def _add(manager: "LogManager", topic_partition: TopicPartition, log: Log, *, is_future: bool) -> None:
    logs = manager.futures if is_future else manager.current
    damaged = None if is_future else manager.dirs.find_set_aside(topic_partition)
    if damaged is not None:  # nobody can tell which of the two is longer, before that one is repaired
        set_aside.take_out(manager, manager.dirs.of_log(log), topic_partition, log, damaged.damage)
        return
    other = logs.get(topic_partition)
    if other is not None:
        _ensure_same_topic(manager, other, log)
        if log.log_end_offset <= other.log_end_offset:
            log, other = other, log
        await _drop(manager, topic_partition, other)
    if not log.is_closed:  # else its dir has just failed
        manager.register(topic_partition, log, is_future=is_future)


def _ensure_same_topic(manager: "LogManager", one: Log, other: Log) -> None:
    ids = {manager.topic_id(one), manager.topic_id(other)}
    if None in ids or len(ids) > 1:
        raise LogDirRefused(
            f"{one.topic_partition} is there twice, in {one.directory} and in {other.directory}, and nothing proves "
            "that they are copies of each other. Move one of them out of the log dirs."
        )


async def _drop(manager: "LogManager", topic_partition: TopicPartition, log: Log) -> None:
    log_dir = manager.dirs.of_log(log)
    manager.unregister(topic_partition, log)
    try:
        await manager.removals.rename_out(log_dir, log.directory, topic_partition, names.DELETE_DIR, 0)
    except errors.KafkaStorageError:
        return  # the dir is offline


def _pause_cleaning_of_moving(manager: "LogManager") -> None:
    for topic_partition in manager.futures:
        current = manager.current.get(topic_partition)
        if current is not None:
            manager.cleaner.pause(current)


# Run.


def _finish_deletions(manager: "LogManager") -> None:
    """At once: nobody has held their files open since before the start."""
    for log_dir in manager.dirs.online:
        if log_dir.condemned:
            manager.removals.remove_later(log_dir, list(log_dir.condemned), 0)
