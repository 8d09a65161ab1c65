"""`odradek protocol`: look at the declarations, turn bytes into JSON and back, and check both against golden files."""

import argparse
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from odradek.cli import convert, field_table, names
from odradek.cli.failure import Failure
from odradek.cli.progress import Progress
from odradek.protocol.json_value import JsonObject

if TYPE_CHECKING:
    from odradek.protocol.verify import Verifier


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("protocol", help="messages: show, decode, encode, verify")
    parser.set_defaults(run=lambda _: print(parser.format_help()) or 0)
    actions = parser.add_subparsers(metavar="ACTION")

    show = actions.add_parser("show", help="the fields of a message per version; without a name: every API")
    show.add_argument("name", nargs="?", help="an API such as Fetch or its key, or a message such as OffsetCommitValue")
    show.set_defaults(run=_show)

    convert.add_decode(actions)
    convert.add_encode(actions)

    verify = actions.add_parser("verify", help="check golden vectors in both directions with both codecs")
    verify.add_argument("files", nargs="+", metavar="FILE.jsonl[.gz]")
    verify.set_defaults(run=_verify)


def _show(options: argparse.Namespace) -> int:
    if options.name is None:
        print(field_table.api_list())
        return 0
    for cls in names.messages_called(options.name):
        print(field_table.table(cls))
    return 0


def _verify(options: argparse.Namespace) -> int:
    from odradek.protocol.verify import Verifier

    failed = False
    for path in options.files:
        verifier = Verifier()
        progress = Progress(path)
        release = _release_of(path)
        for number, line in _lines(path):
            verifier.check(_vector(path, number, line), release)
            progress.advance()
        progress.done()
        if not verifier.tally.vectors:
            raise Failure(f"{path}: there is no vector in it")
        _report(path, verifier)
        failed = failed or bool(verifier.tally.problems)
    return 1 if failed else 0


def _report(path: str, verifier: "Verifier") -> None:
    tally = verifier.tally
    codecs = " and ".join(verifier.executors)
    print(
        f"{path}: {tally.vectors} vectors, {tally.checks} checks with the {codecs} codec, "
        f"{tally.excepted} excepted, {len(tally.problems)} different"
    )
    for problem in tally.problems[:20]:
        print(f"  {problem}")
    if len(tally.problems) > 20:
        print(f"  and {len(tally.problems) - 20} more")


def _release_of(path: str) -> str | None:
    """`messages-3.9.1.jsonl.gz` was written by a 3.9."""
    found = re.search(r"(\d+\.\d+)\.\d+(?:[^/\\]*)$", path)
    return found.group(1) if found else None


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            yield from enumerate(file, 1)
    except (OSError, EOFError, zlib.error) as error:
        raise Failure(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _vector(path: str, number: int, line: bytes) -> JsonObject:
    try:
        vector = json.loads(line)
        bytes.fromhex(vector["hex"])
        known = isinstance(vector["name"], str) and type(vector["version"]) is int and "json" in vector
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise Failure(f"{path}, line {number}: not a golden vector (an object with name, version, hex and json)")
    return dict(vector)
