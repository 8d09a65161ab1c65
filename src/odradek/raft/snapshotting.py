"""Taking a snapshot of what is committed, and cleaning the log below it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.raft import cleaning
from odradek.raft.batches import quorum_records, record_batches
from odradek.raft.keys import OffsetAndEpoch

if TYPE_CHECKING:
    from odradek.raft.client import RaftClient


async def create_snapshot(
    client: "RaftClient",
    snapshot_id: OffsetAndEpoch,
    records: Iterable[tuple[Message, int]],
    last_contained_log_timestamp: int | None,
) -> bool:
    latest = client.latest_snapshot_id
    if latest is not None and latest.offset >= snapshot_id.offset:
        return False
    _ensure_fits(client, snapshot_id)
    if last_contained_log_timestamp is None:
        last_contained_log_timestamp = await _timestamp_before(client, snapshot_id.offset)
    quorum = quorum_records(client.kraft_version, client.core.voters)
    try:
        await client.log.write_snapshot(snapshot_id, records, quorum, last_contained_log_timestamp)
    except errors.KafkaStorageError as error:
        client.fail(error)
        raise
    await client.clean()
    return True


def _ensure_fits(client: "RaftClient", snapshot_id: OffsetAndEpoch) -> None:
    start_offset = client.log.log_start_offset
    if not start_offset < snapshot_id.offset <= client.high_watermark:
        raise ValueError(
            f"a snapshot at offset {snapshot_id.offset} does not fit a log from {start_offset} that is committed up to "
            f"{client.high_watermark}"
        )
    known = client.log.epoch_before(snapshot_id.offset)
    if known != snapshot_id.epoch:
        raise ValueError(f"offset {snapshot_id.offset - 1} is of epoch {known}, not {snapshot_id.epoch}")


async def _timestamp_before(client: "RaftClient", offset: int) -> int:
    data = await client.log.read(offset - 1, 1, is_committed=True)
    return record_batches(data)[0].max_timestamp


async def clean(client: "RaftClient", limit_offset: int) -> int:
    try:
        return await cleaning.clean(client.log, client.loop.ports.clock.wall_ms(), limit_offset)
    except errors.KafkaStorageError as error:
        client.fail(error)
        raise


def clean_later(client: "RaftClient") -> None:
    """Every now and then: the age of a snapshot grows by itself."""

    def again() -> None:
        if client.is_running:
            client.loop.spawn(client.clean())
            clean_later(client)

    client.loop.after(cleaning.INTERVAL_MS, again)
