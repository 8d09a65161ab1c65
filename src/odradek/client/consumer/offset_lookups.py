"""Offsets that a program asks for once, and that change no position: by time, and the two ends of a log.

They are coroutines on the channel, through the same `Asker` that the admin client has:

    asker = Asker(channel, timeout_ms=config["default.api.timeout.ms"], retries=...)
    found = await offsets_for_times(asker, {TopicPartition("t", 0): 1700000000000})
"""

from collections.abc import Iterable, Mapping

from odradek.client.admin.asking import Asker
from odradek.client.admin.topics import list_offsets
from odradek.client.consumer.offset_reset import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from odradek.client.offsets import OffsetAndTimestamp
from odradek.protocol.topic_partition import TopicPartition


async def offsets_for_times(
    asker: Asker, times_ms: Mapping[TopicPartition, int], *, timeout: float | None = None
) -> dict[TopicPartition, OffsetAndTimestamp | None]:
    """The first record at or after each time; None where there is none. ValueError for a negative time."""
    for place, time_ms in times_ms.items():
        if time_ms < 0:
            raise ValueError(f"{place}: {time_ms} ms is no time to look for: it may not be negative")
    found = await list_offsets(asker, times_ms, timeout=timeout)
    found.raise_any()
    return {
        place: None if each.offset < 0 else OffsetAndTimestamp(each.offset, each.timestamp_ms, each.leader_epoch)
        for place, each in found.items()
    }


async def beginning_offsets(
    asker: Asker, places: Iterable[TopicPartition], *, timeout: float | None = None
) -> dict[TopicPartition, int]:
    """The first offset that each log still has."""
    return await _ends(asker, places, EARLIEST_TIMESTAMP, is_read_committed=False, timeout=timeout)


async def end_offsets(
    asker: Asker, places: Iterable[TopicPartition], *, is_read_committed: bool = False, timeout: float | None = None
) -> dict[TopicPartition, int]:
    """The offset behind the last record that a consumer can read: the high watermark, or the last stable offset for one
    that reads what is committed.
    """
    return await _ends(asker, places, LATEST_TIMESTAMP, is_read_committed=is_read_committed, timeout=timeout)


async def _ends(
    asker: Asker,
    places: Iterable[TopicPartition],
    timestamp: int,
    *,
    is_read_committed: bool,
    timeout: float | None,
) -> dict[TopicPartition, int]:
    asked = dict.fromkeys(places, timestamp)
    found = await list_offsets(asker, asked, committed_only=is_read_committed, timeout=timeout)
    found.raise_any()
    return {place: each.offset for place, each in found.items()}
