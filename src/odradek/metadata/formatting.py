"""Formatting: what makes directories those of a node of a cluster.

Every directory gets `bootstrap.checkpoint` and `meta.properties`. A controller of a quorum whose voters may change
(kraft.version 1) also gets the voters, as a snapshot of nothing else beside the metadata log that is to come.
`meta.properties` comes last: a directory that has one is whole, and one without can be formatted again.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.broken_rule import present
from odradek.config.parsed import Config
from odradek.log.manager.log_dir import make_dir
from odradek.metadata import bootstrap, lost_meta, storage, versions
from odradek.metadata.bootstrap import BootstrapMetadata, bootstrap_of_levels
from odradek.metadata.lost_meta import FIRST_SNAPSHOT, HARMLESS
from odradek.metadata.meta_properties import MetaProperties, path_of
from odradek.metadata.quorum_config import (
    METADATA_LOG,
    DynamicVoter,
    all_dirs,
    controller_endpoints,
    is_controller,
    listed_voter,
    own_voter,
    quorum_of,
    voters_record,
)
from odradek.metadata.snapshot_file import snapshot_bytes
from odradek.metadata.storage import Storage, StorageRefused, open_storage
from odradek.protocol.messages.control_records import VotersRecordVoter
from odradek.protocol.releases import Release
from odradek.protocol.uuids import format_uuid
from odradek.reactor.ports import Clock, Disk, Rng, Stream

_RESERVED_IDS = 100  # the lowest ids stand for directories that are none


class FormatPlan(NamedTuple):
    """`voters` are the first ones of a quorum that may change; None in a fixed quorum, or where others hold them."""

    config: Config
    release: Release
    cluster_id: str
    levels: Mapping[str, int]
    records: BootstrapMetadata
    is_standalone: bool = False
    initial_controllers: Sequence[DynamicVoter] = ()

    @property
    def is_voter_of_dynamic_quorum(self) -> bool:
        return self.is_standalone or any(voter.id == self.config["node.id"] for voter in self.initial_controllers)


class Formatted(NamedTuple):
    """A directory that was formatted, and as what: metadata directory, data directory ..."""

    directory: str
    kind: str


def random_uuid(chance: Stream) -> bytes:
    """A random id that is none of the reserved ones, and that no command line takes for an option."""
    while True:
        drawn = bytearray(chance.bytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        if int.from_bytes(drawn, "big") >= _RESERVED_IDS and not format_uuid(bytes(drawn)).startswith("-"):
            return bytes(drawn)


def format_dirs(
    disk: Disk,
    clock: Clock,
    rng: Rng,
    plan: FormatPlan,
    *,
    ignore_formatted: bool,
    skips_offline: bool = False,
) -> list[Formatted]:
    """Blocks. Formats what is not formatted yet; StorageRefused if anything is, unless that is to be ignored.

    Kafka's tool also formats a broker's dir that has lost its meta.properties; that would part it from its data.
    """
    found = storage.look(disk, all_dirs(plan.config))
    storage.refuse_problems(found, () if skips_offline else all_dirs(plan.config))
    storage.verify(found, plan.config["node.id"], plan.cluster_id)
    if found.formatted and not ignore_formatted:
        raise StorageRefused(
            f"Log directory {next(iter(found.formatted))} is already formatted. "
            "Use --ignore-formatted to ignore this directory and format the others."
        )
    _refuse_lost_meta(disk, plan.config, found)
    ids = _Ids(rng.stream("format"), found)
    return [
        _format_dir(disk, clock, ids, plan, directory)
        for directory in all_dirs(plan.config)
        if directory not in found.formatted and directory not in found.offline
    ]


class _Ids:
    """Ids of directories, none of which is there already: a simulated node draws the same ones in every life."""

    __slots__ = ("_chance", "_taken")

    def __init__(self, chance: Stream, found: storage.Found) -> None:
        self._chance = chance
        self._taken = {meta.directory_id for meta in found.formatted.values()}

    def next(self) -> bytes:
        drawn = random_uuid(self._chance)
        while drawn in self._taken:
            drawn = random_uuid(self._chance)
        self._taken.add(drawn)
        return drawn


def _format_dir(disk: Disk, clock: Clock, ids: _Ids, plan: FormatPlan, directory: str) -> Formatted:
    is_metadata_dir = directory == all_dirs(plan.config)[0]
    is_voter = is_metadata_dir and plan.is_voter_of_dynamic_quorum
    now_ms = clock.wall_ms()
    try:
        directory_id = _directory_id(plan, ids, is_voter)
        make_dir(disk, directory)
        if is_voter:
            voter_id = present(directory_id, "whoever votes in a dynamic quorum has a directory id")
            _write_voters(disk, plan, directory, voter_id, now_ms)
        disk.write_atomically(f"{directory}/{bootstrap.FILE_NAME}", plan.records.to_bytes(now_ms))
        meta = MetaProperties(plan.cluster_id, plan.config["node.id"], directory_id)
        disk.write_atomically(path_of(directory), meta.to_bytes(now_ms))
    except OSError as error:
        raise StorageRefused(f"{error.filename or directory} cannot be written: {error.strerror}") from None
    return Formatted(directory, _kind(is_metadata_dir, is_voter))


def _kind(is_metadata_dir: bool, is_voter: bool) -> str:
    if is_voter:
        return "dynamic metadata voter directory"
    return "metadata directory" if is_metadata_dir else "data directory"


def _directory_id(plan: FormatPlan, ids: _Ids, is_voter: bool) -> bytes | None:
    """A controller that is named with the others has its id from there: all of them must write the same voters."""
    if not plan.release.has_directory_id:
        return None
    if is_voter:
        for voter in plan.initial_controllers:
            if voter.id == plan.config["node.id"]:
                return voter.directory_id
    return ids.next()


def _write_voters(disk: Disk, plan: FormatPlan, directory: str, directory_id: bytes, now_ms: int) -> None:
    path = f"{directory}/{METADATA_LOG}"
    make_dir(disk, path)
    voters = voters_record(_voters(plan, directory_id))
    data = snapshot_bytes((), now_ms, last_contained_log_timestamp=now_ms, voters=voters)
    disk.write_atomically(f"{path}/{FIRST_SNAPSHOT}", data)


def _voters(plan: FormatPlan, directory_id: bytes) -> list[VotersRecordVoter]:
    if plan.is_standalone:
        return [own_voter(plan.config, directory_id)]
    listener = controller_endpoints(plan.config)[0].listener
    return [listed_voter(voter, listener) for voter in plan.initial_controllers]


# A node that formats its own directories


def ensure_formatted(
    disk: Disk, clock: Clock, rng: Rng, config: Config, release: Release, cluster_id: str | None = None
) -> Storage:
    """Blocks. Formats fresh directories by itself and checks the others: what `odradek start` does first.

    A directory that holds anything else is refused: it may be a typing mistake, or a disk that was not mounted.
    """
    found = storage.look(disk, all_dirs(config))
    storage.refuse_problems(found, all_dirs(config)[:1])
    storage.verify(found, config["node.id"], cluster_id)
    if found.missing or found.unformatted:
        _refuse_lost_meta(disk, config, found)
        for directory in found.unformatted:
            _refuse_unless_fresh(disk, directory)
        _refuse_lost_metadata(disk, config, found)
        known = next((meta.cluster_id for meta in found.formatted.values()), None)
        chosen = cluster_id or known or format_uuid(random_uuid(rng.stream("cluster id")))
        format_dirs(disk, clock, rng, own_plan(config, release, chosen), ignore_formatted=True, skips_offline=True)
    return open_storage(disk, config, cluster_id)


def own_plan(config: Config, release: Release, cluster_id: str) -> FormatPlan:
    """What a node formats itself as: the only voter, unless its config names a fixed quorum."""
    levels = versions.levels_at_format(release, release.finalized_at_format[versions.METADATA_VERSION])
    is_standalone = quorum_of(config).is_dynamic and is_controller(config) and levels.get(versions.KRAFT_VERSION, 0) > 0
    return FormatPlan(config, release, cluster_id, levels, bootstrap_of_levels(levels), is_standalone)


def _refuse_unless_fresh(disk: Disk, directory: str) -> None:
    foreign = lost_meta.not_fresh(disk, directory)
    if foreign:
        raise StorageRefused(
            f"{directory} is not empty and holds nothing of a broker, but {foreign[0]}: "
            "give an empty directory (--data)"
        )


def _refuse_lost_meta(disk: Disk, config: Config, found: storage.Found) -> None:
    """A broker's dir that has lost its meta.properties is not formatted again, whoever asks for it."""
    for directory in found.unformatted:
        reason = lost_meta.lost(disk, directory, all_dirs(config)[0], found.formatted)
        if reason is not None:
            raise StorageRefused(reason)


def _refuse_lost_metadata(disk: Disk, config: Config, found: storage.Found) -> None:
    """Beside a new, empty metadata log all partitions would be strays."""
    metadata_log_dir = all_dirs(config)[0]
    if metadata_log_dir in found.formatted:
        return
    for directory, meta in found.formatted.items():
        if any(name not in HARMLESS for name in disk.list(directory)):
            raise StorageRefused(
                f"{directory} holds data of the cluster {meta.cluster_id}, but {metadata_log_dir}, "
                "where the metadata log should be, is not formatted: bring it back, or give empty directories"
            )
