"""Appends of a leader: from the records of one partition in a request to what is answered for them.

    check      here, or in a job if the batch is compressed and large, or must be rewritten
    append     in the order in which the checks have ended; the log itself judges sequences at that moment
    commit     the high watermark moves when all in-sync replicas have it, here often at once
    answer     at once with acks=1; with acks=all when it is committed; with flush.messages when it is on disk

`append` returns what is known at once, or a Pending of it.
"""

from typing import TYPE_CHECKING, Protocol

from odradek.log.append import CLIENT, AppendInfo
from odradek.log.append import append_checked as append_to_log
from odradek.log.failure import DiskFull, LogFailure
from odradek.log.log import Log
from odradek.log.producers.transaction_verification import VerificationGuard
from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Buffer, Job
from odradek.records.assign import rebuilt
from odradek.records.check import check, check_common, check_request
from odradek.records.checked import CheckedRecords, PlainRecords
from odradek.records.layout import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_MASK,
    HEADER,
    HEADER_SIZE,
    MAGIC_MAX,
    MAGIC_OFFSET,
    TRANSACTIONAL_MASK,
)
from odradek.records.rules import ProduceRules
from odradek.replica.delayed import DelayedPartition
from odradek.replica.partition import Partition

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

ACKS_ALL = -1
JOB_BYTES_MIN = 64 * 1024
UNPACKED_BYTES_MAX = 1024 * 1024  # of a compressed batch that is checked on the reactor's thread: some milliseconds


class AppendRequest:
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
    replicas: "ReplicaManager", partition: Partition, records: object, now_ms: int, request: Acknowledgement
) -> AppendInfo | Pending[AppendInfo] | None:
    """`append` for what nearly every request brings, and None for anything else; then nothing has happened yet."""
    log = partition.log
    if log is None or not partition.is_leader or type(records) is not memoryview or records.readonly:
        return None
    checked = check_common(records, log.rules, now_ms)
    topic = partition.topic
    if checked is None or (request.acks == ACKS_ALL and len(partition.isr) < topic.config.min_insync_replicas):
        return None
    topic.produces.count += 1
    return _append_checked(replicas, partition, log, checked, now_ms, request)


def append(
    replicas: "ReplicaManager", partition: Partition, records: Buffer | None, request: AppendRequest
) -> AppendInfo | Pending[AppendInfo]:
    partition.topic.produces.count += 1  # whatever becomes of it
    log = partition.log
    if log is None or not partition.is_leader:
        partition.leader_log()
        raise AssertionError("a partition without a log led here")
    if type(records) is not memoryview or records.readonly:
        records = bytearray(records or b"")
    checked: CheckedRecords | None = check_common(records, log.rules, request.now_ms)
    if checked is None:
        check_request(records, request.version)
        if is_long_job(records, log.rules):
            return replicas.loop.spawn(_append_after_job(replicas, partition, bytearray(records), request))
    if request.acks == ACKS_ALL and len(partition.isr) < partition.topic.config.min_insync_replicas:
        partition.check_min_in_sync()
    if checked is None:
        checked = _checked_quickly(records, log.rules, request.now_ms)
        if checked is None:
            return replicas.loop.spawn(_append_after_job(replicas, partition, bytearray(records), request))
    return _append_checked(replicas, partition, log, checked, request.now_ms, request)


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


def _append_checked(
    replicas: "ReplicaManager",
    partition: Partition,
    log: Log,
    checked: CheckedRecords,
    now_ms: int,
    request: Acknowledgement,
) -> AppendInfo | Pending[AppendInfo]:
    try:
        info = append_to_log(log, checked, partition.leader_epoch, now_ms, CLIENT)
    except LogFailure as failure:
        replicas.logs.handle_failure(failure)
        raise
    except DiskFull as full:
        replicas.logs.dirs.full(full.path)
        raise
    last_offset = info.last_offset
    if not info.is_duplicate:
        count = checked.count
        size = len(checked.buffer) if type(checked) is PlainRecords else len(checked.batches[0].buffer)
        topic = partition.topic
        topic.messages_in.count += count
        topic.bytes_in.count += size
    if log.log_end_offset - log.recovery_point >= log.config.flush_messages and last_offset >= log.recovery_point:
        return replicas.loop.spawn(flushed(replicas, partition, log, info, request))  # one that came again waits, too
    if not info.is_duplicate:
        partition.appended()
    if request.acks != ACKS_ALL or log.high_watermark > last_offset:
        return info
    return replicated(replicas, partition, info, request)


async def _append_after_job(
    replicas: "ReplicaManager", partition: Partition, records: bytearray, request: AppendRequest
) -> AppendInfo:
    """`records` is a copy: the request's buffer is gone by the time the job has ended."""
    rules = partition.leader_log().rules
    checked: CheckedRecords = await replicas.loop.submit(check_job(records, rules, request.now_ms))
    log = partition.leader_log()  # it may have been lost meanwhile
    if request.guard is not None or replicas.verifies_transactions:
        check_membership(log, records, request.guard)
    if request.acks == ACKS_ALL:
        partition.check_min_in_sync()
    appended = _append_checked(replicas, partition, log, checked, request.now_ms, request)
    return await appended if isinstance(appended, Pending) else appended


def check_membership(log: Log, records: Buffer, guard: VerificationGuard | None) -> None:
    """Time has passed since it was found that these records belong to an open transaction: do they still?"""
    if records[MAGIC_OFFSET] == MAGIC_MAX and records[ATTRIBUTES_OFFSET + 1] & TRANSACTIONAL_MASK:
        header = HEADER.unpack_from(records)
        log.producers.check_membership(header[9], header[10], header[11], guard)


def check_job(records: bytearray, rules: ProduceRules, now_ms: int) -> Job:
    """What must be rewritten is rewritten here: recompressed, or converted to magic 2, from offset 0 on."""
    yield len(records)
    checked = check(records, rules, now_ms)
    if checked.needs_rebuild:
        checked = rebuilt(checked, now_ms)
    return checked


async def flushed(
    replicas: "ReplicaManager", partition: Partition, log: Log, info: AppendInfo, request: Acknowledgement
) -> AppendInfo:
    """flush.messages: neither acknowledged nor shown to consumers before it is on disk."""
    await replicas.logs.flush(log)
    if partition.log is log:
        partition.log_end_moved()
    elif not partition.is_leader:
        partition.check_online()
        raise errors.NotLeaderOrFollower(f"{partition.name} has got another leader before the records were flushed.")
    if request.acks != ACKS_ALL or log.high_watermark > info.last_offset:
        return info
    return await replicated(replicas, partition, info, request)


def replicated(
    replicas: "ReplicaManager", partition: Partition, info: AppendInfo, request: Acknowledgement
) -> Pending[AppendInfo]:
    leader_epoch = partition.leader_epoch

    def attempt() -> AppendInfo | None:
        if partition.leader_epoch != leader_epoch or not partition.is_leader:
            partition.leader_log()
            raise errors.NotLeaderOrFollower(f"{partition.name} has another leader epoch since the append.")
        log = partition.leader_log()
        if log.high_watermark <= info.last_offset:
            return None
        if len(partition.isr) < partition.topic.effective_min_in_sync(len(partition.replicas)):
            raise errors.NotEnoughReplicasAfterAppend(f"{partition.name} lost replicas while it waited for them.")
        return info

    delayed = DelayedPartition(replicas.loop, replicas.purgatories["Produce"], partition, request.timeout_ms, attempt)
    return delayed.pending
