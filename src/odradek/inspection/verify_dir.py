"""`odradek log check`: every rule of a log dir, offline. It opens nothing for writing and takes no lock.

The dir's own files come first, because the clean-shutdown marker and the recovery points decide what a crash may have
left; then every partition; then what the checkpoints and topic ids say of them, which only a walk can confirm.
"""

from collections.abc import Callable

from odradek.config import properties
from odradek.config.errors import ConfigError
from odradek.inspection import file_forms
from odradek.inspection.file_names import (
    CHECKPOINTS,
    CLEAN_SHUTDOWN,
    CLEANER,
    HIGH_WATERMARK,
    LOG_START,
    META_PROPERTIES,
    RECOVERY_POINT,
    partition_dir,
)
from odradek.inspection.findings import MOVE_OUT, Finding, Report, Summary
from odradek.inspection.log_dir_state import METADATA_LOG
from odradek.inspection.verify_metadata import check_snapshot
from odradek.inspection.verify_partition import Checkpoints, PartitionCheck
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import format_uuid, parse_uuid
from odradek.reactor.ports import Disk, JobOf

PRODUCER_EXPIRATION_MS = 86_400_000  # producer.id.expiration.ms

BOOTSTRAP = "bootstrap.checkpoint"
_KNOWN_FILES = {*CHECKPOINTS, CLEAN_SHUTDOWN, META_PROPERTIES, BOOTSTRAP, ".lock"}
_KNOWN_DIRS = {"remote-log-index-cache"}

Offsets = dict[TopicPartition, int]


def verify_dir(
    disk: Disk, directory: str, show: Callable[[Finding], None], *, producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
) -> JobOf[Summary]:
    """Yields the bytes of each batch it has checked, hands every finding to `show`, returns a `Summary`."""
    report = Report(show)
    check = _DirCheck(disk, directory, report, producer_expiration_ms)
    yield from check.run()
    return Summary(directory, check.is_clean, report)


