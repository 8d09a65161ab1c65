"""A partition of an internal topic as the log of a coordinator: appended as a leader does, read as a whole.

Every decision is one batch. The records of a transaction carry its producer, so that the log itself knows which
transactions are open in it; a marker is a control batch of its own.

Reading goes chunk by chunk. A job reads the bytes and makes messages of them, off the reactor's thread; the reactor
only replays them.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from odradek.broken_rule import BrokenRuleError, require
from odradek.log.append import AppendInfo
from odradek.log.failure import DiskFull
from odradek.log.log import Log
from odradek.log.manager.manager import LogManager
from odradek.log.manager.reading import read_or_bring
from odradek.log.read import LOG_END
from odradek.protocol import errors
from odradek.protocol.frames import CoordinatorRecords
from odradek.reactor.pending import Pending
from odradek.records import kernel
from odradek.records.compression import NONE, compress
from odradek.records.layout import NO_PRODUCER_ID, NO_SEQUENCE, TRANSACTIONAL_MASK
from odradek.records.writer import BatchFields, framed
from odradek.replicated.log_record import EndMarker, LogRecord, Versioned
from odradek.replicated.record_decoder import RecordDecoder, decode_job

INT32_MAX = 0x7FFF_FFFF
CHUNK_BYTES_MAX = 256 << 10  # a few thousand records: the job that makes messages of them has the GIL for long enough


class Leadership(Protocol):
    """What is needed of a replica.leader.Leader: it leads in this epoch, and appends what this broker has made."""

    epoch: int

    def append_own(self, batch: bytearray, now_ms: int) -> AppendInfo:
        """Checks that enough replicas are in sync, appends, tells failures of the disk, begins a flush that is due, and
        moves the high watermark."""
        ...


class LedPartition(Protocol):
    """What is needed of a replica.partition.Partition."""

    @property
    def leader(self) -> Leadership | None: ...
    @property
    def log(self) -> Log | None: ...


class PartitionLog:
    __slots__ = ("_codec", "_compression", "_decoder", "_logs", "partition")

    def __init__(
        self,
        partition: LedPartition,
        logs: LogManager,
        codec: CoordinatorRecords,
        *,
        compression: int = NONE,
        decoder: type[RecordDecoder] = RecordDecoder,
    ) -> None:
        self.partition = partition
        self._logs = logs
        self._codec = codec
        self._compression = compression
        self._decoder = decoder

    # Appending

    def append(self, epoch: int, records: Sequence[Versioned]) -> int:
        """One batch; the offset of its last record. NotCoordinator and the like, and nothing was appended."""
        leader = self.partition.leader
        if leader is None or leader.epoch != epoch:
            raise errors.NotCoordinator()
        now_ms = self._logs.now_ms
        try:
            info = leader.append_own(self._batch(records, now_ms), now_ms)
        except errors.KafkaError as error:
            raise _coordinator_error(error) from error
        if info.flushed is not None:
            self._logs.loop.spawn(_until_flushed(info.flushed))
        return info.last_offset

    def _batch(self, records: Sequence[Versioned], now_ms: int) -> bytearray:
        first = records[0][0]
        if isinstance(first, EndMarker):
            require(len(records) == 1, "a marker is a batch of its own")
            return first.batch(now_ms)
        writer = kernel.RecordsWriter(INT32_MAX)
        codec = self._codec
        for record, version in records:
            if not isinstance(record, LogRecord):
                raise BrokenRuleError("a marker is a batch of its own")
            value = None if record.value is None else codec.encode_value(record.value, version)
            writer.append(now_ms, codec.encode_key(record.key), value)
        if self._compression != NONE:
            return self._compressed(writer, first, now_ms)
        attributes = 0 if first.producer_id == NO_PRODUCER_ID else TRANSACTIONAL_MASK
        return bytearray(writer.seal(attributes, first.producer_id, first.producer_epoch, NO_SEQUENCE))

    def _compressed(self, writer: kernel.RecordsWriter, first: LogRecord, now_ms: int) -> bytearray:
        fields = BatchFields(
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            is_transactional=first.producer_id != NO_PRODUCER_ID,
        )
        section, codec = compress(self._compression, writer.records()), self._compression
        return bytearray(framed(section, fields, codec, 0, writer.count - 1, now_ms, now_ms, writer.count))

    # Reading

    def decoder(self) -> RecordDecoder:
        """For all reads of one loading."""
        return self._decoder(self._codec)

    async def read(
        self, offset: int, end_offset: int, decoder: RecordDecoder
    ) -> tuple[list[tuple[object, int]], int] | None:
        """Records from an offset on, and the offset behind them; None at the end. The log may have changed since.

        The records are whatever the decoder of this coordinator makes of them.
        """
        log = self.partition.log
        if log is None:
            raise errors.NotCoordinator()
        offset = max(offset, log.log_start_offset)
        if offset >= min(end_offset, log.log_end_offset):
            return None
        fetched = await read_or_bring(self._logs, log, offset, CHUNK_BYTES_MAX, LOG_END)
        if fetched is None:
            return [], offset
        if fetched.records is None:
            return None
        records = fetched.records
        try:
            job = decode_job(records.disk_file, records.position, records.size, decoder, offset)
            placed, next_offset = await self._logs.loop.submit(job)
        finally:
            records.release()
        return placed, next_offset


async def _until_flushed(flushed: Pending[None]) -> None:
    """Nobody waits for the flush of an append: if it fails, the high watermark stands still, and so do the answers."""
    with suppress(errors.KafkaError):
        await flushed


def _coordinator_error(error: errors.KafkaError) -> errors.KafkaError:
    """What the log refuses, in the words that the clients of a coordinator understand."""
    if isinstance(error, errors.NotEnoughReplicas | errors.UnknownTopicOrPartition | errors.RequestTimedOut | DiskFull):
        return errors.CoordinatorNotAvailable(error.message)
    if isinstance(error, errors.NotLeaderOrFollower | errors.KafkaStorageError):
        return errors.NotCoordinator(error.message)
    if isinstance(error, errors.MessageTooLarge | errors.RecordListTooLarge):
        return errors.UnknownServerError(error.message)
    return error
