"""What tests of a log need: batches, a log on any disk, jobs run on the spot, and everything it holds as records."""

from odradek.log.append import CLIENT, append_checked
from odradek.log.cleaner.clean_job import begin_round, clean_group
from odradek.log.config import LogConfig
from odradek.log.failure import NotInCache
from odradek.log.flush import flush_job
from odradek.log.loading.load import load_log
from odradek.log.log import Log
from odradek.log.producers.producer_rebuild import rebuild_job
from odradek.log.read import LOG_END, read_ahead
from odradek.log.storage import Storage
from odradek.records.batch import batches
from odradek.records.check import check
from odradek.records.control import end_transaction_marker
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

NOW = 1_700_000_000_000
DIRECTORY = "data/topic-0"


def run(job):
    """The job's result, without an executor."""
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


def config(**changes):
    return LogConfig.default().replace(**changes)


def batch(*values, timestamp=NOW, key=b"k", producer=None, sequence=0, epoch=0, transactional=False):
    records = [Record(number, key, value, timestamp + number) for number, value in enumerate(values)]
    fields = BatchFields(
        producer_id=-1 if producer is None else producer,
        producer_epoch=-1 if producer is None else epoch,
        base_sequence=-1 if producer is None else sequence,
        is_transactional=transactional,
    )
    return bytearray(record_batch(records, fields))


def keyed_batch(pairs, *, timestamp=NOW, producer=None, sequence=0, transactional=False):
    """A batch for a compacted topic: (key, value), None for a tombstone."""
    records = [Record(number, key, value, timestamp) for number, (key, value) in enumerate(pairs)]
    fields = BatchFields(
        producer_id=-1 if producer is None else producer,
        producer_epoch=-1 if producer is None else 0,
        base_sequence=-1 if producer is None else sequence,
        is_transactional=transactional,
    )
    return bytearray(record_batch(records, fields))


def marker(producer, *, commit, epoch=0, coordinator_epoch=0, timestamp=NOW):
    return bytearray(
        end_transaction_marker(commit, coordinator_epoch, timestamp, producer_id=producer, producer_epoch=epoch)
    )


def append_as_leader(log, records, leader_epoch, now_ms, *, origin=CLIENT):
    """As the leader of a partition does: the records are checked, then appended. The buffer is written to."""
    checked = check(records, log.rules, now_ms, is_from_client=origin == CLIENT)
    return append_checked(log, checked, leader_epoch, now_ms, origin)


def clean(disk, task):
    """A whole round of compaction in one job: nothing is swapped in until its end."""
    round_ = yield from begin_round(disk, task)
    replacements = []
    for group in round_.groups:
        replacement = yield from clean_group(disk, round_, group)
        if replacement is not None:
            replacements.append(replacement)
    return round_, replacements


def raise_high_watermark(log, offset):
    """As a leader does: in its epoch it only grows, and never past the end."""
    assert offset <= log.log_end_offset
    if offset > log.high_watermark:
        log.update_high_watermark(offset)


class Partition:
    """A log and the checkpoints that a manager would keep for it."""

    def __init__(self, disk=None, log_config=None, directory=DIRECTORY):
        self.disk = disk or SimDisk()
        self.config = log_config or config()
        self.directory = directory
        self.recovery_point = 0
        self.log_start_offset = 0
        self.rolls = 0
        self.disk.mkdir(directory)
        for parent in ("", directory.partition("/")[0]) if isinstance(self.disk, SimDisk) else ():
            self.disk.fsync_dir(parent)
        self.log = self.load(clean=True)

    def load(self, *, clean, now=NOW, progress=None):
        loaded = run(
            load_log(
                self.disk,
                self.directory,
                "topic-0",
                self.config,
                had_clean_shutdown=clean,
                recovery_point=self.recovery_point,
                log_start_offset=self.log_start_offset,
                now_ms=now,
                progress=progress,
            )
        )
        self.storage = Storage(self.disk, SimRng(7))
        self.log = Log(self.storage, loaded, self.config, now, on_roll=self._rolled)
        return self.log

    def _rolled(self, log):
        self.rolls += 1

    def append(self, *values, leader_epoch=0, now=NOW, **fields):
        return append_as_leader(self.log, batch(*values, **fields), leader_epoch, now)

    def flush(self):
        """As a manager does: the checkpoint is written when the bytes are on disk."""
        plan = self.log.begin_flush(NOW)
        if plan is not None:
            run(flush_job(self.disk, plan))
            self.log.flushed(plan)
        self.checkpoint()

    def checkpoint(self):
        self.recovery_point = self.log.recovery_point
        self.log_start_offset = self.log.log_start_offset

    def checkpoint_start(self):
        self.log_start_offset = self.log.log_start_offset

    def truncate(self, offset):
        self.recovery_point = min(self.recovery_point, self.log.recovery_point_for(offset))
        self.log_start_offset = min(self.log_start_offset, offset)
        plan = self.log.truncate_to(offset, NOW)
        if plan is not None:
            assert self.log.install(plan, run(rebuild_job(self.disk, plan)))

    def close(self):
        plan = self.log.begin_close(NOW)
        run(flush_job(self.disk, plan))
        self.log.closed(plan)
        self.checkpoint()

    def reopen(self):
        self.close()
        return self.load(clean=True)

    def crash(self, profile=None):
        self.disk = self.disk.crash(profile) if profile else self.disk.crash()
        return self.disk

    def records(self, log=None):
        return [(record.offset, bytes(record.value or b"")) for record in read_records(log or self.log)]


def read_warm(log, offset, max_bytes, **options):
    """Reads ahead what is not in the page cache and tries again, as a fetch does."""
    while True:
        try:
            return log.read(offset, max_bytes, **options)
        except NotInCache as cold:
            cold.file.acquire()
            found = run(read_ahead(cold))
            cold.file.release()
            log.note_checked(found)


def read_bytes(log, offset, max_bytes=1 << 20, **options):
    fetched = read_warm(log, offset, max_bytes, **options)
    if fetched.records is None:
        return b""
    data = fetched.records.disk_file.pread(fetched.records.size, fetched.records.position)
    fetched.records.release()
    return data


def read_batches(log, isolation=LOG_END):
    """Every batch from the log's start to its end, each proved by its checksum (L2)."""
    offset = log.log_start_offset
    while True:
        data = read_bytes(log, offset, 1, isolation=isolation)
        if not data:
            return
        found = list(batches(data))
        assert found, "a read gives at least one whole batch"
        for one in found:
            one.ensure_valid()
            assert one.last_offset >= offset
            yield one
            offset = one.last_offset + 1


def read_records(log, isolation=LOG_END):
    for one in read_batches(log, isolation):
        for record in one.records():
            if record.offset >= log.log_start_offset:
                yield record
