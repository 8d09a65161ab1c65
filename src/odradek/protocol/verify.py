"""Holds both executors against golden vectors: bytes to message to JSON, and back, each way.

A vector is one object: name, version, hex (the body), json (Kafka's form of it), optionally `framed_hex` (the body with
its frame) and the variant `unknown_tags`, whose extra tags the JSON does not show.
"""

from contextlib import suppress
from typing import cast

from odradek import native
from odradek.protocol import codec, exceptions, frames, json_form, registry
from odradek.protocol.codec import Executor
from odradek.protocol.declare import Message, Struct
from odradek.protocol.errors import EncodeError, KafkaError, PeerProtocolError
from odradek.protocol.json_value import JsonObject
from odradek.protocol.parts import Part

Problem = str


def executors() -> dict[str, Executor]:
    """Both executors, or the pure one alone where the extension could not be built."""
    found: dict[str, Executor] = {"pure": cast(Executor, codec)}
    with suppress(ImportError):
        found["compiled"] = cast(Executor, native.load_compiled("odradek.protocol._codec"))
    return found


class Tally:
    """What `verify` counts."""

    __slots__ = ("checks", "excepted", "problems", "vectors")

    def __init__(self) -> None:
        self.vectors = 0
        self.checks = 0
        self.excepted = 0
        self.problems: list[Problem] = []


class Verifier:
    """Checks vector after vector with every executor and keeps the tally."""

    __slots__ = ("executors", "tally")

    def __init__(self) -> None:
        self.executors = executors()
        self.tally = Tally()

    def check(self, vector: JsonObject, release: str | None = None) -> None:
        """One vector of a golden file; `release` is the Kafka that wrote it, where the file's name tells."""
        self.tally.vectors += 1
        if _is_excepted(vector, release):
            self.tally.excepted += 1
            return
        try:
            name: str = vector["name"]
            cls = registry.by_name(exceptions.RENAMED_MESSAGES.get(name, name))
        except LookupError as error:
            self.tally.problems.append(str(error))
            return
        for label, executor in self.executors.items():
            for problem in self._compare(cls, vector, executor):
                self.tally.problems.append(
                    f"{vector['name']} v{vector['version']} {vector.get('variant')} ({label}): {problem}"
                )

    def _compare(self, cls: type[Message], vector: JsonObject, executor: Executor) -> list[Problem]:
        version = 0 if _is_coordinator_key(vector) else vector["version"]
        data = bytes.fromhex(vector["hex"])
        form = rename(cls.__name__, vector["json"])
        try:
            return self._both_ways(cls, version, data, form, vector, executor)
        except (KafkaError, PeerProtocolError, EncodeError) as error:
            return [f"{type(error).__name__}: {error}"]

    def _both_ways(
        self, cls: type[Message], version: int, data: bytes, form: object, vector: JsonObject, executor: Executor
    ) -> list[Problem]:
        plan = cls.plan(version)
        decoded, end = executor.decode(plan, data, 0)
        built = json_form.from_json(cls, form, version)
        outcomes = [
            (end == len(data), f"decode stopped at byte {end} of {len(data)}"),
            (json_form.to_json(decoded, version) == form, "the decoded message has another JSON form"),
            (_joined(executor.encode(plan, decoded)) == data, "the decoded message encodes to other bytes"),
        ]
        if "framed_hex" in vector:
            outcomes.append((_framed(decoded, version, vector) == vector["framed_hex"], "the frame differs"))
        if vector.get("variant") == "unknown_tags":
            outcomes.append((without_unknown_tags(decoded) == built, "the message from JSON differs"))
        else:
            outcomes.append((decoded == built, "the message from JSON differs"))
            outcomes.append((_joined(executor.encode(plan, built)) == data, "the message from JSON encodes otherwise"))
        self.tally.checks += len(outcomes)
        return [problem for holds, problem in outcomes if not holds]


def _joined(parts: list[Part]) -> bytes:
    return b"".join(cast("list[bytes]", parts))


def _is_excepted(vector: JsonObject, release: str | None) -> bool:
    releases, _ = exceptions.LAYOUTS.get((vector["name"], vector["version"]), ((), ""))
    return bool(releases) and (release is None or release in releases)


def _is_coordinator_key(vector: JsonObject) -> bool:
    """3.x gives a key its record type as version; the body is the same, and 4.x calls it version 0."""
    return str(vector.get("type", "")).startswith("coordinator") and str(vector["name"]).endswith("Key")


def _framed(message: Message, version: int, vector: JsonObject) -> str:
    body = message.to_bytes(version).hex()
    kind = vector.get("type")
    if message.api_key is None:  # never framed in a log; the golden files frame it with Java's "no type", -1
        return f"ffffffff0f{version:02x}{body}"
    if kind == "metadata":
        return frames.METADATA.encode(message, version).hex()
    if kind == "remote-log-metadata":
        return frames.REMOTE_LOG.encode(message, version).hex()
    if not _is_coordinator_key(vector):
        return f"{version:04x}{body}"
    # 3.x frames a key with its version, which is the record type except for the offset keys of before 0.9.
    record_type = vector["version"] if vector.get("api_key") is None else message.api_key
    return f"{record_type:04x}{body}"


def rename(message: str, form: object) -> object:
    """An older release's JSON under the field names of 4.3."""
    renames = exceptions.RENAMED_FIELDS.get(message)
    return _renamed(form, renames, "") if renames else form


def _renamed(form: object, renames: dict[str, str], path: str) -> object:
    if isinstance(form, list):
        return [_renamed(element, renames, path) for element in form]
    if not isinstance(form, dict):
        return form
    if not path and any(new in form for old, new in renames.items() if "." not in old):
        return form  # already in the words of 4.3
    return {renames.get(path + key, key): _renamed(value, renames, f"{path}{key}.") for key, value in form.items()}


def without_unknown_tags(message: Struct) -> Struct:
    """The message itself, now without unknown tags at any depth."""
    message.unknown_tags = ()
    for field in message.fields:
        value = getattr(message, field.name)
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, Struct):
                without_unknown_tags(inner)
    return message
