"""Produce at a leader: from the records of one partition in a request to what is answered for them.

    check      here, or in a job if the batch is compressed and large, or must be rewritten
    append     in the order in which the checks have ended; the log itself judges sequences at that moment
    answer     at once with acks=1; with acks=all when it is committed; with flush.messages when it is on disk

`check_and_append` returns what is known at once, or a Pending of it. The append itself is the leader's (`leader.py`).
"""

from typing import TYPE_CHECKING, Protocol

from odradek.log.append import CLIENT, AppendInfo
from odradek.log.log import Log
from odradek.log.producers.transaction_verification import VerificationGuard
from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Buffer, JobOf
from odradek.records.assign import rebuilt
from odradek.records.check import check, check_common, check_request
from odradek.records.checked import CheckedRecords
from odradek.records.layout import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_MASK,
    HEADER_SIZE,
    MAGIC_MAX,
    MAGIC_OFFSET,
    PRODUCER,
    PRODUCER_ID_OFFSET,
    TRANSACTIONAL_MASK,
)
from odradek.records.rules import ProduceRules
from odradek.replica.delayed import DelayedPartition
from odradek.replica.leader import Leader
from odradek.replica.partition import Partition

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

ACKS_ALL = -1
JOB_BYTES_MIN = 64 * 1024
UNPACKED_BYTES_MAX = 1024 * 1024  # of a compressed batch that is checked on the reactor's thread: some milliseconds


class ProduceParameters:
    """What holds for all partitions of a Produce request."""

    __slots__ = ("acks", "now_ms", "timeout_ms", "version")

    guard: VerificationGuard | None = None  # under which the coordinator has let in a transactional batch

    def __init__(self, acks: int, timeout_ms: int, version: int, now_ms: int) -> None:
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.version = version
        self.now_ms = now_ms


class Acknowledgement(Protocol):
    """When to answer: what of a request counts once its records are checked."""

    acks: int
    timeout_ms: int


def append_at_once(
    replicas: "ReplicaManager", partition: Partition, records: memoryview, now_ms: int, request: Acknowledgement
) -> AppendInfo | Pending[AppendInfo] | None:
    """Does `check_and_append` for what nearly every request brings. None for anything else: nothing has happened yet.

    It takes the steps of `check_and_append` in the same order. Where those could raise or wait (no leader, records that
    are not plain, too few replicas in sync) it has returned before it counts or writes anything.
    """
    leader = partition.leader
    if leader is None or records.readonly:
        return None
    checked = check_common(records, leader.log.rules, now_ms)
    topic = partition.topic
    # The config is never less than `effective_min_in_sync`: at worst the long way is asked, and has the last word.
    if checked is None or (request.acks == ACKS_ALL and len(partition.isr) < topic.config.min_insync_replicas):
        return None
    topic.produces.count += 1
    return acknowledged(replicas, leader, leader.append(checked, now_ms, CLIENT), request)


def check_and_append(
    replicas: "ReplicaManager", partition: Partition, records: Buffer | None, request: ProduceParameters
) -> AppendInfo | Pending[AppendInfo]:
    """Appends to a partition that we lead; raises what is wrong with the records or the partition."""
    partition.topic.produces.count += 1  # whatever becomes of it
    leader = partition.leading()
    rules = leader.log.rules
    if type(records) is not memoryview or records.readonly:
        records = bytearray(records or b"")
    checked: CheckedRecords | None = check_common(records, rules, request.now_ms)
    if checked is None:
        check_request(records, request.version)
        if is_long_job(records, rules):
            return replicas.loop.spawn(_append_after_job(replicas, partition, bytearray(records), request))
    if request.acks == ACKS_ALL:
        leader.check_min_in_sync()
    if checked is None:
        checked = _checked_quickly(records, rules, request.now_ms)
        if checked is None:
            return replicas.loop.spawn(_append_after_job(replicas, partition, bytearray(records), request))
    return acknowledged(replicas, leader, leader.append(checked, request.now_ms, CLIENT), request)


def _checked_quickly(records: Buffer, rules: ProduceRules, now_ms: int) -> CheckedRecords | None:
    """None for a batch that is short and holds much: 64 KB of gzip may be 64 MB of zeros."""
    quickly = rules.unpacking_at_most(UNPACKED_BYTES_MAX)
    try:
        checked = check(records, quickly, now_ms)
    except errors.RecordListTooLarge:
        return None
    checked.rules = rules
    return checked


