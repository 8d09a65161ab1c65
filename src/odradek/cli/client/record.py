"""A record as commands look at it: one that was read, or one that was decoded to be shown."""

from typing import Protocol


class Record(Protocol):
    topic: str
    partition: int
    offset: int
    timestamp: int
    leader_epoch: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
