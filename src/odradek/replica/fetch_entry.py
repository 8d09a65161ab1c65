"""One partition of one fetch: what its reader asked for, and what it was told last."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from odradek.replica.partition import Partition

NOTHING_TOLD = -1

TopicKey = str | bytes  # a name up to Fetch 12, an id from 13 on


class Owner(Protocol):
    """Whoever reads the entry: a fetch session."""

    is_privileged: bool  # a follower's

    def mark(self, entry: "FetchEntry") -> None:
        """Something has happened in the partition that the reader may want to know."""
        ...


class FetchEntry:
    """Slots and shared numbers only: a cache full of sessions holds a million of these."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "order",
        "owner",
        "partition",
        "told_high_watermark",
        "told_log_start_offset",
        "topic",
    )

    def __init__(self, owner: Owner, topic: TopicKey, index: int, order: int) -> None:
        self.owner = owner
        self.topic = topic
        self.index = index
        self.order = order  # readers with little room get the smallest first
        self.partition: Partition | None = None  # once it is known
        self.told_high_watermark = NOTHING_TOLD
        self.told_log_start_offset = NOTHING_TOLD
        self.fetch_offset = 0
        self.max_bytes = 0
        self.current_leader_epoch = -1
        self.last_fetched_epoch = -1
        self.log_start_offset = -1

    def __repr__(self) -> str:
        return f"FetchEntry({self.topic!r}-{self.index} @ {self.fetch_offset})"
