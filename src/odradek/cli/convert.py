"""`odradek protocol decode` and `encode`: bytes to JSON and back.

The subject is one message and its version; or `request`, a header and what it announces; or `response`, a header and
the answer to an API in a version, which the bytes themselves do not tell.
"""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from odradek.cli.failure import Failure
from odradek.cli.names import api_called, message_called
from odradek.cli.output import complain
from odradek.cli.source import from_hex, parse_json, read_input
from odradek.protocol import errors, registry, whole
from odradek.protocol.apis import Api, by_key
from odradek.protocol.declare import Message
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.json_value import JsonObject, shown
from odradek.protocol.messages.header import RequestHeader, ResponseHeader
from odradek.protocol.parts import Part
from odradek.protocol.words import counted

M = TypeVar("M", bound=Message)
Reading = tuple[JsonObject, int]  # the JSON form, and the position behind what was read

LENGTH_BYTES = 4
HEADER_START = ("requestApiKey", "requestApiVersion", "correlationId")


def add_decode(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser("decode", help="bytes to JSON", usage=_usage("decode"))
    _add_subject(parser)
    parser.add_argument("--binary", action="store_true", help="the input is raw bytes, not hex")
    parser.set_defaults(run=_decode)


def add_encode(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser("encode", help="JSON to bytes", usage=_usage("encode"))
    _add_subject(parser)
    parser.add_argument("--binary", action="store_true", help="write raw bytes, not hex")
    parser.set_defaults(run=_encode)


def _usage(action: str) -> str:
    subjects = ("MESSAGE [VERSION]", "request", "response API [VERSION]")
    return "\n       ".join(f"odradek protocol {action} [--binary] [--input FILE] {subject}" for subject in subjects)


def _add_subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "subject",
        nargs="+",
        metavar="SUBJECT",
        help="a message such as FetchRequest and its version (default: the newest); `request`: a header and its "
        "request; `response` and an API such as Fetch: a header and the response of that version. Before a header "
        "decode takes the four bytes of the length as well; encode writes none",
    )
    parser.add_argument("--input", default="-", metavar="FILE", help="where to read (default: standard input)")


def _decode(options: argparse.Namespace) -> int:
    data = read_input(options.input) if options.binary else from_hex(read_input(options.input))
    try:
        form, end = _reading(options.subject, data)
    except errors.PeerProtocolError as error:
        raise Failure(f"the input is not such a message: {error}") from None
    except errors.KafkaError as error:
        raise Failure(str(error)) from None
    print(json.dumps(form, indent=2, ensure_ascii=sys.stdout.encoding not in (None, "utf-8")))
    if end < len(data):
        were = "was" if len(data) - end == 1 else "were"
        complain(f"{counted(len(data) - end, 'byte')} behind the message {were} ignored, as a broker does")
    return 0


def _reading(subject: list[str], data: bytes) -> Reading:
    name, *rest = subject
    if name == "request":
        _refuse_version(rest)
        return _read_frame(data, lambda at: _request_reading(data, at))
    if name == "response":
        api, version = _api_and_version(rest)
        return _read_frame(data, lambda at: _response_reading(data, at, api, version))
    cls, version = _message_and_version(name, rest)
    message, end = cls.decode_prefix(data, version)
    return _form(message, version), end


def _read_frame(data: bytes, read: Callable[[int], Reading]) -> Reading:
    """Reads a frame with or without the length before it, which is there in a capture.

    A correlation id may equal the length by chance: the reading that uses every byte is the right one.
    """
    if int.from_bytes(data[:LENGTH_BYTES], "big") != len(data) - LENGTH_BYTES:
        return read(0)
    readings: list[Reading] = []
    for at in (LENGTH_BYTES, 0):
        with suppress(errors.PeerProtocolError, errors.KafkaError):
            readings.append(read(at))
    for reading in readings:
        if reading[1] == len(data):
            return reading
    return readings[0] if readings else read(LENGTH_BYTES)


def _request_reading(data: bytes, at: int) -> Reading:
    header, request, end = whole.decode_request_prefix(data, at)
    version = header.request_api_version
    header_version = by_key(header.request_api_key).request_header_version(version)
    return {"header": _form(header, header_version), type(request).__name__: _form(request, version)}, end


def _response_reading(data: bytes, at: int, api: Api, version: int) -> Reading:
    header, response, end = whole.decode_response_prefix(data, api.key, version, at)
    header_form = _form(header, api.response_header_version(version))
    return {"header": header_form, type(response).__name__: _form(response, version)}, end


def _form(message: Message, version: int) -> JsonObject:
    return to_json(message, version, unknown_tags=True)


def _encode(options: argparse.Namespace) -> int:
    try:
        data = _encoding(options.subject, parse_json(read_input(options.input)))
    except (errors.EncodeError, errors.KafkaError) as error:
        raise Failure(str(error)) from None
    if options.binary:
        sys.stdout.buffer.write(data)
    else:
        print(data.hex())
    return 0


# A form is what `json` has made of the input. Any: of whichever of JSON's types, until somebody has looked.


def _encoding(subject: list[str], form: Any) -> bytes:
    name, *rest = subject
    if name == "request":
        _refuse_version(rest)
        return _request_encoding(form)
    if name == "response":
        return _response_encoding(form, *_api_and_version(rest))
    cls, version = _message_and_version(name, rest)
    return _message(cls, form, version).to_bytes(version)


def _request_encoding(form: Any) -> bytes:
    """The header's start comes first: which API and version it is decides the version of the whole header."""
    header_form = _part(form, "header")
    start = {name: header_form[name] for name in HEADER_START if name in header_form}
    named = from_json(RequestHeader, start, 0, where="header")
    api, version = by_key(named.request_api_key), named.request_api_version
    cls = registry.request(api.key)
    cls.plan(version)  # or UnsupportedVersion, before anything is said about fields
    header = _message(RequestHeader, header_form, api.request_header_version(version), "header")
    return b"".join(_in_memory(whole.encode_request(header, _body(form, cls, version))))


def _response_encoding(form: Any, api: Api, version: int) -> bytes:
    header = _message(ResponseHeader, _part(form, "header"), api.response_header_version(version), "header")
    response = _body(form, registry.response(api.key), version)
    return b"".join(_in_memory(whole.encode_response(header, response, version)))


def _in_memory(parts: list[Part]) -> list[bytes]:
    return cast("list[bytes]", parts)  # records that come from JSON are in no file


def _body(form: JsonObject, cls: type[M], version: int) -> M:
    body = _part(form, cls.__name__)
    strange = [name for name in form if name not in ("header", cls.__name__)]
    if strange:
        raise Failure(f'the input has {shown(strange[0])} beside "header" and {shown(cls.__name__)}')
    return _message(cls, body, version)


def _message(cls: type[M], form: object, version: int, where: str | None = None) -> M:
    return from_json(cls, form, version, unknown_tags=True, where=where)


def _part(form: object, name: str) -> JsonObject:
    part = form.get(name) if isinstance(form, dict) else None
    if not isinstance(part, dict):
        raise Failure(f"the input is not an object with an object {shown(name)} in it, as decode prints it")
    return part


def _refuse_version(rest: list[str]) -> None:
    if rest:
        raise Failure(f"`request` takes no {rest[0]!r}: the header itself names API and version")


def _api_and_version(rest: list[str]) -> tuple[Api, int]:
    if not rest:
        raise Failure("which API's response? `response Fetch 12`: the bytes do not tell")
    api = api_called(rest[0].removesuffix("Response"))
    if api is None:
        raise Failure(f"no API is called {rest[0]!r}; `odradek protocol show` lists them")
    return api, _version(registry.response(api.key), rest[1:])


def _message_and_version(name: str, rest: list[str]) -> tuple[type[Message], int]:
    cls = message_called(name)
    return cls, _version(cls, rest)


def _version(cls: type[Message], rest: list[str]) -> int:
    if not rest:
        return cls.versions[-1]
    if len(rest) > 1:
        raise Failure(f"{rest[1]!r} is too much: a subject is one message and its version")
    try:
        version = int(rest[0])
    except ValueError:
        raise Failure(f"{rest[0]!r} is not a version: expected a number") from None
    cls.plan(version)  # or UnsupportedVersion
    return version
