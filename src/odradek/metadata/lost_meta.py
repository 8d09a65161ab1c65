"""What a directory without a usable `meta.properties` is: a fresh one, a broker's, or something else altogether.

A broker's must never be formatted again: with another id the directory would be a stranger to its own metadata log.
What the file said is known elsewhere, except for the cluster's id:

    node.id         the voters in the metadata log, where there is but one; else the config
    directory.id    the voters; or the broker's last registration, less the dirs that have their file
    cluster.id      the other dirs of the node; a metadata log never names its cluster
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.broken_rule import instance
from odradek.log import names
from odradek.log.manager.log_dir import CHECKPOINTS
from odradek.metadata import bootstrap, meta_properties
from odradek.metadata.meta_properties import MetaProperties, path_of
from odradek.metadata.quorum_config import METADATA_LOG
from odradek.protocol.errors import KafkaError, PeerProtocolError
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.control_records import VotersRecord, VotersRecordVoter
from odradek.protocol.messages.metadata_brokers import RegisterBrokerRecord
from odradek.protocol.uuids import format_uuid
from odradek.reactor.ports import Disk
from odradek.records import control
from odradek.records.batch import RecordBatch, batches

FIRST_SNAPSHOT = f"{0:020}-{0:010}.checkpoint"

_HALF_FORMATTED = frozenset(
    name + suffix for name in (bootstrap.FILE_NAME, meta_properties.FILE_NAME) for suffix in ("", ".tmp")
)
HARMLESS = _HALF_FORMATTED | {names.LOCK, "lost+found", METADATA_LOG}
_OF_A_BROKER = frozenset((*CHECKPOINTS, names.CLEANER_OFFSETS, names.CLEAN_SHUTDOWN))
_UNKNOWN_CLUSTER = "<the id that your clients' tools show, or that another node has>"
_UNKNOWN_NODE = "<that of your config>"


def not_fresh(disk: Disk, directory: str) -> list[str]:
    """What lies there that a formatting that was interrupted does not leave behind."""
    found = [name for name in disk.list(directory) if name not in HARMLESS]
    log = f"{directory}/{METADATA_LOG}"
    if disk.is_dir(log):
        found += [f"{METADATA_LOG}/{name}" for name in disk.list(log) if not name.startswith(FIRST_SNAPSHOT)]
    return found


def of_a_broker(disk: Disk, directory: str) -> str | None:
    """The first thing there that only a broker can have written."""
    for name in not_fresh(disk, directory):
        if name in _OF_A_BROKER or name.startswith(f"{METADATA_LOG}/"):
            return name
        if names.parse_dir_name(name) is not None and disk.is_dir(f"{directory}/{name}"):
            return name
    return None


def lost(disk: Disk, directory: str, metadata_dir: str, others: Mapping[str, MetaProperties]) -> str | None:
    """Why a dir without the file must not be formatted, and what to do; None if it may be."""
    held = of_a_broker(disk, directory)
    if held is None:
        return None
    lines = _lines(disk, directory, metadata_dir, others)
    return (
        f"{directory} is a broker's, for it holds {held}, but its {meta_properties.FILE_NAME} is lost: bring it back, "
        f"or write {path_of(directory)} with the lines {lines}; formatting would make the dir a stranger to its data"
    )


def unreadable(
    disk: Disk, directory: str, metadata_dir: str, others: Mapping[str, MetaProperties], error: object
) -> str:
    """What is wrong with the file of a dir, and what belongs there."""
    told = f"{path_of(directory)} is unreadable: {error}"
    if of_a_broker(disk, directory) is None:
        return f"{told}; nothing of a broker is beside it: take the file away, and the dir can be formatted"
    lines = _lines(disk, directory, metadata_dir, others)
    return f"{told}; bring it back, or write it again with the lines {lines}"


def _lines(disk: Disk, directory: str, metadata_dir: str, others: Mapping[str, MetaProperties]) -> str:
    facts = _facts(disk, f"{metadata_dir}/{METADATA_LOG}")
    node_id = next((meta.node_id for meta in others.values()), facts.node_id)
    cluster_id = next((meta.cluster_id for meta in others.values()), None)
    found = {
        "version": str(meta_properties.VERSION_1),
        "node.id": _UNKNOWN_NODE if node_id is None else str(node_id),
        "cluster.id": cluster_id or _UNKNOWN_CLUSTER,
    }
    directory_id = _directory_id(facts, directory == metadata_dir, others)
    if directory_id is not None:
        found["directory.id"] = directory_id
    return ", ".join(f"{name}={value}" for name, value in found.items())


class _Facts(NamedTuple):
    """What the newest records of a metadata log tell of the node that it lies on."""

    voters: list[VotersRecordVoter] | None = None
    registration: RegisterBrokerRecord | None = None

    @property
    def node_id(self) -> int | None:
        if self.voters is not None and len(self.voters) == 1:
            return self.voters[0].voter_id
        return None if self.registration is None else self.registration.broker_id


def _directory_id(facts: _Facts, is_metadata_dir: bool, others: Mapping[str, MetaProperties]) -> str | None:
    """None where there was none: a 3.3 knows no ids of directories."""
    if is_metadata_dir and facts.voters is not None and len(facts.voters) == 1:
        return format_uuid(facts.voters[0].voter_directory_id)
    taken = {meta.directory_id for meta in others.values()}
    if facts.registration is not None and not facts.registration.log_dirs:
        return None
    left = [] if facts.registration is None else [each for each in facts.registration.log_dirs if each not in taken]
    if left:
        return " or ".join(format_uuid(each) for each in left)
    return None if taken == {None} else "<a new one of `odradek storage random-uuid`>"


def _facts(disk: Disk, log: str) -> _Facts:
    """From the newest file backwards, until both are known. What cannot be read tells nothing."""
    found = _Facts()
    for path in _newest_first(disk, log):
        voters, registration = _read(disk, path)
        found = _Facts(found.voters or voters, found.registration or registration)
        if found.voters is not None and found.registration is not None:
            break
    return found


def _newest_first(disk: Disk, log: str) -> list[str]:
    """Segments, then snapshots: what a segment says is said later than any snapshot below it."""
    try:
        there = sorted(disk.list(log), reverse=True)
    except OSError:
        return []
    return [f"{log}/{name}" for suffix in (names.LOG, ".checkpoint") for name in there if name.endswith(suffix)]


def _read(disk: Disk, path: str) -> _Facts:
    voters, registration = None, None
    head = METADATA.encode(RegisterBrokerRecord(), 0)[:2]  # the others need not be decoded
    try:
        for kind, value in _values(batches(disk.read(path))):
            if kind == control.KRAFT_VOTERS:
                voters = VotersRecord.decode(value, 0).voters
            elif kind is None and bytes(value[:2]) == head:
                record, _ = METADATA.decode(value)
                registration = instance(record, RegisterBrokerRecord, "the first two bytes tell which record it is")
    except (KafkaError, PeerProtocolError, OSError):
        pass  # damage ends what can be known: the lines before it still count
    return _Facts(voters, registration)


def _values(found: Iterable[object]) -> Iterator[tuple[int | None, bytes]]:
    """Every record's value; of a control record its kind, too."""
    for batch in found:
        if isinstance(batch, RecordBatch):
            batch.ensure_valid()
            for record in batch.records():
                yield control.control_type(record.key) if batch.is_control else None, record.value or b""
