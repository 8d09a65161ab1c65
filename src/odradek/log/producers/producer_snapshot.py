"""The file OFFSET.snapshot: the producer state as it was when the log ended at OFFSET.

A torn or damaged file is known by its checksum; an older one and a longer replay give the same state, so it is simply
dropped. That is why it can be written without a sync when a segment is rolled.
"""

from collections.abc import Iterable

from odradek.log import names
from odradek.log.failpoint import failpoint
from odradek.log.producers.producer_entry import BatchMetadata, ProducerEntry
from odradek.protocol import errors
from odradek.protocol.messages.producer_snapshot import ProducerEntry as Row
from odradek.protocol.messages.producer_snapshot import ProducerSnapshot
from odradek.reactor.ports import Disk
from odradek.records.crc import crc32c

VERSION = 1
_VERSION_SIZE = 2
_CRC_SIZE = 4


class CorruptSnapshot(Exception):  # noqa: N818 - what is found, not what went wrong here
    """Drop the file and take an older one."""


def encode(entries: Iterable[ProducerEntry]) -> bytes:
    rows = [_row(entry) for entry in entries]
    body = ProducerSnapshot(crc=0, producer_entries=rows).to_bytes(VERSION)[_CRC_SIZE:]
    return VERSION.to_bytes(_VERSION_SIZE, "big") + crc32c(body).to_bytes(_CRC_SIZE, "big") + body


def _row(entry: ProducerEntry) -> Row:
    last = entry.batches[-1] if entry.batches else None
    return Row(
        producer_id=entry.producer_id,
        epoch=entry.epoch,
        last_sequence=entry.last_sequence,
        last_offset=entry.last_data_offset,
        offset_delta=last.offset_delta if last else 0,
        timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_first_offset=entry.current_txn_first_offset,
    )


def decode(data: bytes) -> list[ProducerEntry]:
    version = int.from_bytes(data[:_VERSION_SIZE], "big", signed=True)
    if version != VERSION:
        raise CorruptSnapshot(f"{len(data)} bytes of version {version} are no producer snapshot")
    try:
        snapshot = ProducerSnapshot.decode(data, VERSION, _VERSION_SIZE)
    except errors.PeerProtocolError as error:
        raise CorruptSnapshot(str(error)) from None
    found = crc32c(memoryview(data)[_VERSION_SIZE + _CRC_SIZE :])
    if found != snapshot.crc:
        raise CorruptSnapshot(f"the checksum is {snapshot.crc}, that of the content is {found}")
    return [_entry(row) for row in snapshot.producer_entries]


def _entry(row: Row) -> ProducerEntry:
    entry = ProducerEntry(row.producer_id)
    entry.epoch = row.epoch
    if row.last_offset >= 0:
        entry.batches.append(BatchMetadata(row.last_sequence, row.last_offset, row.offset_delta, row.timestamp))
    entry.last_timestamp = row.timestamp
    entry.coordinator_epoch = row.coordinator_epoch
    entry.current_txn_first_offset = row.current_txn_first_offset
    return entry


def path_of(directory: str, offset: int) -> str:
    return f"{directory}/{names.file_name(offset, names.PRODUCER_SNAPSHOT)}"


def write(disk: Disk, directory: str, offset: int, entries: Iterable[ProducerEntry]) -> None:
    """Into the page cache; whoever needs it durable syncs the file and the directory."""
    failpoint("log.snapshot.before_write")
    data = encode(entries)
    file = disk.open(path_of(directory, offset), create=True)
    try:
        file.truncate(0)
        file.append([data])
    finally:
        file.close()
    failpoint("log.snapshot.after_write")


def read(disk: Disk, directory: str, offset: int) -> list[ProducerEntry]:
    return decode(disk.read(path_of(directory, offset)))
