"""Which features are finalized for the whole cluster, metadata.version first among them (KIP-584, KIP-778)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from odradek.metadata import record_versions, versions
from odradek.metadata.versions import METADATA_VERSION
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord, ZkMigrationStateRecord

NO_MIGRATION = 0


class FeaturesImage(NamedTuple):
    """`finalized` has every feature whose level is not 0, metadata.version as well once it was written.

    So small that the controller keeps one as well, and has a new one made by every record.
    """

    finalized: Mapping[str, int] = {}
    zk_migration_state: int = NO_MIGRATION

    @property
    def metadata_version(self) -> int:
        """A log without this level is one from before it was written: the lowest."""
        return self.finalized.get(METADATA_VERSION, versions.LOWEST)

    def level(self, name: str) -> int:
        return self.finalized.get(name, 0)

    def changed(self, record: FeatureLevelRecord) -> "FeaturesImage":
        levels = {**self.finalized, record.name: record.feature_level}
        return self._replace(finalized={name: level for name, level in levels.items() if level > 0})

    def migrated(self, record: ZkMigrationStateRecord) -> "FeaturesImage":
        return self._replace(zk_migration_state=record.zk_migration_state)

    def records(self) -> Iterator[Message]:
        """The level of the metadata comes first: it says how to read the rest."""
        level = self.metadata_version
        if METADATA_VERSION in self.finalized:
            yield FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)
        for name in sorted(self.finalized):
            if name != METADATA_VERSION:
                yield FeatureLevelRecord(name=name, feature_level=self.finalized[name])
        migrates = record_versions.is_known_at(ZkMigrationStateRecord, level) and level < versions.NO_ZOOKEEPER
        if migrates and self.zk_migration_state != NO_MIGRATION:
            yield ZkMigrationStateRecord(zk_migration_state=self.zk_migration_state)


class FeaturesDelta:
    __slots__ = ("_after", "_before")

    def __init__(self, image: FeaturesImage) -> None:
        self._before = self._after = image

    def replay_level(self, record: FeatureLevelRecord) -> None:
        self._after = self._after.changed(record)

    def replay_zk_migration(self, record: ZkMigrationStateRecord) -> None:
        self._after = self._after.migrated(record)

    def restore(self, image: FeaturesImage) -> None:
        """All levels are as this image has them."""
        self._after = image

    def apply(self) -> FeaturesImage:
        return self._before if self._after == self._before else self._after
