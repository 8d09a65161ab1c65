"""`odradek log`: look into the files of a log dir, check them, and mend what is damaged.

What reads the files is imported when a command runs: every other command would pay for it.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from odradek.cli import log_repair
from odradek.cli.failure import Failure
from odradek.cli.progress import Progress
from odradek.inspection import dump_files
from odradek.inspection.dump_files import DumpFile
from odradek.reactor.ports import Disk

if TYPE_CHECKING:
    from odradek.inspection.dump_decode import Decoder

OFFSET_DIGITS = 20  # a segment is named by its first offset


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("log", help="the files of a log dir: dump, check, repair")
    parser.set_defaults(run=lambda _: print(parser.format_help()) or 0)
    actions = parser.add_subparsers(metavar="ACTION")

    dump = actions.add_parser("dump", help="what is in segments, indexes, snapshots and checkpoints")
    dump.add_argument("paths", nargs="+", metavar="PATH", help="files; a directory stands for every file in it")
    dump.add_argument("--json", action="store_true", help="one object per segment file, with its records")
    dump.add_argument(
        "--all", action="store_true", help="with --json and a directory: an object for every other file too"
    )
    dump.add_argument("--records", action="store_true", help="show the records of each batch")
    dump.add_argument(
        "--decode", choices=dump_files.INTERNAL_TOPICS, help="keys and values of an internal topic; implies --records"
    )
    dump.set_defaults(run=_dump)

    check = actions.add_parser(
        "check",
        help="verify every rule of a log dir whose broker is stopped",
        epilog="A finding names its rule: the letters are the invariants of docs/invariants.md. "
        "exit status: 0 no error; 1 there are errors; 2 there is no such log dir",
    )
    check.add_argument("directory", metavar="DIR", help="a log dir: what log.dirs of a broker names")
    check.add_argument("--json", action="store_true", help="one object per finding, and a last one for the whole")
    check.add_argument(
        "--producer-expiration-ms",
        type=int,
        default=86_400_000,
        metavar="MS",
        help="producer.id.expiration.ms of the broker (default: %(default)s)",
    )
    check.set_defaults(run=_check)

    log_repair.add_to(actions)


def _disk() -> Disk:
    from odradek.reactor.adapters.disk import SystemDisk

    return SystemDisk()


def _dump(options: argparse.Namespace) -> int:
    from odradek.inspection.dump_decode import Decoder

    disk = _disk()
    decoder = None if options.decode is None else Decoder(options.decode)
    damaged = 0
    progress = Progress("pieces dumped")
    for file, is_listed in _files(disk, options.paths, segments_only=options.json and not options.all):
        skip = decoder is not None and is_listed and dump_files.is_of_another_topic(file.path, decoder.topic)
        try:
            damaged += _dump_file(disk, file, options, None if skip else decoder, progress)
        except BrokenPipeError:
            raise
        except OSError as error:
            damaged += 1
            print(f"odradek: {file.name}: {error.strerror}", file=sys.stderr)
    progress.done()
    return 1 if damaged else 0


def _files(disk: Disk, paths: list[str], *, segments_only: bool) -> Iterator[tuple[DumpFile, bool]]:
    """Each file, and whether it was found in a directory rather than named."""
    for path in paths:
        _ensure_there(disk, path)
        if disk.is_dir(path):
            yield from ((file, True) for file in _files_to_dump(disk, path, segments_only=segments_only))
        elif (named := dump_files.named_file(disk, path)) is not None:
            yield named, False
        else:
            raise Failure(f"{path}: its name is not that of a file of a log; expected *.log, *.index, quorum-state ...")


def _files_to_dump(disk: Disk, directory: str, *, segments_only: bool) -> Iterator[DumpFile]:
    """Failure if there is none."""
    is_empty = True
    for file in _files_under(disk, directory):
        if file.name.endswith((".log", ".checkpoint")) or not segments_only:
            is_empty = False
            yield file
    if is_empty:
        wanted = "segment (--all also takes the other files)" if segments_only else "file of a log"
        raise Failure(f"{directory}: there is nothing to dump: it has no {wanted}")


def _ensure_there(disk: Disk, path: str) -> None:
    """Failure for what is not there, or in a directory that may not be looked into."""
    log_repair.ensure_named(path, "PATH")
    try:
        disk.size(path)
    except (FileNotFoundError, NotADirectoryError):
        raise Failure(f"{path}: no such file or directory") from None
    except OSError as error:
        raise _unreadable(error, path) from None


def _files_under(disk: Disk, directory: str) -> Iterator[DumpFile]:
    try:
        yield from dump_files.files_under(disk, directory.rstrip("/") or "/")
    except OSError as error:
        raise _unreadable(error, directory) from None


def _is_segment(name: str) -> bool:
    stem = name.removesuffix(".log")
    return len(stem) == OFFSET_DIGITS and stem != name and stem.isdecimal()


def _unreadable(error: OSError, path: str) -> Failure:
    return Failure(f"{error.filename or path}: {error.strerror}")


def _dump_file(
    disk: Disk, file: DumpFile, options: argparse.Namespace, decoder: "Decoder | None", progress: Progress
) -> bool:
    if options.json:
        from odradek.inspection.dump import json_pieces

        pieces, end = json_pieces(disk, file, decoder), ""
    else:
        from odradek.inspection.dump_text import text_lines

        with_records = options.records or decoder is not None
        pieces, end = text_lines(disk, file, with_records=with_records, decoder=decoder), "\n"
    is_damaged = False
    for piece, is_bad in pieces:
        sys.stdout.write(piece + end)
        is_damaged |= is_bad
        progress.advance()
    if options.json:
        sys.stdout.write("\n")
    return is_damaged


def _check(options: argparse.Namespace) -> int:
    from odradek.inspection.findings import Finding
    from odradek.inspection.verify_dir import verify_dir
    from odradek.log.manager.log_dir import is_log_dir

    disk = _disk()
    log_repair.ensure_directory(disk, options.directory, "give the log dir that it lies in")
    try:
        is_partition = any(_is_segment(name) for name in disk.list(options.directory))
        is_known = is_log_dir(disk, options.directory)
    except OSError as error:
        raise _unreadable(error, options.directory) from None
    if is_partition:
        raise Failure(f"{options.directory} is the directory of one partition: give the log dir that it lies in")
    if not is_known:
        raise log_repair.no_log_dir(options.directory)
    progress = Progress("batches checked")

    def show(finding: Finding) -> None:
        print(json.dumps(finding.form()) if options.json else str(finding))

    job = verify_dir(
        disk, options.directory.rstrip("/") or "/", show, producer_expiration_ms=options.producer_expiration_ms
    )
    try:
        while True:
            next(job)
            progress.advance()
    except StopIteration as end:
        summary = end.value
    except OSError as error:
        raise _unreadable(error, options.directory) from None
    progress.done()
    print(json.dumps(summary.form()) if options.json else str(summary))
    return 1 if summary.errors else 0
