"""OffsetCommit and TxnOffsetCommit: who may say how far a group has read.

A member of the current generation may; so may anybody with generation -1 while the group has no members: an admin, or a
consumer that was assigned its partitions by hand and only keeps its offsets here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY
from odradek.coordinator.group.commit_request import SPEAKS_MEMBER_EPOCHS, Commit, CommitFrom
from odradek.coordinator.group.offsets import NO_EXPIRY
from odradek.coordinator.group.records import offset_value
from odradek.coordinator.group.rooms import GroupRooms
from odradek.coordinator.now import Now
from odradek.protocol import errors

if TYPE_CHECKING:
    from odradek.replicated.log_record import Versioned


def commit_offsets(rooms: GroupRooms, now: Now, sender: CommitFrom, commits: Sequence[Commit]) -> Decided[list[int]]:
    codes = _codes(rooms, sender, commits, is_transactional=False)
    if codes is not None:
        return _written_where(rooms, now, sender, commits, codes, -1, -1)
    try:
        group = _checked(rooms, sender)
        if group is not None and group.state == COMPLETING_REBALANCE:
            raise errors.RebalanceInProgress()  # it knows of a generation whose assignment is not there yet
    except errors.KafkaError as error:
        return Decided(response=[error.code] * len(commits))
    if group is not None and group.state != EMPTY:
        rooms.classic.begin_session(group, group.members[sender.member_id], now)
    return _written(rooms, now, sender, commits, -1, -1)


def _codes(
    rooms: GroupRooms, sender: CommitFrom, commits: Sequence[Commit], *, is_transactional: bool
) -> list[int] | None:
    """In a group of the consumer or the streams protocol; None if it is neither."""
    codes = rooms.consumers.commit_codes(sender, commits, is_transactional=is_transactional)
    return rooms.streams.commit_codes(sender, commits, is_transactional=is_transactional) if codes is None else codes


def txn_offset_commit(
    rooms: GroupRooms, now: Now, sender: CommitFrom, commits: Sequence[Commit], producer_id: int, producer_epoch: int
) -> Decided[list[int]]:
    codes = _codes(rooms, sender, commits, is_transactional=True)
    if codes is not None:
        return _written_where(rooms, now, sender, commits, codes, producer_id, producer_epoch)
    try:
        _checked(rooms, sender, is_transactional=True)
    except errors.KafkaError as error:
        return Decided(response=[error.code] * len(commits))
    return _written(rooms, now, sender, commits, producer_id, producer_epoch)


def _checked(rooms: GroupRooms, sender: CommitFrom, *, is_transactional: bool = False) -> ClassicGroup | None:
    """The group, None if the commit is what will make it."""
    if sender.group_id in rooms.shares.groups:
        raise errors.GroupIdNotFound()  # its offsets are kept elsewhere
    group = rooms.classic.groups.get(sender.group_id)
    if group is None:
        if sender.generation < 0:
            return None
        is_refused_as_such = rooms.behaviour.refuses_commits_to_no_group
        if is_transactional and not is_refused_as_such:
            raise errors.UnknownMemberId()
        if sender.version >= SPEAKS_MEMBER_EPOCHS and not is_transactional and is_refused_as_such:
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
    rooms: GroupRooms,
    now: Now,
    sender: CommitFrom,
    commits: Sequence[Commit],
    codes: Sequence[int],
    producer_id: int,
    producer_epoch: int,
) -> Decided[list[int]]:
    """Writes the commits that have no error; the answer has the codes of all."""
    accepted = [commit for commit, code in zip(commits, codes, strict=True) if code == errors.NONE]
    decided = _written(rooms, now, sender, accepted, producer_id, producer_epoch)
    left = iter(decided.response)
    decided.response = [next(left) if code == errors.NONE else code for code in codes]
    return decided


def _written(
    rooms: GroupRooms, now: Now, sender: CommitFrom, commits: Sequence[Commit], producer_id: int, producer_epoch: int
) -> Decided[list[int]]:
    records: list[Versioned] = []
    codes = []
    for commit in commits:
        if _is_too_large(commit.metadata, rooms.config.metadata_bytes_max):
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
        record = rooms.offset_records.record(
            sender.group_id, commit.topic, commit.partition, value, producer_id, producer_epoch
        )
        records.append(record)
    rooms.counts.offset_commits += len(records)
    return Decided(records, codes, is_atomic=producer_id >= 0)


def _is_too_large(metadata: str | None, limit_bytes: int) -> bool:
    """Java counts characters, in UTF-16 units."""
    if metadata is None or len(metadata) * 2 <= limit_bytes:
        return False
    return len(metadata.encode("utf-16-be", "surrogatepass")) // 2 > limit_bytes
