"""Control records: what brokers and controllers write between the data, never shown to an application.

A control batch holds control records only. The key is `version int16 | type int16`, more bytes may follow in later
versions; the value is a message of the protocol, but for the two transaction markers: `version int16 | coordinator
epoch int32`. A type that this table does not know must be skipped by a reader, not refused.
"""

from struct import Struct

from odradek.protocol import errors
from odradek.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from odradek.records.record import Record
from odradek.records.varint import Buffer
from odradek.records.writer import BatchFields, record_batch

ABORT = 0
COMMIT = 1
LEADER_CHANGE = 2
SNAPSHOT_HEADER = 3
SNAPSHOT_FOOTER = 4
KRAFT_VERSION = 5
KRAFT_VOTERS = 6
UNKNOWN = -1

NAMES = {
    ABORT: "ABORT",
    COMMIT: "COMMIT",
    LEADER_CHANGE: "LEADER_CHANGE",
    SNAPSHOT_HEADER: "SNAPSHOT_HEADER",
    SNAPSHOT_FOOTER: "SNAPSHOT_FOOTER",
    KRAFT_VERSION: "KRAFT_VERSION",
    KRAFT_VOTERS: "KRAFT_VOTERS",
    UNKNOWN: "UNKNOWN",
}

KEY_VERSION = 0
MARKER_VERSION = 0

_KEY = Struct(">hh")
_MARKER = Struct(">hi")


def control_key(control_type: int) -> bytes:
    return _KEY.pack(KEY_VERSION, control_type)


def control_type(key: Buffer | None) -> int:
    """The type in a key; UNKNOWN for one that a later release may have brought."""
    if key is None or len(key) < _KEY.size:
        raise errors.InvalidRecord(f"A control record's key has at least {_KEY.size} bytes: {key!r}")
    version, found = _KEY.unpack_from(key)
    if version < 0:
        raise errors.InvalidRecord(f"A control record's key has version {version}.")
    return found if found in NAMES else UNKNOWN


def marker_value(coordinator_epoch: int) -> bytes:
    return _MARKER.pack(MARKER_VERSION, coordinator_epoch)


def coordinator_epoch(value: Buffer | None) -> int:
    """The epoch in a transaction marker's value; later versions may have more behind it."""
    if value is None or len(value) < _MARKER.size:
        raise errors.InvalidRecord(f"A transaction marker has at least {_MARKER.size} bytes: {value!r}")
    version, epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise errors.InvalidRecord(f"A transaction marker has version {version}.")
    return int(epoch)


def control_batch(
    control_type: int,
    value: bytes,
    timestamp: int,
    *,
    base_offset: int = 0,
    partition_leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    is_transactional: bool = False,
) -> bytes:
    fields = BatchFields(
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=is_transactional,
        is_control=True,
    )
    return record_batch([Record(base_offset, control_key(control_type), value, timestamp)], fields)


def end_transaction_marker(
    is_commit: bool,
    coordinator_epoch: int,
    timestamp: int,
    *,
    producer_id: int,
    producer_epoch: int,
    base_offset: int = 0,
    partition_leader_epoch: int = -1,
) -> bytes:
    """The batch that ends a transaction in one partition."""
    return control_batch(
        COMMIT if is_commit else ABORT,
        marker_value(coordinator_epoch),
        timestamp,
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
    )
