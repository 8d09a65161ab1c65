"""What a broker must know to be true of records before it appends them.

Two steps, for the answer differs: `check_request` looks at what the version of the Produce request allows (the answer
then has log start offset -1), `check` at everything the log relies on. It visits every record, in the kernel; record
objects are made only to name the culprits of a batch that is refused.

| found | error |
|---|---|
| no whole batch, more than one, or not magic 2, in Produce 3 or later | INVALID_RECORD |
| zstd in Produce before 7 | UNSUPPORTED_COMPRESSION_TYPE |
| unknown magic, impossible batch length, wrong crc | CORRUPT_MESSAGE |
| larger than max.message.bytes | MESSAGE_TOO_LARGE |
| decompresses to more than the limit | RECORD_LIST_TOO_LARGE |
| unknown codec, or a stream that its codec cannot read | UNKNOWN_SERVER_ERROR, as Kafka answers |
| base offset not 0, offsets against count, control batch, producer id without a sequence | INVALID_RECORD |
| producer id without an epoch | INVALID_PRODUCER_EPOCH |
| a record that does not parse, wrong count | INVALID_RECORD |
| no key where the topic is compacted, offsets with gaps | INVALID_RECORD, with the records |
| timestamp out of range, or of the broker's type | INVALID_TIMESTAMP, with the records |
"""

from itertools import islice

from odradek.protocol import errors
from odradek.records import compression, kernel
from odradek.records.batch import Batch, RecordBatch, batches, sole_batch
from odradek.records.check_legacy import check_legacy
from odradek.records.checked import CheckedRecords, PlainRecords, check_record, check_whole
from odradek.records.layout import LOG_APPEND_TIME, NO_TIMESTAMP
from odradek.records.record import signed_64
from odradek.records.rules import ProduceRules, RecordErrors
from odradek.records.varint import Buffer

MAGIC_2_VERSION_MIN = 3
ZSTD_VERSION_MIN = 7

# Record objects are slow, and a small request can unpack to millions of records with the one bad one at the end. Such
# a batch is refused all the same, without its culprit's number.
RECORDS_NAMED_MAX = 20_000

_blank = object.__new__


def check_request(records: Buffer | None, version: int) -> None:
    """What every Produce request of this version must hold to, whatever the topic's configs."""
    if version < MAGIC_2_VERSION_MIN:
        return
    found = _found(records or b"")
    first = found[0] if found else None
    if first is None:
        raise errors.InvalidRecord(
            f"Produce version {version} needs one whole record batch per partition; none is there."
        )
    if first.magic < 2:
        raise errors.InvalidRecord(f"Produce version {version} needs record batches of magic 2, not {first.magic}.")
    if version < ZSTD_VERSION_MIN and first.compression == compression.ZSTD:
        raise errors.UnsupportedCompressionType(f"Produce version {version} does not allow zstd; it takes version 7.")
    if len(found) > 1:
        raise errors.InvalidRecord(f"Produce version {version} allows one record batch per partition; there are more.")


def check(records: Buffer, rules: ProduceRules, now_ms: int, *, is_from_client: bool = True) -> CheckedRecords:
    """The facts that the log needs, or the error. A batch that is cut off at the end does not count."""
    if (common := check_common(records, rules, now_ms)) is not None:
        return common  # what a client may write, a coordinator may as well
    found = _found(records)
    if not found:
        raise errors.InvalidRecord("There is no whole record batch.")
    for batch in found:
        _check_batch(batch, rules, is_from_client)
    first = found[0]
    if isinstance(first, RecordBatch):
        _check_alone(found)
        return _check_magic_2(first, rules, now_ms, is_from_client)
    return check_legacy(found, rules, now_ms)


def check_common(records: Buffer, rules: ProduceRules, now_ms: int) -> PlainRecords | None:
    """The check of what nearly every request brings: a whole batch of magic 2, not compressed, nothing wrong with it.

    None says nothing about the records but that `check_request` and `check` have to look at them. What passes here
    passes both.
    """
    if rules.codec:
        return None
    facts = kernel.check_batch(
        records,
        rules.max_message_bytes,
        rules.is_compacted,
        now_ms,
        rules.timestamp_before_checked_ms,
        rules.timestamp_after_max_ms,
    )
    if facts is None:
        return None
    count, last_timestamp, index, told_max_timestamp, producer_id = facts
    if rules.is_append_time:
        last_timestamp, index = now_ms, count - 1
    checked = _blank(PlainRecords)  # its slots, filled here: a constructor's call would be a tenth of the check
    checked.buffer = records if type(records) is memoryview else memoryview(records)
    checked.rules = rules
    checked.count = count
    checked.max_timestamp = last_timestamp
    checked.index_of_max_timestamp = index
    checked.told_max_timestamp = told_max_timestamp
    checked.producer_id = producer_id
    return checked


def _found(records: Buffer) -> list[Batch]:
    sole = sole_batch(records)
    return list(batches(records)) if sole is None else [sole]


