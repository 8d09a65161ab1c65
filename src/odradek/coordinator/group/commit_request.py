"""A commit of offsets as it is asked for: by whom, and what for each partition."""

from typing import NamedTuple

from odradek.protocol.field import ZERO_UUID

SPEAKS_MEMBER_EPOCHS = 9  # the first version of OffsetCommit in which a member tells its epoch


class CommitFrom(NamedTuple):
    """Who commits. Version 0 and admins tell no generation and no member."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None
    version: int = 0

    @property
    def is_member(self) -> bool:
        return self.generation >= 0 or bool(self.member_id) or self.instance_id is not None


class Commit(NamedTuple):
    """One partition. `timestamp` is -1 for now, `retention_ms` -1 for what the broker's config says."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    timestamp: int = -1
    retention_ms: int = -1
    topic_id: bytes = bytes(ZERO_UUID)