def is_long_job(records: Buffer, rules: ProduceRules) -> bool:
    """Whether checking takes too long for the reactor's thread: what must be unpacked and is large, or rewritten."""
    if len(records) < HEADER_SIZE:
        return False
    if records[MAGIC_OFFSET] < MAGIC_MAX:
        return len(records) >= JOB_BYTES_MIN or rules.codec not in (None, 0)
    codec = records[ATTRIBUTES_OFFSET + 1] & COMPRESSION_MASK
    if rules.codec is not None and rules.codec != codec:
        return True
    return bool(codec) and len(records) >= JOB_BYTES_MIN


async def _append_after_job(
    replicas: "ReplicaManager", partition: Partition, records: bytearray, request: ProduceParameters
) -> AppendInfo:
    """`records` is a copy: the request's buffer is gone by the time the job has ended."""
    rules = partition.leader_log().rules
    checked: CheckedRecords = await replicas.loop.submit(check_job(records, rules, request.now_ms))
    leader = partition.leading()  # it may have been lost meanwhile
    if request.guard is not None or replicas.verifies_transactions:
        check_still_in_transaction(leader.log, records, request.guard)
    if request.acks == ACKS_ALL:
        leader.check_min_in_sync()
    appended = acknowledged(replicas, leader, leader.append(checked, request.now_ms, CLIENT), request)
    return await appended if isinstance(appended, Pending) else appended


def check_still_in_transaction(log: Log, records: Buffer, guard: VerificationGuard | None) -> None:
    """Time has passed since it was found that these records belong to an open transaction: do they still?"""
    if records[MAGIC_OFFSET] == MAGIC_MAX and records[ATTRIBUTES_OFFSET + 1] & TRANSACTIONAL_MASK:
        producer_id, producer_epoch, sequence = PRODUCER.unpack_from(records, PRODUCER_ID_OFFSET)
        log.producers.check_in_transaction(producer_id, producer_epoch, sequence, guard)


def check_job(records: bytearray, rules: ProduceRules, now_ms: int) -> JobOf[CheckedRecords]:
    """What must be rewritten is rewritten here: recompressed, or converted to magic 2, from offset 0 on."""
    yield len(records)
    checked = check(records, rules, now_ms)
    if checked.needs_rebuild:
        checked = rebuilt(checked, now_ms)
    return checked


# What an append waits for before it is answered.


def acknowledged(
    replicas: "ReplicaManager", leader: Leader, info: AppendInfo, request: Acknowledgement
) -> AppendInfo | Pending[AppendInfo]:
    """What the leader has appended, once it counts for this request."""
    if info.flushed is not None:
        return replicas.loop.spawn(_after_flush(replicas, leader, info, info.flushed, request))
    if request.acks != ACKS_ALL or leader.log.high_watermark > info.last_offset:
        return info
    return _replicated(replicas, leader, info, request)


async def _after_flush(
    replicas: "ReplicaManager", leader: Leader, info: AppendInfo, flushed: Pending[None], request: Acknowledgement
) -> AppendInfo:
    log = leader.log
    await flushed
    if request.acks != ACKS_ALL or log.high_watermark > info.last_offset:
        return info
    return await _replicated(replicas, leader, info, request)


def _replicated(
    replicas: "ReplicaManager", leader: Leader, info: AppendInfo, request: Acknowledgement
) -> Pending[AppendInfo]:
    partition = leader.partition

    def attempt() -> AppendInfo | None:
        if partition.leader is not leader:
            partition.leading()  # raises why nobody leads here; else it is we, in a later epoch
            raise errors.NotLeaderOrFollower(f"{partition.name} has another leader epoch since the append.")
        if leader.log.high_watermark <= info.last_offset:
            return None
        if len(partition.isr) < partition.topic.effective_min_in_sync(len(partition.replicas)):
            raise errors.NotEnoughReplicasAfterAppend(f"{partition.name} lost replicas while it waited for them.")
        return info

    delayed = DelayedPartition(replicas.loop, replicas.purgatories["Produce"], partition, request.timeout_ms, attempt)
    return delayed.pending
