"""The checks of messages of magic 0 and 1, which only Produce 0 to 2 carry. They end up in one batch of magic 2."""

from collections.abc import Iterator, Sequence
from itertools import chain

from odradek.protocol import errors
from odradek.records.batch import Batch, RecordBatch
from odradek.records.checked import CheckedRecords, check_record
from odradek.records.compression import NONE
from odradek.records.layout import LOG_APPEND_TIME
from odradek.records.legacy import LegacyBatch
from odradek.records.record import Record
from odradek.records.rules import ProduceRules, RecordErrors


def check_legacy(found: Sequence[Batch], rules: ProduceRules, now_ms: int) -> CheckedRecords:
    messages = _of_one_magic(found)
    if len(messages) > 1 and any(message.compression != NONE for message in messages):
        raise errors.InvalidRecord("A compressed message must come alone.")
    checked = CheckedRecords(list(messages), rules, 0, messages[0].compression)
    for message in messages:
        _check_message(message, checked, now_ms)
    return checked


def _of_one_magic(found: Sequence[Batch]) -> list[LegacyBatch]:
    magic = found[0].magic
    messages = []
    for batch in found:
        if isinstance(batch, RecordBatch) or batch.magic != magic:
            raise errors.InvalidRecord(f"A batch of magic {batch.magic} follows one of magic {magic}.")
        messages.append(batch)
    return messages


def _check_message(message: LegacyBatch, checked: CheckedRecords, now_ms: int) -> None:
    rules = checked.rules
    found = RecordErrors()
    is_append_time = message.timestamp_type == LOG_APPEND_TIME
    is_relative = message.magic == 1 and message.compression != NONE
    for index, record in enumerate(_deep_records(message, rules)):
        before = found.total
        check_record(found, index, record, rules, now_ms, is_append_time)
        if found.total == before and is_relative and record.offset != index:
            found.add(
                index,
                f"Inner record with offset {record.offset} does not follow the one before, expected offset is {index} "
                f"in topic partition {rules.topic_partition}",
            )
        _count(checked, now_ms if rules.is_append_time else record.timestamp)
    found.raise_if_any()


def _deep_records(message: LegacyBatch, rules: ProduceRules) -> Iterator[Record]:
    """The crc of the wrapper says nothing of what its writer put inside: each inner message has its own."""
    deep = message.records_and_messages(rules.decompressed_bytes_max)
    try:
        first = next(deep)  # decompresses
    except errors.CorruptMessage as error:
        raise errors.UnknownServerError(error.message) from None
    for record, inner in chain((first,), deep):
        inner.ensure_valid()
        yield record


def _count(checked: CheckedRecords, timestamp: int) -> None:
    if timestamp > checked.max_timestamp:
        checked.max_timestamp = timestamp
        checked.index_of_max_timestamp = checked.count
    checked.count += 1
