"""Keys and values of internal topics in Kafka's JSON form, as kafka-dump-log shows them."""

import re
from collections.abc import Callable

from odradek.inspection.dump_files import INTERNAL_TOPICS
from odradek.protocol import errors, frames
from odradek.protocol.declare import Message
from odradek.protocol.json_form import to_json
from odradek.protocol.json_value import JsonObject
from odradek.protocol.messages import control_records
from odradek.protocol.messages.consumer_offsets import GroupMetadataValue
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.records import control
from odradek.records.record import Record

Form = JsonObject

_CONTROL_MESSAGES: dict[int, type[Message]] = {
    control.LEADER_CHANGE: control_records.LeaderChangeMessage,
    control.SNAPSHOT_HEADER: control_records.SnapshotHeaderRecord,
    control.SNAPSHOT_FOOTER: control_records.SnapshotFooterRecord,
    control.KRAFT_VERSION: control_records.KRaftVersionRecord,
    control.KRAFT_VOTERS: control_records.VotersRecord,
}


class Decoded:
    """A record's key and value; `problem` says why they could not be read."""

    __slots__ = ("key", "problem", "value")

    def __init__(self, key: Form | None, value: Form | None, problem: str | None = None) -> None:
        self.key = key
        self.value = value
        self.problem = problem

    def form(self) -> Form:
        if self.problem is not None:
            return {"problem": self.problem}
        return {"key": self.key, "value": self.value}


class Decoder:
    """The records of one internal topic."""

    __slots__ = ("_decode", "topic")

    def __init__(self, kind: str) -> None:
        self.topic = INTERNAL_TOPICS[kind]
        self._decode = _DECODERS[kind]

    def decode(self, record: Record) -> Decoded:
        try:
            return self._decode(record)
        except errors.PeerProtocolError as error:
            return Decoded(None, None, str(error))


def _coordinator(records: frames.CoordinatorRecords) -> Callable[[Record], Decoded]:
    def decode(record: Record) -> Decoded:
        if record.key is None:
            return Decoded(None, None, "the record has no key")
        key = records.decode_key(record.key)
        if key is None:
            record_type = int.from_bytes(record.key[:2], "big", signed=True)
            return Decoded(None, None, f"record type {record_type} is not known here")
        value = None if record.value is None else records.decode_value(key, record.value)
        return Decoded({"type": str(key.api_key), "data": to_json(key, 0)}, _versioned(value, record.value))

    return decode


def _versioned(value: Message | None, data: bytes | None) -> Form | None:
    if value is None or data is None:
        return None  # a tombstone
    version = int.from_bytes(data[:2], "big", signed=True)
    form = to_json(value, version)
    if isinstance(value, GroupMetadataValue) and value.protocol_type == "consumer":
        for member, member_form in zip(value.members, form["members"], strict=True):
            member_form["subscription"] = _embedded(ConsumerProtocolSubscription, member.subscription)
            member_form["assignment"] = _embedded(ConsumerProtocolAssignment, member.assignment)
    return {"version": str(version), "data": form}


def _embedded(cls: type[Message], data: bytes) -> Form | None:
    """What a consumer handed to its group: a version and a message. A version past ours reads as our newest."""
    if not data:
        return None  # a member that has not been assigned anything yet
    version = max(0, min(int.from_bytes(data[:2], "big", signed=True), cls.versions[-1]))
    return to_json(cls.decode(data, version, 2), version)


def _metadata(record: Record) -> Decoded:
    if record.value is None:
        return Decoded(None, None, "the record has no value")
    message, version = frames.METADATA.decode(record.value)
    return Decoded(None, {"type": _type_name(message), "version": version, "data": to_json(message, version)})


def _type_name(message: Message) -> str:
    """`FeatureLevelRecord` is FEATURE_LEVEL_RECORD."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(message).__name__).upper()


_DECODERS: dict[str, Callable[[Record], Decoded]] = {
    "offsets": _coordinator(frames.OFFSETS),
    "transactions": _coordinator(frames.TRANSACTIONS),
    "share": _coordinator(frames.SHARE_STATE),
    "metadata": _metadata,
}


def control_message(record: Record) -> Form | None:
    """What the quorum's control records say; None for a transaction marker and for types that are not known."""
    cls = _CONTROL_MESSAGES.get(control.control_type(record.key))
    if cls is None or record.value is None:
        return None
    version = min(int.from_bytes(record.value[:2], "big"), cls.versions[-1])
    try:
        return to_json(cls.decode(record.value, version), version)
    except errors.PeerProtocolError:
        return None
