"""Reading for share fetches: whole batches from an offset on, and which of their records are to be delivered."""

from typing import NamedTuple

from odradek.log.log import Log
from odradek.log.manager.manager import LogManager
from odradek.log.manager.reading import bytes_of, read
from odradek.log.read import HIGH_WATERMARK, TXN_COMMITTED, FetchedRecords
from odradek.reactor.ports import Buffer
from odradek.records import control
from odradek.records.batch import RecordBatch, batches
from odradek.records.layout import NO_PRODUCER_ID

NO_BYTES = b""


class ReadBatches(NamedTuple):
    """`told` are the (first, last offset) of batches with records for consumers; the others are as good as gaps."""

    content: Buffer
    told: tuple[tuple[int, int], ...]
    read_to: int  # the last offset of all


NOTHING = ReadBatches(NO_BYTES, (), -1)


def read_batches(
    logs: LogManager, log: Log, offset: int, bytes_max: int, *, reads_committed: bool, min_one_message: bool
) -> ReadBatches:
    """NotInCache if it has to be brought from the disk first."""
    isolation = TXN_COMMITTED if reads_committed else HIGH_WATERMARK
    fetched = read(logs, log, offset, bytes_max, isolation, min_one_message)
    if fetched.records is None:
        return NOTHING
    return _told(bytes_of(logs, fetched.records), offset, fetched)


def _told(content: Buffer, offset: int, fetched: FetchedRecords) -> ReadBatches:
    is_aborted = _Aborted(fetched)
    told: list[tuple[int, int]] = []
    last = offset - 1
    size = 0
    for batch in batches(content):
        first = batch.base_offset if isinstance(batch, RecordBatch) else last + 1
        last = batch.last_offset
        size += len(batch.buffer)
        if not isinstance(batch, RecordBatch) or not is_aborted.hides(batch):
            told.append((first, last))
    return ReadBatches(memoryview(content)[:size], tuple(told), last) if size else NOTHING


def part_of(read: ReadBatches, last_offset: int) -> Buffer:
    """The bytes up to the batch that holds this offset."""
    size = 0
    for batch in batches(read.content):
        size += len(batch.buffer)
        if batch.last_offset >= last_offset:
            break
    return memoryview(read.content)[:size]


class _Aborted:
    """Follows the transactions through the batches: control batches and what was aborted is for nobody."""

    __slots__ = ("_aborted", "_open")

    def __init__(self, fetched: FetchedRecords) -> None:
        found = fetched.aborted_transactions or []
        self._open = sorted(((each.first_offset, each.producer_id) for each in found), reverse=True)
        self._aborted: set[int] = set()

    def hides(self, batch: RecordBatch) -> bool:
        while self._open and self._open[-1][0] <= batch.last_offset:
            self._aborted.add(self._open.pop()[1])
        if batch.is_control:
            if self._aborted and _is_abort(batch):
                self._aborted.discard(batch.producer_id)
            return True
        has_producer = batch.producer_id != NO_PRODUCER_ID and batch.is_transactional
        return has_producer and batch.producer_id in self._aborted


def _is_abort(batch: RecordBatch) -> bool:
    record = next(iter(batch.records()), None)
    return record is not None and control.control_type(record.key) == control.ABORT
