"""A batch that is too large for its broker, in several smaller ones: the same records, in the same order."""

from odradek.client.producer.accumulator import NO_HEADERS
from odradek.client.producer.pure_accumulator import record_size
from odradek.client.producer.sent_batch import SentBatch
from odradek.records.layout import HEADER_SIZE
from odradek.records.varint import read_varint, read_varlong


def split(batch: SentBatch) -> list[tuple[int, SentBatch]]:
    """Two or more, each with the number that its first record had. At least one record goes into each, so that in the
    end what is refused is a record that is too large alone.
    """
    limit = max(1, (batch.size_bytes - HEADER_SIZE) // 2) + HEADER_SIZE
    parts: list[tuple[int, SentBatch]] = []
    for index, (timestamp, key, value, headers) in enumerate(_records(batch)):
        if not parts or index == 0 or not parts[-1][1].put(timestamp, key, value, headers):
            part = _part(batch, index, limit, key, value, headers)
            part.put(timestamp, key, value, headers)
            parts.append((index, part))
    return parts


def _part(
    batch: SentBatch, index: int, limit: int, key: bytes | None, value: bytes | None, headers: bytes
) -> SentBatch:
    """Its memory is not the pool's: that of the whole comes back now, and so nobody waits for himself."""
    size = record_size(0, 0, key, value, headers)[1] + HEADER_SIZE
    part = SentBatch(batch.queue, max(limit, size), 0)
    part.created_ms = batch.created_ms
    part.ordinal = batch.ordinal + index  # its place among its like, also when it is split once more
    return part


def _records(batch: SentBatch) -> list[tuple[int, bytes | None, bytes | None, bytes]]:
    """(timestamp, key, value, encoded headers) of each."""
    data = bytes(batch.body())
    at, end = 0, len(data)
    found = []
    while at < end:
        length, at = read_varint(data, at, end)
        stop = at + length
        delta, at = read_varlong(data, at + 1, stop)
        _, at = read_varint(data, at, stop)
        key, at = _field(data, at, stop)
        value, at = _field(data, at, stop)
        headers = data[at:stop]
        found.append((batch.base_timestamp + delta, key, value, headers or NO_HEADERS))
        at = stop
    return found


def _field(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = read_varint(data, at, end)
    return (None, at) if length < 0 else (data[at : at + length], at + length)
