"""What a fetch answers for one partition: the offsets of its log, records, aborted transactions, or an error."""

from odradek.broken_rule import BrokenRuleError
from odradek.log.log import Log
from odradek.log.read import TXN_COMMITTED, FetchedRecords
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import AbortedTransaction, PartitionData
from odradek.reactor.file_range import FileRange
from odradek.reactor.ports import Buffer

NO_BYTES = b""
UNKNOWN_OFFSET = -1

blank = object.__new__  # a struct without values, as its constructor would make it in twice the time


def told_of(log: Log, index: int) -> PartitionData:
    """The offsets of a log, without records."""
    data = blank(PartitionData)
    data.partition_index = index
    data.high_watermark = log.high_watermark
    data.last_stable_offset = log.last_stable_offset
    data.log_start_offset = log.log_start_offset
    data.aborted_transactions = None
    data.records = NO_BYTES
    return data


def not_in_cache(log: Log, index: int, isolation: int) -> PartitionData:
    """For a log whose records are still to be brought into the page cache."""
    data = told_of(log, index)
    if isolation == TXN_COMMITTED:
        data.aborted_transactions = []
    return data


def not_here(index: int, error: errors.KafkaError) -> PartitionData:
    """The error of a partition that is not here, or that the reader may not know of."""
    data = PartitionData()
    data.partition_index = index
    data.error_code = error.code
    data.high_watermark = UNKNOWN_OFFSET
    data.last_stable_offset = UNKNOWN_OFFSET
    data.log_start_offset = UNKNOWN_OFFSET
    data.records = NO_BYTES
    return data


def failed(index: int, error: errors.KafkaError) -> PartitionData:
    """The error of a partition that is here; Kafka answers it with null for the aborted transactions."""
    data = not_here(index, error)
    data.aborted_transactions = None
    return data


def aborted(fetched: FetchedRecords) -> list[AbortedTransaction]:
    found = fetched.aborted_transactions or []
    return [AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset) for each in found]


def size_of(data: PartitionData) -> int:
    records = data.records
    return records.size if type(records) is FileRange else len(records)  # type: ignore[arg-type]


def records_of(data: PartitionData) -> Buffer | FileRange:
    """The records of an answer that has some."""
    records = data.records
    if isinstance(records, bytes | bytearray | memoryview | FileRange):
        return records
    raise BrokenRuleError(f"an answer without an error has records, not {records!r}")


def release(data: PartitionData) -> None:
    """Lets go of the records of an answer that nobody takes any more: a range keeps its file open."""
    if isinstance(data.records, FileRange):
        data.records.release()
