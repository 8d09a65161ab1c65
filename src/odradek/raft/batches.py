"""Batches of the metadata log: records in their frames, and the control records of the quorum."""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.control_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    Voter,
    VotersRecord,
)
from odradek.raft.core.voters import VoterSet
from odradek.records import control, layout
from odradek.records.batch import RecordBatch
from odradek.records.metadata_log import MANY_RECORDS, Control
from odradek.records.varint import Buffer

LEADER_CHANGE_VERSION = 0  # what 4.3 writes, too, with kraft.version 1

_NO_OP = bytes.fromhex("14 00 00 00 01 08 01140000 00")  # a record without key and headers, its value a frame


class ControlFacts(NamedTuple):
    """What the control records of a batch or a snapshot say about the quorum itself."""

    kraft_version: int | None = None
    voters: VoterSet | None = None


def leader_change(leader_id: int, voters: VoterSet, granting: Iterable[int]) -> Control:
    message = LeaderChangeMessage(
        version=LEADER_CHANGE_VERSION,
        leader_id=leader_id,
        voters=[Voter(voter_id=voter_id) for voter_id in voters.ids],
        granting_voters=[Voter(voter_id=voter_id) for voter_id in granting],
    )
    return control.LEADER_CHANGE, message.to_bytes(LEADER_CHANGE_VERSION)


def quorum_records(kraft_version: int, voters: VoterSet) -> list[Control]:
    """None at all with kraft.version 0: a 3.3 does not know them."""
    if kraft_version == 0:
        return []
    version = KRaftVersionRecord(version=0, k_raft_version=kraft_version)
    return [(control.KRAFT_VERSION, version.to_bytes(0)), (control.KRAFT_VOTERS, voters.to_record().to_bytes(0))]


def facts_of(controls: Iterable[Control]) -> ControlFacts:
    """InvalidRecord for a value that is no message."""
    version, voters = None, None
    try:
        for kind, value in controls:
            if kind == control.KRAFT_VERSION:
                version = KRaftVersionRecord.decode(value, 0).k_raft_version
            elif kind == control.KRAFT_VOTERS:
                voters = VoterSet.from_record(VotersRecord.decode(value, 0))
    except PeerProtocolError as error:
        raise errors.InvalidRecord(f"A control record of the quorum is damaged: {error}") from error
    return ControlFacts(version, voters)


def is_no_op(batch: RecordBatch) -> bool:
    """Nothing but a NoOpRecord: two of them a second are nearly all that an idle cluster has to read when it starts."""
    return batch.count == 1 and not batch.attributes and batch.buffer[layout.HEADER_SIZE :] == _NO_OP


def values_of(batch: RecordBatch, from_offset: int = 0) -> list[Buffer]:
    """The values of the records from an offset on, to be decoded; none for a control batch."""
    if batch.is_control:
        return []
    if batch.count >= MANY_RECORDS:
        from odradek.records.columns import scan

        values = scan(batch.buffer, from_offset=from_offset, check_crc=False).values().to_list()
    else:
        values = [record.value for record in batch.records() if record.offset >= from_offset]
    if None in values:
        raise errors.InvalidRecord("A record of the metadata log has no value.")
    return values  # type: ignore[return-value]


def messages_of(batch: RecordBatch, from_offset: int = 0) -> list[Message]:
    return [METADATA.decode(value)[0] for value in values_of(batch, from_offset)]
