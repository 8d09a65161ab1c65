"""A record that is ready to be appended."""

from typing import NamedTuple


class Prepared(NamedTuple):
    """A record as it is appended. `partition` -1: the sticky one."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: bytes
    timestamp_ms: int | None
    needed_bytes: int  # of a batch that it would begin
