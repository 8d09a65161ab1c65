"""OffsetCommit and TxnOffsetCommit: who may say how far a group has read.

A member of the current generation may; so may anybody with generation -1 while the group has no members: an admin, or a
consumer that was assigned its partitions by hand and only keeps its offsets here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic.classic_group import COMPLETING_REBALANCE, EMPTY, ClassicGroup
from odradek.coordinator.group.offsets import NO_EXPIRY
from odradek.coordinator.group.records import offset_value
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.field import ZERO_UUID

if TYPE_CHECKING:
    from odradek.coordinator.group.core import GroupCore
    from odradek.replicated.log_record import Versioned

_SPEAKS_MEMBER_EPOCHS = 9  # the first version of OffsetCommit that tells a missing group by its own error


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


def commit_offsets(core: "GroupCore", now: Now, sender: CommitFrom, commits: Sequence[Commit]) -> Decided[list[int]]:
    codes = _codes(core, sender, commits, is_transactional=False)
    if codes is not None:
        return _written_where(core, now, sender, commits, codes, -1, -1)
    try:
        group = _checked(core, sender)
        if group is not None and group.state == COMPLETING_REBALANCE:
            raise errors.RebalanceInProgress()  # it knows of a generation whose assignment is not there yet
    except errors.KafkaError as error:
        return Decided(response=[error.code] * len(commits))
    if group is not None and group.state != EMPTY:
        core.begin_session(group, group.members[sender.member_id], now)
    return _written(core, now, sender, commits, -1, -1)


def _codes(
    core: "GroupCore", sender: CommitFrom, commits: Sequence[Commit], *, is_transactional: bool
) -> list[int] | None:
    """In a group of the consumer or the streams protocol; None if it is neither."""
    codes = core.consumers.commit_codes(sender, commits, is_transactional=is_transactional)
    return core.streams.commit_codes(sender, commits, is_transactional=is_transactional) if codes is None else codes


def txn_offset_commit(
    core: "GroupCore", now: Now, sender: CommitFrom, commits: Sequence[Commit], producer_id: int, producer_epoch: int
) -> Decided[list[int]]:
    codes = _codes(core, sender, commits, is_transactional=True)
    if codes is not None:
        return _written_where(core, now, sender, commits, codes, producer_id, producer_epoch)
    try:
        _checked(core, sender, is_transactional=True)
    except errors.KafkaError as error:
        return Decided(response=[error.code] * len(commits))
    return _written(core, now, sender, commits, producer_id, producer_epoch)


def _checked(core: "GroupCore", sender: CommitFrom, *, is_transactional: bool = False) -> ClassicGroup | None:
    """The group, None if the commit is what will make it."""
    if sender.group_id in core.shares.groups:
        raise errors.GroupIdNotFound()  # its offsets are kept elsewhere
    group = core.groups.get(sender.group_id)
    if group is None:
        if sender.generation < 0:
            return None
        is_refused_as_such = core.behaviour.refuses_commits_to_no_group
        if is_transactional and not is_refused_as_such:
            raise errors.UnknownMemberId()
        if sender.version >= _SPEAKS_MEMBER_EPOCHS and not is_transactional and is_refused_as_such:
            raise errors.GroupIdNotFound()
        raise errors.IllegalGeneration()
    if sender.generation < 0 and group.state == EMPTY:
        return group
    if sender.is_member:
        group.check_member(sender.member_id, sender.instance_id)
        if sender.generation != group.generation:
            raise errors.IllegalGeneration()
    elif not is_transactional and group.state != EMPTY:
        raise errors.UnknownMemberId()  # a group with members is theirs
    return group


def _written_where(
    core: "GroupCore",
    now: Now,
    sender: CommitFrom,
    commits: Sequence[Commit],
    codes: Sequence[int],
    producer_id: int,
    producer_epoch: int,
) -> Decided[list[int]]:
    """Those that have no error; with the codes of all."""
    accepted = [commit for commit, code in zip(commits, codes, strict=True) if code == errors.NONE]
    decided = _written(core, now, sender, accepted, producer_id, producer_epoch)
    left = iter(decided.response)
    decided.response = [next(left) if code == errors.NONE else code for code in codes]
    return decided


def _written(
    core: "GroupCore", now: Now, sender: CommitFrom, commits: Sequence[Commit], producer_id: int, producer_epoch: int
) -> Decided[list[int]]:
    records: list[Versioned] = []
    codes = []
    for commit in commits:
        if _is_too_large(commit.metadata, core.config.metadata_bytes_max):
            codes.append(errors.OffsetMetadataTooLarge.code)
            continue
        codes.append(errors.NONE)
        value = offset_value(
            commit.offset,
            commit.leader_epoch,
            commit.metadata or "",
            now.wall_ms if commit.timestamp == -1 else commit.timestamp,
            NO_EXPIRY if commit.retention_ms == -1 else now.wall_ms + commit.retention_ms,
            commit.topic_id,
        )
        record = core.records.offset(
            sender.group_id, commit.topic, commit.partition, value, producer_id, producer_epoch
        )
        records.append(record)
    core.counts.offset_commits += len(records)
    return Decided(records, codes, is_atomic=producer_id >= 0)


def _is_too_large(metadata: str | None, limit_bytes: int) -> bool:
    """Java counts characters, in UTF-16 units."""
    if metadata is None or len(metadata) * 2 <= limit_bytes:
        return False
    return len(metadata.encode("utf-16-be", "surrogatepass")) // 2 > limit_bytes
