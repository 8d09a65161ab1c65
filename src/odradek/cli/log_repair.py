"""`odradek log repair`: says what is damaged in a log dir and which offsets are lost, and mends it, keeping copies."""

import argparse
import json
from errno import EROFS
from typing import TYPE_CHECKING, TypeVar

from odradek.cli.failure import Failure, Refusal
from odradek.cli.progress import Progress

if TYPE_CHECKING:
    from odradek.inspection.diagnosis import Diagnosis
    from odradek.inspection.log_dir_state import LogDirState
    from odradek.reactor.ports import Disk, DiskLock, JobOf

R = TypeVar("R")


def add_to(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    repair = actions.add_parser(
        "repair",
        help="mend damaged partitions of a log dir whose broker is stopped",
        description="Finds the damaged batches of a log dir, says which offsets are lost, and writes the logs anew "
        "without them. Every file that is changed or removed is kept beside the new one as NAME.1.damaged.",
        epilog="exit status: 0 nothing is damaged, or all of it was mended; 1 there is damage that was not mended "
        "(--dry-run, the metadata log), or the dir cannot be read or is in use; 2 there is no such directory or "
        "partition. Copies may be deleted when nobody needs them any more.",
    )
    repair.add_argument("directory", metavar="DIR", help="a log dir, or the directory of one partition in it")
    repair.add_argument("--partition", metavar="TOPIC-N", help="look at this one only")
    repair.add_argument("--dry-run", action="store_true", help="say what would be lost, and change nothing")
    repair.add_argument("--json", action="store_true", help="one object per damaged partition")
    repair.set_defaults(run=_repair)


def _repair(options: argparse.Namespace) -> int:
    from odradek.inspection.file_forms import MalformedFile
    from odradek.inspection.log_dir_state import METADATA_LOG, LogDirState
    from odradek.log.manager.log_dir import LogDirRefused, is_log_dir
    from odradek.reactor.adapters.disk import SystemDisk

    disk: Disk = SystemDisk()
    path, wanted = _place(disk, options)
    try:
        if not is_log_dir(disk, path):
            raise no_log_dir(path)
        lock = _locked(disk, path, is_dry_run=options.dry_run)
    except LogDirRefused:
        raise Refusal(f"{path} is in use: stop the broker first, so that nobody writes to what is mended") from None
    except OSError as error:
        raise _unreadable(error, path) from None
    try:
        state = LogDirState(disk, path)
        damaged = _each(disk, state, wanted, options)
        is_metadata_damaged = wanted in (None, METADATA_LOG) and _metadata_log(disk, state, options)
    except MalformedFile as error:
        raise Refusal(f"{path}: a checkpoint cannot be read, line {error.position}: {error.reason}") from None
    except OSError as error:
        raise _unreadable(error, path) from None
    finally:
        if lock is not None:
            lock.release()
    if not damaged and not is_metadata_damaged and not options.json:
        print(f"{path}: nothing is damaged in its partitions; 'odradek log check' looks at all files")
    return 1 if is_metadata_damaged or (damaged and options.dry_run) else 0


def _locked(disk: "Disk", path: str, *, is_dry_run: bool) -> "DiskLock | None":
    """The lock of the dir. A dry run writes nothing: it takes one that is there, if it may be written at all.

    Where there is none, or where nothing can be written, no broker has it.
    """
    from odradek.log import names
    from odradek.log.manager.log_dir import lock_dir

    if is_dry_run and not disk.exists(f"{path}/{names.LOCK}"):
        return None
    try:
        return lock_dir(disk, path)
    except OSError as error:
        if is_dry_run and error.errno == EROFS:
            return None
        raise


def _place(disk: "Disk", options: argparse.Namespace) -> tuple[str, str | None]:
    """The log dir, and the one partition that is meant, if it is one."""
    from odradek.inspection.file_names import LOG

    ensure_directory(disk, options.directory, "give the directory of its partition, or the log dir")
    path = options.directory.rstrip("/") or "/"
    parent, _, name = path.rpartition("/")
    try:
        is_partition = any(entry.endswith(f".{LOG}") for entry in disk.list(path))
    except OSError as error:
        raise _unreadable(error, path) from None
    if is_partition and options.partition in (None, name):
        return parent or ".", name
    return path, options.partition


def _each(disk: "Disk", state: "LogDirState", wanted: str | None, options: argparse.Namespace) -> int:
    from odradek.inspection.diagnosis import diagnose
    from odradek.inspection.log_dir_state import METADATA_LOG, partitions_in
    from odradek.inspection.repair import mend

    found = [each for each in partitions_in(disk, state) if wanted in (None, each[0])]
    is_known = bool(found) or (wanted == METADATA_LOG and disk.is_dir(f"{state.path}/{wanted}"))
    if wanted is not None and not is_known:
        raise Failure(f"{state.path}: there is no partition {wanted}")
    damaged = 0
    progress = Progress("batches checked")
    for name, topic_partition in found:
        diagnosis: Diagnosis = _finished(diagnose(disk, state, name, topic_partition), progress)
        if diagnosis.damages:
            damaged += 1
            copies = [] if options.dry_run else _finished(mend(disk, state, diagnosis), progress)
            progress.done()
            _show(diagnosis, copies, options)
    progress.done()
    return damaged


def _metadata_log(disk: "Disk", state: "LogDirState", options: argparse.Namespace) -> bool:
    """Whether the quorum's log is damaged. It is left as it is: without some of its records it is another cluster."""
    from odradek.inspection.diagnosis import diagnose_metadata_log

    progress = Progress("batches checked")
    found: Diagnosis | None = _finished(diagnose_metadata_log(disk, state), progress)
    progress.done()
    if found is None or not found.damages:
        return False
    if options.json:
        print(json.dumps({**found.form(), "is_mended": False, "copies": []}))
        return True
    print(f"{found.name}:")
    _show_damages(found)
    print("  not mended: it is the metadata log of the quorum. Bring its directory back from a copy.")
    return True


def _finished(job: "JobOf[R]", progress: Progress) -> R:
    while True:
        try:
            next(job)
        except StopIteration as end:
            returned: R = end.value
            return returned
        progress.advance()


def _show(found: "Diagnosis", copies: list[str], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps({**found.form(), "is_mended": not options.dry_run, "copies": copies}))
        return
    print(f"{found.name}:")
    _show_damages(found)
    for lost in found.lost:
        print(f"  lost      {lost}")
    if not found.lost:
        print("  lost      nothing")
    for copy in copies:
        print(f"  kept      {found.directory}/{copy}")
    if copies:
        print("            may be deleted when it is no longer needed")
    print(f"  {'would be mended' if options.dry_run else 'mended'}; the log ends at offset {found.end_offset}")
    if found.lost and (found.lost[-1].end is None or found.lost[-1].end > found.end_offset):
        print("            the next records get offsets from there on: reset groups that have committed beyond it")


def _show_damages(found: "Diagnosis") -> None:
    for damage in found.damages:
        print(f"  damaged   {damage}")


def _unreadable(error: OSError, path: str) -> Refusal:
    return Refusal(f"{error.filename or path}: {error.strerror}")


def ensure_named(path: str, argument: str) -> None:
    if not path.strip():
        raise Failure(f"{argument}: it names nothing, it is empty")


def ensure_directory(disk: "Disk", path: str, instead_of_a_file: str) -> None:
    """Failure for an empty name, for what is not there, and for a file."""
    ensure_named(path, "DIR")
    if disk.is_dir(path):
        return
    if disk.exists(path):
        raise Failure(f"{path} is a file: {instead_of_a_file}")
    raise Failure(f"{path}: no such directory")


def no_log_dir(path: str) -> Failure:
    """Says of a directory that it is not what `odradek log` works on."""
    return Failure(f"{path} is no log dir: it has no meta.properties, no checkpoint and no partition with a log in it")
