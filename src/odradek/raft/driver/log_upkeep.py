"""What keeps the metadata log in shape: snapshots, cleaning below them, its recovery point, its close."""

from collections.abc import Callable, Iterable

from odradek.log.failure import DiskFull
from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.raft import cleaning
from odradek.raft.batches import quorum_records
from odradek.raft.driver.replica import Replica
from odradek.raft.keys import OffsetAndEpoch
from odradek.records.metadata_log import record_batches


class LogUpkeep:
    __slots__ = ("_is_cleaning", "_least_offset_told", "_replica")

    def __init__(self, replica: Replica, least_offset_told: Callable[[], int]) -> None:
        """`least_offset_told` is up to where every listener has been told the log: what comes after is still read."""
        self._replica = replica
        self._least_offset_told = least_offset_told
        self._is_cleaning = False

    # Snapshots.

    async def create_snapshot(
        self,
        snapshot_id: OffsetAndEpoch,
        records: Iterable[tuple[Message, int]],
        last_contained_log_timestamp: int | None,
    ) -> bool:
        """False if there is such a snapshot or a later one."""
        replica = self._replica
        latest = replica.log.latest_snapshot_id
        if latest is not None and latest.offset >= snapshot_id.offset:
            return False
        self._ensure_fits(snapshot_id)
        if last_contained_log_timestamp is None:
            last_contained_log_timestamp = await self._timestamp_before(snapshot_id.offset)
        quorum = quorum_records(replica.log.kraft_version(), replica.core.voters)
        try:
            await replica.log.write_snapshot(snapshot_id, records, quorum, last_contained_log_timestamp)
        except errors.KafkaStorageError as error:
            replica.fail(error)
            raise
        await self.clean()
        return True

    def _ensure_fits(self, snapshot_id: OffsetAndEpoch) -> None:
        log, high_watermark = self._replica.log, self._replica.core.high_watermark
        if not log.log_start_offset < snapshot_id.offset <= high_watermark:
            raise ValueError(
                f"a snapshot at offset {snapshot_id.offset} does not fit a log from {log.log_start_offset} that is "
                f"committed up to {high_watermark}"
            )
        known = log.epoch_before(snapshot_id.offset)
        if known != snapshot_id.epoch:
            raise ValueError(f"offset {snapshot_id.offset - 1} is of epoch {known}, not {snapshot_id.epoch}")

    async def _timestamp_before(self, offset: int) -> int:
        data = await self._replica.log.read(offset - 1, 1, is_committed=True)
        return record_batches(data)[0].max_timestamp

    # Cleaning.

    async def clean(self) -> int:
        """Removes what a newer snapshot has made needless, by the retention configs; how many snapshots went."""
        replica = self._replica
        if self._is_cleaning or not replica.is_running:
            return 0
        self._is_cleaning = True
        try:
            await self._save_recovery_point()
            return await cleaning.clean(replica.log, replica.wall_ms, self._least_offset_told())
        except errors.KafkaStorageError as error:
            replica.fail(error)
            raise
        finally:
            self._is_cleaning = False

    def clean_later(self) -> None:
        """Every now and then: the age of a snapshot grows by itself."""
        self._replica.loop.after(cleaning.INTERVAL_MS, self._clean_again)

    def _clean_again(self) -> None:
        if self._replica.is_running:
            self._replica.loop.spawn(self.clean())
            self.clean_later()

    async def _save_recovery_point(self) -> None:
        try:
            await self._replica.log.save_recovery_point(self._replica.core.high_watermark)
        except DiskFull:
            return  # the old one is still true
        except errors.KafkaStorageError as error:
            self._replica.fail(error)

    # The end.

    async def close(self) -> None:
        """Flushes and closes the log."""
        log = self._replica.log
        try:
            await log.flush_and_close()
        except DiskFull:
            log.log.abandon()  # its records are in the files: the next start recovers them
        except errors.KafkaStorageError as error:
            self._replica.fail(error)
        else:
            await self._save_recovery_point()
        log.close()
