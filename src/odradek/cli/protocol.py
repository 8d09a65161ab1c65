"""`odradek protocol`: look at the declarations, turn bytes into JSON and back, and check both against golden files."""

import argparse
import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterator
from typing import Any

from odradek.cli import field_table
from odradek.cli.failure import Failure
from odradek.cli.progress import Progress
from odradek.protocol import apis, errors, json_form, registry
from odradek.protocol.declare import Message
from odradek.protocol.messages.header import RequestHeader


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("protocol", help="messages: show, decode, encode, verify")
    parser.set_defaults(run=lambda _: print(parser.format_help()) or 0)
    actions = parser.add_subparsers(metavar="ACTION")

    show = actions.add_parser("show", help="the fields of a message per version; without a name: every API")
    show.add_argument("name", nargs="?", help="an API such as Fetch, or a message such as OffsetCommitValue")
    show.set_defaults(run=_show)

    decode = actions.add_parser("decode", help="bytes to JSON")
    _add_subject(decode)
    decode.add_argument("--binary", action="store_true", help="the input is raw bytes, not hex")
    decode.set_defaults(run=_decode)

    encode = actions.add_parser("encode", help="JSON to bytes")
    _add_subject(encode)
    encode.add_argument("--binary", action="store_true", help="write raw bytes, not hex")
    encode.set_defaults(run=_encode)

    verify = actions.add_parser("verify", help="check golden vectors in both directions with both codecs")
    verify.add_argument("files", nargs="+", metavar="FILE.jsonl[.gz]")
    verify.set_defaults(run=_verify)


def _add_subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="a message such as FetchRequest; `request` for a header and its request")
    parser.add_argument("version", nargs="?", type=int, help="its version (default: the newest)")
    parser.add_argument("--input", default="-", metavar="FILE", help="where to read (default: standard input)")


def _show(options: argparse.Namespace) -> int:
    if options.name is None:
        print(field_table.api_list())
        return 0
    for cls in _messages_called(options.name):
        print(field_table.table(cls))
    return 0


def _messages_called(name: str) -> list[type[Message]]:
    try:
        api = apis.by_name(name)
    except LookupError:
        return [_message(name)]
    return [registry.request(api.key), registry.response(api.key)]


def _message(name: str) -> type[Message]:
    try:
        return registry.by_name(name)
    except LookupError:
        raise Failure(f"no message is called {name!r}; `odradek protocol show` lists the APIs") from None


def _versioned(options: argparse.Namespace) -> tuple[type[Message], int]:
    cls = _message(options.name)
    version = cls.versions[-1] if options.version is None else options.version
    if version not in cls.versions:
        raise Failure(f"{cls.__name__} has the versions {cls.versions[0]}-{cls.versions[-1]}, not {version}")
    return cls, version


def _decode(options: argparse.Namespace) -> int:
    data = _read(options.input) if options.binary else _from_hex(_read(options.input))
    try:
        form = _request_form(data) if options.name == "request" else _message_form(options, data)
    except errors.PeerProtocolError as error:
        raise Failure(f"the input is not such a message: {error}") from None
    print(json.dumps(form, indent=2, ensure_ascii=False))
    return 0


def _message_form(options: argparse.Namespace, data: bytes) -> dict[str, Any]:
    cls, version = _versioned(options)
    return json_form.to_json(cls.decode(data, version), version)


def _request_form(data: bytes) -> dict[str, Any]:
    """A whole request frame without its length: the header says what follows."""
    try:
        api = apis.by_key(int.from_bytes(data[:2], "big"))
    except errors.KafkaError as error:
        raise Failure(str(error)) from None
    version = int.from_bytes(data[2:4], "big")
    header_version = api.request_header_version(version)
    header, at = RequestHeader.decode_prefix(data, header_version)
    cls = registry.request(api.key)
    if version not in cls.versions:
        raise Failure(f"{cls.__name__} has the versions {cls.versions[0]}-{cls.versions[-1]}, not {version}")
    body = cls.decode(data, version, at)
    return {"header": json_form.to_json(header, header_version), cls.__name__: json_form.to_json(body, version)}


def _encode(options: argparse.Namespace) -> int:
    cls, version = _versioned(options)
    try:
        form = json.loads(_read(options.input))
        data = json_form.from_json(cls, form, version).to_bytes(version)
    except errors.EncodeError as error:
        raise Failure(str(error)) from None
    except (ValueError, RecursionError) as error:  # of no message: numbers and nesting without end count as well
        raise Failure(f"the input is not JSON: {error}") from None
    if options.binary:
        sys.stdout.buffer.write(data)
    else:
        print(data.hex())
    return 0


def _read(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None


def _from_hex(text: bytes) -> bytes:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        raise Failure("the input is not hex; give raw bytes with --binary") from None


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
        _report(path, verifier)
        failed = failed or bool(verifier.tally.problems)
    return 1 if failed else 0


def _report(path: str, verifier: Any) -> None:
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


def _vector(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        vector = json.loads(line)
        bytes.fromhex(vector["hex"])
        known = isinstance(vector["name"], str) and isinstance(vector["version"], int) and "json" in vector
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise Failure(f"{path}, line {number}: not a golden vector (an object with name, version, hex and json)")
    return dict(vector)
