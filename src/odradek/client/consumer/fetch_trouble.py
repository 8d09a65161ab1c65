"""What becomes of a partition that cannot be read on as it is."""

import logging

from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.chunk import Chunk
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_errors import LogTruncation
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.protocol import errors

logger = logging.getLogger("odradek.client")


def tell(buffer: FetchBuffer, state: AssignedPartition, error: errors.KafkaError) -> None:
    """The caller who comes to it is told; until then the partition is not fetched."""
    state.is_refused = True
    buffer.add(state, Chunk(state.place, state.generation, state.fetch_offset, error=error))


def truncated(
    subscriptions: SubscriptionState, buffer: FetchBuffer, state: AssignedPartition, end_offset: int, epoch: int
) -> None:
    """The leader's log ends, for the epoch that was read last, at `end_offset` (-1: it cannot tell).

    Before the position: what was read has gone. With auto.offset.reset it goes on where the logs part, or where that
    says if nobody knows; without, the program is told. Before what is buffered alone: that is fetched again.
    """
    position = state.position
    if position is None:
        return
    if end_offset >= 0 and position <= end_offset:
        if state.fetch_offset > end_offset:
            state.fetch_again()
        return
    logger.warning("%s was truncated: read up to %d, the log goes on at %d", state.place, position, end_offset)
    if subscriptions.default_reset.is_none:
        state.fetch_again()
        tell(buffer, state, LogTruncation(state.place, position, end_offset if end_offset >= 0 else None))
    elif end_offset >= 0:
        state.seek(end_offset, epoch)
        state.needs_validation = False
    else:
        state.request_reset(subscriptions.default_reset)