def _check_batch(batch: Batch, rules: ProduceRules, is_from_client: bool) -> None:
    if batch.magic == 2 and is_from_client and batch.base_offset != 0:
        raise errors.InvalidRecord(
            f"The base offset of a batch for {rules.topic_partition} should be 0, it is {batch.base_offset}."
        )
    check_whole(batch, rules)


def _check_alone(found: list[Batch]) -> None:
    if len(found) > 1:
        raise errors.InvalidRecord(f"A batch of magic 2 must come alone; {len(found)} batches are there.")


def _check_magic_2(batch: RecordBatch, rules: ProduceRules, now_ms: int, is_from_client: bool) -> CheckedRecords:
    if is_from_client:
        _check_client_header(batch)
    body = _body(batch, rules)
    try:
        summary = kernel.check_records(body, batch.count)
    except errors.CorruptMessage as error:
        raise errors.InvalidRecord(error.message) from None
    first_timestamp = batch.base_timestamp + summary.min_timestamp_delta
    last_timestamp = batch.base_timestamp + summary.max_timestamp_delta
    if (
        not summary.offsets_consecutive
        or (rules.is_compacted and summary.keyless_index >= 0)
        or batch.timestamp_type == LOG_APPEND_TIME
        or _may_be_out_of_range(first_timestamp, last_timestamp, rules, now_ms)
    ):
        _raise_record_errors(batch, summary, rules, now_ms)
    checked = CheckedRecords([batch], rules, batch.count, batch.compression)
    if rules.is_append_time:
        checked.max_timestamp = now_ms
        checked.index_of_max_timestamp = batch.count - 1
    else:
        checked.max_timestamp = signed_64(last_timestamp)
        checked.index_of_max_timestamp = summary.max_timestamp_index
    return checked


def _check_client_header(batch: RecordBatch) -> None:
    offsets = batch.last_offset_delta + 1
    if offsets <= 0 or batch.count <= 0 or offsets != batch.count:
        raise errors.InvalidRecord(
            f"The batch names {batch.count} records and the offsets {batch.base_offset} to {batch.last_offset}."
        )
    if batch.is_control:
        raise errors.InvalidRecord("Clients are not allowed to write control records.")
    if batch.is_transactional and not batch.has_producer_id:
        raise errors.InvalidRecord("A transactional batch needs a producer id.")
    if batch.has_producer_id and batch.base_sequence < 0:
        raise errors.InvalidRecord(
            f"Producer id {batch.producer_id} needs a sequence from 0 on, not {batch.base_sequence}."
        )
    if batch.has_producer_id and batch.producer_epoch < 0:
        raise errors.InvalidProducerEpoch(f"Producer id {batch.producer_id} comes without an epoch.")


def _body(batch: RecordBatch, rules: ProduceRules) -> memoryview:
    try:
        return batch.body(rules.decompressed_bytes_max)
    except errors.CorruptMessage as error:
        # Not CORRUPT_MESSAGE: its crc is right, so the same bytes would come again, and that code asks for a retry.
        raise errors.UnknownServerError(error.message) from None


def _may_be_out_of_range(first: int, last: int, rules: ProduceRules, now_ms: int) -> bool:
    """Whether to look at each record: records without a timestamp are exempt, and the summary counts them in."""
    if rules.is_append_time or first == last == NO_TIMESTAMP:
        return False
    return first < now_ms - rules.timestamp_before_max_ms or last > now_ms + rules.timestamp_after_max_ms


def _raise_record_errors(batch: RecordBatch, summary: kernel.RecordsSummary, rules: ProduceRules, now_ms: int) -> None:
    """Names the culprits; the summary may have been a false alarm, if some of the records have no timestamp."""
    found = RecordErrors()
    is_append_time = batch.timestamp_type == LOG_APPEND_TIME
    records = batch.records_as_written(rules.decompressed_bytes_max)
    for index, record in enumerate(islice(records, RECORDS_NAMED_MAX)):
        before = found.total
        check_record(found, index, record, rules, now_ms, is_append_time)
        expected = batch.base_offset + index
        if found.total == before and record.offset != expected:
            found.add(
                index,
                f"Record with offset {record.offset} does not follow the one before, expected offset is {expected} "
                f"in topic partition {rules.topic_partition}",
            )
    found.raise_if_any()
    if batch.count > RECORDS_NAMED_MAX:
        _raise_unnamed(summary, rules)


def _raise_unnamed(summary: kernel.RecordsSummary, rules: ProduceRules) -> None:
    if not summary.offsets_consecutive:
        raise errors.InvalidRecord("The offsets of the records do not follow each other.")
    if rules.is_compacted and summary.keyless_index >= 0:
        raise errors.InvalidRecord(f"Record {summary.keyless_index} has no key, and the topic is compacted.")
    raise errors.InvalidTimestamp(f"A timestamp behind the first {RECORDS_NAMED_MAX} records is out of range.")
