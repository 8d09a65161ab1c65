"""The first records of a cluster: what the first controller writes into an empty metadata log.

They lie in `bootstrap.checkpoint`, where formatting has put them: the level of every feature that is on, and the
credentials that let the first users in. kraft.version is not among them: it is the quorum's, and stands in its log.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.metadata.record_versions import Versioned
from odradek.metadata.snapshot_file import CorruptSnapshot, read_snapshot, snapshot_bytes
from odradek.metadata.versions import KRAFT_VERSION, LOWEST_TO_FORMAT, METADATA_VERSION, levels_at_format
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord, UserScramCredentialRecord
from odradek.protocol.releases import Release
from odradek.reactor.ports import Disk

FILE_NAME = "bootstrap.checkpoint"


class BootstrapMetadata(NamedTuple):
    records: list[Versioned]

    @property
    def metadata_version(self) -> int:
        for record, _ in self.records:
            if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
                return record.feature_level
        return LOWEST_TO_FORMAT

    def to_bytes(self, now_ms: int) -> bytes:
        return snapshot_bytes(self.records, now_ms)


def bootstrap_of_levels(
    levels: Mapping[str, int], credentials: Iterable[UserScramCredentialRecord] = ()
) -> BootstrapMetadata:
    """The level of the metadata comes first, then the other features by name; what is off is not written."""
    names = sorted(
        name for name, level in levels.items() if level > 0 and name not in (METADATA_VERSION, KRAFT_VERSION)
    )
    records: list[Versioned] = [
        (FeatureLevelRecord(name=name, feature_level=levels[name]), 0) for name in (METADATA_VERSION, *names)
    ]
    records += [(credential, 0) for credential in credentials]
    return BootstrapMetadata(records)


def bootstrap_of_release(release: Release) -> BootstrapMetadata:
    """What a cluster begins with that nobody has formatted by hand."""
    return bootstrap_of_levels(levels_at_format(release, release.finalized_at_format[METADATA_VERSION]))


def read_bootstrap(disk: Disk, directory: str) -> BootstrapMetadata | None:
    """Blocks. None if the dir has none; CorruptSnapshot if it cannot be read."""
    path = f"{directory}/{FILE_NAME}"
    if not disk.exists(path):
        return None
    try:
        return BootstrapMetadata(read_snapshot(disk.read(path)).records)
    except CorruptSnapshot as error:
        raise CorruptSnapshot(f"{path}: {error}") from None
