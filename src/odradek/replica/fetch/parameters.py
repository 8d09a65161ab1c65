"""What holds for all partitions of a fetch: who reads, how far, how much, and how long it waits."""

from collections.abc import Callable

from odradek.log.read import HIGH_WATERMARK, LOG_END, TXN_COMMITTED
from odradek.protocol.messages.k01_fetch import FetchRequest, FetchResponse

READ_UNCOMMITTED, READ_COMMITTED = 0, 1  # the isolation levels of a request
UNKNOWN_ISOLATION = -1
HARD_LIMIT_VERSION_MAX = 2
SESSION_VERSION_MIN = 7
TOPIC_ID_VERSION_MIN = 13


class FetchParameters:
    __slots__ = (
        "has_hard_limit",
        "is_allowed",
        "is_follower",
        "isolation",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "on_answer",
        "on_error",
        "replica_epoch",
        "replica_id",
        "version",
    )

    def __init__(
        self, version: int, replica_id: int, replica_epoch: int, request: FetchRequest, bytes_max: int
    ) -> None:
        """`bytes_max` is the broker's limit for consumers, fetch.max.bytes."""
        self.version = version
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.max_wait_ms = request.max_wait_ms
        max_bytes = request.max_bytes
        if replica_id >= 0:
            self.is_follower = True
            self.isolation = LOG_END
        else:
            self.is_follower = False
            self.isolation = TXN_COMMITTED if request.isolation_level == READ_COMMITTED else HIGH_WATERMARK
            if max_bytes > bytes_max:
                max_bytes = bytes_max
        if not READ_UNCOMMITTED <= request.isolation_level <= READ_COMMITTED:
            self.isolation = UNKNOWN_ISOLATION
        self.max_bytes = max_bytes
        min_bytes = request.min_bytes
        self.min_bytes = min_bytes if min_bytes < max_bytes else max_bytes
        self.has_hard_limit = version <= HARD_LIMIT_VERSION_MAX
        self.is_allowed: Callable[[str], bool] | None = None  # by the name of a topic; None is everything
        self.on_answer: Callable[[FetchResponse], None] | None = None  # completes every answer
        self.on_error: Callable[[FetchResponse], None] | None = None  # completes an answer that tells of errors
