"""Which features are finalized for the whole cluster, metadata.version first among them (KIP-584, KIP-778)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from odradek.metadata import record_versions, versions
from odradek.metadata.versions import METADATA_VERSION
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord, ZkMigrationStateRecord

NO_MIGRATION = 0
_FIRST_WITHOUT_ZOOKEEPER = 22  # a 4.x writes no migration state


class FeaturesImage(NamedTuple):
    """`finalized` has every feature whose level is not 0, metadata.version as well once it was written."""

    finalized: Mapping[str, int] = {}
    zk_migration_state: int = NO_MIGRATION

    @property
    def metadata_version(self) -> int:
        """A log without this level is one from before it was written: the lowest."""
        return self.finalized.get(METADATA_VERSION, versions.LOWEST)

    def level(self, name: str) -> int:
        return self.finalized.get(name, 0)

    def records(self) -> Iterator[Message]:
        """The level of the metadata comes first: it says how to read the rest."""
        level = self.metadata_version
        if METADATA_VERSION in self.finalized:
            yield FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)
        for name in sorted(self.finalized):
            if name != METADATA_VERSION:
                yield FeatureLevelRecord(name=name, feature_level=self.finalized[name])
        migrates = record_versions.is_known_at(ZkMigrationStateRecord, level) and level < _FIRST_WITHOUT_ZOOKEEPER
        if migrates and self.zk_migration_state != NO_MIGRATION:
            yield ZkMigrationStateRecord(zk_migration_state=self.zk_migration_state)


class FeaturesDelta:
    """`changed` has the new level of each feature that a record has named, 0 for one that is no longer finalized."""

    __slots__ = ("_image", "_zk_migration_state", "changed")

    def __init__(self, image: FeaturesImage) -> None:
        self._image = image
        self.changed: dict[str, int] = {}
        self._zk_migration_state = image.zk_migration_state

    def replay_level(self, record: FeatureLevelRecord) -> None:
        self.changed[record.name] = record.feature_level

    def replay_zk_migration(self, record: ZkMigrationStateRecord) -> None:
        self._zk_migration_state = record.zk_migration_state

    def restore(self, image: FeaturesImage) -> None:
        """All levels are as this image has them."""
        self.changed = {**dict.fromkeys(self._image.finalized, 0), **image.finalized}
        self._zk_migration_state = image.zk_migration_state

    @property
    def metadata_version_changed(self) -> bool:
        level = self.changed.get(METADATA_VERSION)
        return level is not None and level != self._image.metadata_version

    def apply(self) -> FeaturesImage:
        if not self.changed and self._zk_migration_state == self._image.zk_migration_state:
            return self._image
        levels = {**self._image.finalized, **self.changed}
        return FeaturesImage({name: level for name, level in levels.items() if level > 0}, self._zk_migration_state)