class _DirCheck:
    def __init__(self, disk: Disk, directory: str, report: Report, producer_expiration_ms: int) -> None:
        self._disk = disk
        self._directory = directory
        self._report = report
        self._expiration_ms = producer_expiration_ms
        self._names = disk.list(directory)
        self._offsets: dict[str, Offsets] = {}
        self._partitions: dict[TopicPartition, PartitionCheck] = {}
        self._dropped: set[TopicPartition] = set()
        self.is_clean = CLEAN_SHUTDOWN in self._names

    def run(self) -> JobOf[None]:
        self._check_marker()
        self._check_meta_properties()
        for name in CHECKPOINTS:
            self._offsets[name] = self._read_checkpoint(name)
        for name in self._names:
            if self._disk.is_dir(self._path(name)):
                yield from self._check_directory(name)
            elif name == BOOTSTRAP:
                yield from check_snapshot(self._disk, self._path(name), name, self._report)
            else:
                self._check_name(name)
        for name in CHECKPOINTS:
            self._check_offsets(name)
        self._check_topic_ids()

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"

    def _check_name(self, name: str) -> None:
        if name.endswith(".tmp"):
            self._report.note("names", name, None, "what was left of writing a checkpoint")
        elif name not in _KNOWN_FILES:
            self._report.error("names", name, None, "not a file of a log dir", remedy=MOVE_OUT)

    def _check_marker(self) -> None:
        """Empty up to 3.6, since then JSON with the broker's epoch."""
        if not self.is_clean:
            reason = "missing: the broker was not stopped cleanly, or runs, or a log was repaired since"
            self._report.note("shutdown", CLEAN_SHUTDOWN, None, reason)
            return
        data = self._disk.read(self._path(CLEAN_SHUTDOWN))
        try:
            form = file_forms.json_object(data) if data else {"version": 0}
        except file_forms.MalformedFile as error:
            self._report.error("shutdown", CLEAN_SHUTDOWN, error.position, error.reason)
            return
        if form.get("version") != 0:
            self._report.error("shutdown", CLEAN_SHUTDOWN, 1, f"version {form.get('version')!r} is not known")

    def _check_meta_properties(self) -> None:
        if META_PROPERTIES not in self._names:
            self._report.error("meta", META_PROPERTIES, None, "the file is missing: which broker is this?")
            return
        try:
            found = properties.load(self._disk.read(self._path(META_PROPERTIES)), META_PROPERTIES)
        except ConfigError as error:
            self._report.error("meta", META_PROPERTIES, None, str(error))
            return
        for reason in _meta_problems(found):
            self._report.error("meta", META_PROPERTIES, None, reason)
        if found.get("version") == "1":  # of KRaft
            self._check_has_metadata_log()

    def _check_has_metadata_log(self) -> None:
        """One dir of a broker has it, and no file tells which: the others are sound without it, this one is not."""
        is_used = any(name in CHECKPOINTS or name == CLEAN_SHUTDOWN or partition_dir(name) for name in self._names)
        if is_used and METADATA_LOG not in self._names:
            reason = (
                "not in this dir: if no other dir of the broker has it, it is lost, and no start goes on without it: "
                "bring it back from a copy"
            )
            self._report.note("metadata", METADATA_LOG, None, reason)

    def _read_checkpoint(self, name: str) -> Offsets:
        if name not in self._names:
            if name != CLEANER:
                self._report.judge(not self.is_clean, "checkpoint", name, None, "the file is missing")
            return {}
        data = self._disk.read(self._path(name))
        if not data and not self._may_be_empty(name):
            self._report.judge(not self.is_clean, "checkpoint", name, None, "the file is empty")
        try:
            return file_forms.offset_checkpoint(data)
        except file_forms.MalformedFile as error:
            self._report.error("checkpoint", name, error.position, error.reason)
            return {}

    def _may_be_empty(self, name: str) -> bool:
        """A start makes the files, empty; what is in them follows only when there is something to tell.

        The cleaner writes its file when it has compacted something, the replicas theirs when there is one of them (the
        metadata log is none). The other two a clean stop writes in any case, be it without an entry.
        """
        topics = {found.topic for found in map(partition_dir, self._names) if found and not found.mark}
        return name == CLEANER or (name == HIGH_WATERMARK and topics <= {CLUSTER_METADATA_TOPIC})

    def _check_directory(self, name: str) -> JobOf[None]:
        found = partition_dir(name)
        if found is None:
            if name not in _KNOWN_DIRS:
                reason = "not the directory of a partition; Kafka refuses to start with it"
                self._report.error("names", name, None, reason, remedy=MOVE_OUT)
            return
        key = TopicPartition(found.topic, found.partition)
        if not found.mark:
            partition = self._partition(name, found.topic, self._checkpoints_of(key))
            self._partitions[key] = partition
            yield from partition.run()
            return
        self._report.note("names", name, None, f"a directory marked for {found.mark}")
        self._dropped.add(key)
        if found.mark == "future":
            yield from self._partition(name, found.topic, Checkpoints()).run()

    def _partition(self, name: str, topic: str, checkpoints: Checkpoints) -> PartitionCheck:
        return PartitionCheck(
            self._disk,
            self._path(name),
            name,
            topic,
            self._report,
            checkpoints,
            is_clean=self.is_clean,
            producer_expiration_ms=self._expiration_ms,
        )

    def _checkpoints_of(self, key: TopicPartition) -> Checkpoints:
        return Checkpoints(*(self._offsets[name].get(key) for name in CHECKPOINTS))

    def _check_offsets(self, name: str) -> None:
        for line, (key, offset) in enumerate(self._offsets[name].items(), 3):
            partition = self._partitions.get(key)
            if partition is None:
                is_legal = not self.is_clean or key in self._dropped
                message = f"{key} is listed, there is no such directory"
                self._report.judge(is_legal, "checkpoint", name, line, message)
            else:
                self._check_offset(name, line, offset, partition)

    def _check_offset(self, name: str, line: int, offset: int, partition: PartitionCheck) -> None:
        """L4 and L7: log start <= high watermark <= log end, and what was synced is there."""
        start, end = partition.log_start_offset, partition.log_end_offset
        place = f"{partition.name} has {offset}"
        if offset > end:
            if partition.replay.is_broken:
                return  # its end cannot be told, and the damage was reported
            # Only the synced part of the log is sure to survive a crash; the recovery point says how far it goes.
            is_legal = not self.is_clean and name != RECOVERY_POINT
            self._report.judge(is_legal, "checkpoint", name, line, f"{place}, its log ends at {end}")
        elif offset < partition.first_base_offset and name == LOG_START:
            message = f"{place}, its first segment begins at {partition.first_base_offset}"
            self._report.note("checkpoint", name, line, message)
        elif offset < start and name == HIGH_WATERMARK:
            self._report.judge(not self.is_clean, "checkpoint", name, line, f"{place}, its log starts at {start}")
        elif offset < start and name == CLEANER:
            self._report.note("checkpoint", name, line, f"{place}, its log starts at {start}")
        elif offset < end and name == RECOVERY_POINT and self.is_clean:
            message = f"{place}, its log ends at {end}: a clean stop syncs all of it"
            self._report.note("checkpoint", name, line, message)

    def _check_topic_ids(self) -> None:
        """One id per topic, one topic per id."""
        topics: dict[bytes, str] = {}
        ids: dict[str, bytes] = {}
        for partition in self._partitions.values():
            topic_id = partition.topic_id
            if topic_id is None:
                continue
            shown = f"topic id {format_uuid(topic_id)}"
            if topics.setdefault(topic_id, partition.topic) != partition.topic:
                message = f"{shown} is that of {topics[topic_id]} too"
                self._report.error("topic id", f"{partition.name}/partition.metadata", 2, message)
            elif ids.setdefault(partition.topic, topic_id) != topic_id:
                message = f"{shown}, other partitions of {partition.topic} have {format_uuid(ids[partition.topic])}"
                self._report.error("topic id", f"{partition.name}/partition.metadata", 2, message)
            elif not any(topic_id[:15]) and partition.topic != CLUSTER_METADATA_TOPIC:
                message = f"{shown} is reserved"
                self._report.error("topic id", f"{partition.name}/partition.metadata", 2, message)


def _meta_problems(found: dict[str, str]) -> list[str]:
    """Version 0 is ZooKeeper's, with broker.id; version 1 KRaft's, with node.id and since 3.7 directory.id."""
    version = found.get("version")
    if version not in ("0", "1"):
        return [f"version {version!r} is not known"]
    problems = []
    id_name = "broker.id" if version == "0" else "node.id"
    if not found.get(id_name, "").isdigit():
        problems.append(f"{id_name} is {found.get(id_name)!r}, expected a whole number")
    if not found.get("cluster.id"):
        problems.append("cluster.id is missing")
    try:
        parse_uuid(found.get("directory.id", "AAAAAAAAAAAAAAAAAAAAAQ"))
    except ValueError as error:
        problems.append(f"directory.id: {error}")
    return problems
