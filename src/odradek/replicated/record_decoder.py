"""From the bytes of an internal topic's segment to the records of a coordinator. Runs in a job.

A partition to be loaded may hold a million records of two or three kinds: the plans that decode a kind are looked up
once, by the two bytes that every key and value begins with.
"""

from collections.abc import Iterable

from odradek.protocol.declare import Message, executor
from odradek.protocol.frames import CoordinatorRecords
from odradek.protocol.plan import Plan
from odradek.reactor.ports import DiskFile, JobOf
from odradek.records import control
from odradek.records.columns import Columns, ControlRecord, scan
from odradek.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TRANSACTIONAL_MASK
from odradek.replicated.log_record import EndMarker, LogRecord

_PREFIX_BYTES = 2
_NOBODY = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)

Producer = tuple[int, int]  # id and epoch


def decode_job(
    file: DiskFile, position: int, size: int, decoder: "RecordDecoder", from_offset: int
) -> JobOf[tuple[list[tuple[object, int]], int]]:
    """([(record, offset)], next offset) of the whole batches in a range of a file."""
    data = file.pread(size, position)
    yield len(data)
    columns = scan(data, from_offset=from_offset)
    keys, values, offsets = columns.keys().to_list(), columns.values().to_list(), columns.offsets()
    rows: Iterable[int] = range(len(keys))
    if not decoder.keeps_all:
        rows = sorted(dict(zip(keys, rows, strict=True)).values())
    producers = _producers(columns)
    placed: list[tuple[object, int]] = []
    for row in rows:
        key = keys[row]
        if key is not None:
            offset = offsets[row]
            record = decoder.decode(key, values[row], offset, producers.get(row, _NOBODY))
            if record is not None:
                placed.append((record, offset))
    if columns.control_records:
        placed += [(marker, each.offset) for each in columns.control_records if (marker := _marker(each)) is not None]
        placed.sort(key=lambda each: each[1])
    next_offset = columns.next_offset
    return placed, from_offset + 1 if next_offset is None else next_offset


def _producers(columns: Columns) -> dict[int, Producer]:
    """Who has written the rows that are part of a transaction."""
    if not any(attributes & TRANSACTIONAL_MASK for attributes in columns.batch_attributes()):
        return {}
    facts = columns.batches()
    ends = [fact.first_row for fact in facts[1:]] + [len(columns)]
    return {
        row: (fact.producer_id, fact.producer_epoch)
        for fact, end in zip(facts, ends, strict=True)
        if fact.attributes & TRANSACTIONAL_MASK
        for row in range(fact.first_row, end)
    }


class RecordDecoder:
    """One for each loading; its jobs come one after the other.

    Where `keeps_all` is false the state of a key is what its last record says, and those before it are left out.
    """

    __slots__ = ("_codec", "_key_plans", "_value_plans")

    keeps_all = True

    def __init__(self, codec: CoordinatorRecords) -> None:
        self._codec = codec
        self._key_plans: dict[bytes, Plan[Message]] = {}
        self._value_plans: dict[bytes, Plan[Message]] = {}

    def decode(self, key: bytes, value: bytes | None, offset: int, producer: Producer) -> object:
        """What the core replays. None for a record of a type that is not known: a newer release may have written it."""
        plan = self._key_plans.get(key[:_PREFIX_BYTES]) or self._key_plan(key)
        if plan is None:
            return None
        decoded = executor.decode(plan, key, _PREFIX_BYTES)[0]
        if value is None:
            return LogRecord(decoded, None, *producer)
        kind = key[:_PREFIX_BYTES] + value[:_PREFIX_BYTES]
        plan = self._value_plans.get(kind) or self._value_plan(kind, decoded, value)
        known = executor.decode(plan, value, _PREFIX_BYTES)[0]
        return LogRecord(decoded, known, *producer)

    def _key_plan(self, key: bytes) -> Plan[Message] | None:
        """None for a type that nobody here knows."""
        message = self._codec.decode_key(key)
        if message is None:
            return None
        plan = self._key_plans[key[:_PREFIX_BYTES]] = message.plan(0)
        return plan

    def _value_plan(self, kind: bytes, key: Message, value: bytes) -> Plan[Message]:
        message = self._codec.decode_value(key, value)  # PeerProtocolError for a version that nobody declares
        plan = self._value_plans[kind] = message.plan(int.from_bytes(value[:_PREFIX_BYTES], "big"))
        return plan


def _marker(record: ControlRecord) -> EndMarker | None:
    if record.type not in (control.ABORT, control.COMMIT):
        return None
    return EndMarker(
        record.producer_id,
        record.producer_epoch,
        record.type == control.COMMIT,
        control.coordinator_epoch(record.value),
    )
