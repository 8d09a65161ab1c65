"""One partition that a consumer reads: where it is, what was asked for, and what has come and was not handed out yet.

Two offsets. `position` is the next to hand out; `fetch_offset` is the next to ask a broker for. Between them lies what
is buffered, in `chunks`: the answers for this partition, oldest first.

Two threads meet here. The client's I/O thread writes everything, but for what stands under "the caller's": a caller
that takes records moves the position over them (`_records.pyx` does that in one step in which no other thread runs). So
that it cannot move it after a seek, every change of mind raises `generation`: a chunk of an older one is not handed out
any more, and an answer to a request from before is not taken over. Numbers that both would have to change are kept as
two, of which each thread writes its own: what is buffered is what was received less what was taken and what was
dropped.
"""

from collections import deque
from typing import TYPE_CHECKING

from odradek.client.consumer.offset_reset import ResetStrategy
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.consumer.chunk import Chunk

UNKNOWN = -1


class AssignedPartition:
    __slots__ = (
        "asked",
        "began_at",
        "chunks",
        "dropped_bytes",
        "failed_generation",
        "fetch_offset",
        "fetch_until",
        "generation",
        "high_watermark",
        "is_heard_of",
        "is_held",
        "is_paused",
        "is_queued",
        "is_refused",
        "is_revoking",
        "last_stable_offset",
        "leader_epoch",
        "log_start_offset",
        "needs_validation",
        "place",
        "position",
        "position_epoch",
        "preferred_replica",
        "preferred_until_ms",
        "received_bytes",
        "reset",
        "retry_at_ms",
        "taken_bytes",
    )

    def __init__(self, place: TopicPartition) -> None:
        self.place = place
        self.position: int | None = None
        self.began_at: int | None = None  # the first position that it ever had
        self.position_epoch = UNKNOWN  # of the record before the position, as its batch or its commit told
        self.fetch_offset = UNKNOWN
        self.fetch_until: int | None = None  # nothing at or after this offset is asked for
        self.generation = 0
        self.reset: ResetStrategy | None = None  # the position is asked for by this
        self.needs_validation = False  # the leader is new: it may not have what was read from the one before
        self.leader_epoch = UNKNOWN  # the latest that this partition was compared with
        self.retry_at_ms = 0
        self.is_heard_of = False  # a broker has answered a fetch of it
        self.high_watermark = self.last_stable_offset = self.log_start_offset = UNKNOWN
        self.preferred_replica = UNKNOWN
        self.preferred_until_ms = 0
        self.is_paused = self.is_revoking = False
        self.is_held = False  # either of the two: nothing is handed out
        self.chunks: deque[Chunk] = deque()
        self.received_bytes = self.dropped_bytes = 0
        self.asked: object = None  # the request that is in flight for it: no other's answer is taken over
        self.is_refused = False  # an error waits among the chunks: nothing is fetched until somebody was told
        # The caller's
        self.taken_bytes = 0
        self.failed_generation = UNKNOWN  # what is buffered of this one cannot be read: it is fetched again
        # Of both, see FetchBuffer
        self.is_queued = False

    def __repr__(self) -> str:
        return f"AssignedPartition({self.place}, position={self.position}, fetch_offset={self.fetch_offset})"

    @property
    def buffered_bytes(self) -> int:
        return self.received_bytes - self.taken_bytes - self.dropped_bytes

    @property
    def has_position(self) -> bool:
        return self.position is not None and self.reset is None

    @property
    def is_fetchable(self) -> bool:
        if self.position is None or self.reset is not None:
            return False
        if self.fetch_until is not None and self.fetch_offset >= self.fetch_until:
            return False
        return not (self.needs_validation or self.is_revoking or self.is_refused)

    @property
    def committable(self) -> OffsetAndMetadata | None:
        """The position as a commit has it."""
        return None if self.position is None else OffsetAndMetadata(self.position, "", self.position_epoch)

    # What the I/O thread does to it

    def seek(self, offset: int, leader_epoch: int = UNKNOWN) -> None:
        self.drop_buffered()
        self.position = self.fetch_offset = offset
        if self.began_at is None:
            self.began_at = offset
        self.position_epoch = leader_epoch
        self.reset = None
        self.needs_validation = leader_epoch >= 0
        self.retry_at_ms = 0
        self.forget_preferred()

    def request_reset(self, strategy: ResetStrategy) -> None:
        self.drop_buffered()
        self.reset = strategy
        self.needs_validation = False
        self.retry_at_ms = 0
        self.forget_preferred()

    def fetch_again(self) -> None:
        """What was received is of no use, or its rest was lost: from the position on everything is asked for anew."""
        self.drop_buffered()
        if self.position is not None:
            self.fetch_offset = self.position

    def drop_buffered(self) -> None:
        self.generation += 1
        self.is_refused = False
        self.asked = None
        while True:
            try:
                chunk = self.chunks.popleft()  # one at a time: a caller may be taking one out
            except IndexError:
                return
            self.dropped_bytes += chunk.size_bytes

    def forget_preferred(self) -> None:
        self.preferred_replica = UNKNOWN

    def hold(self, *, is_paused: bool | None = None, is_revoking: bool | None = None) -> None:
        self.is_paused = self.is_paused if is_paused is None else is_paused
        self.is_revoking = self.is_revoking if is_revoking is None else is_revoking
        self.is_held = self.is_paused or self.is_revoking
