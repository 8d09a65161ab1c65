"""Finalized features: which levels the cluster speaks, and who may change them (KIP-584, KIP-778).

A level can be raised to what every registered broker and controller supports. It is lowered only when the caller says
so; metadata.version only as far as no level between wrote metadata that the lower one cannot read.
"""

from collections.abc import Mapping

from odradek.controller.cluster import Cluster
from odradek.metadata import versions
from odradek.metadata.features import FeaturesImage
from odradek.metadata.registration import Levels, supported_levels
from odradek.protocol.errors import InvalidUpdateVersion
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.protocol.releases import Release
from odradek.protocol.vocabulary import UpgradeType

_, UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = map(int, UpgradeType)


class Features:
    """`image` is what the records have said; `metadata_version` of it is what nearly every decision asks for."""

    __slots__ = ("_cluster", "_node_id", "_release", "_supported", "image", "metadata_version")

    def __init__(self, release: Release, node_id: int, cluster: Cluster) -> None:
        self._release = release
        self._node_id = node_id
        self._cluster = cluster
        self._supported = release.supported_features(api_version=4)
        self.image = FeaturesImage()
        self.metadata_version = self.image.metadata_version

    @property
    def finalized(self) -> Mapping[str, int]:
        return self.image.finalized

    @property
    def has_eligible_leader_replicas(self) -> bool:
        return self.image.level(versions.ELIGIBLE_LEADER_REPLICAS_VERSION) > 0

    def replay_level(self, record: FeatureLevelRecord) -> None:
        self.image = self.image.changed(record)
        self.metadata_version = self.image.metadata_version

    def updated(self, name: str, level: int, upgrade_type: int, kraft_version: int) -> FeatureLevelRecord | None:
        """The record of one update; None if the level is the current one. InvalidUpdateVersion if it may not be."""
        current = kraft_version if name == versions.KRAFT_VERSION else self.image.level(name)
        self._check_type(name, level, upgrade_type)
        self._check_supported(name, level)
        if level < current:
            self._check_downgrade(name, level, current, upgrade_type)
        if level == current or name == versions.KRAFT_VERSION:
            return None  # kraft.version is the quorum's own business: its log holds it in control records
        return FeatureLevelRecord(name=name, feature_level=level)

    def reason_not_to_register(self, features: Levels) -> str | None:
        """Why a node with these features cannot be part of the cluster, or None."""
        for name, level in self.finalized.items():
            low, high = supported_levels(features, name) or (0, 0)
            if not low <= level <= high:
                return (
                    f"the broker does not support finalized version {level} of feature {name}."
                    f" The broker wants a version between {low} and {high}, inclusive."
                )
        return None

    def reason_not_to_serve(self, kraft_version: int) -> str | None:
        """Why this release cannot be the controller of the cluster whose records were replayed, or None."""
        for name, level in {versions.KRAFT_VERSION: kraft_version, **self.finalized}.items():
            low, high = self._supported.get(name, (0, 0))
            if not low <= level <= high:
                shown = f"{level} ({versions.name_of(level)})" if name == versions.METADATA_VERSION else str(level)
                known = f"only levels {low} to {high}" if high else "no such feature"
                return f"the cluster is at {name} {shown}; release {self._release.name} knows {known}"
        return None

    def _check_type(self, name: str, level: int, upgrade_type: int) -> None:
        if name not in self._supported:
            reason = f"Feature {name} not found." if level == 0 else self._not_local()
            raise _invalid(name, level, reason)
        if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            raise _invalid(name, level, "The controller does not support the given upgrade type.")
        if level < 0:
            raise _invalid(name, level, "A feature version cannot be less than 0.")

    def _not_local(self) -> str:
        return f"Local controller {self._node_id} does not support this feature."

    def _check_supported(self, name: str, level: int) -> None:
        low, high = self._supported[name]
        if not low <= level <= high:
            local = f"Local controller {self._node_id}"
            raise _invalid(name, level, f"{local} only supports versions {low}-{high}")
        for broker in self._cluster.brokers.values():
            self._check_node(name, level, f"Broker {broker.id}", broker.features)
        for controller in self._cluster.controllers.values():
            if controller.id != self._node_id:
                self._check_node(name, level, f"Controller {controller.id}", controller.features)

    def _check_node(self, name: str, level: int, who: str, features: Levels) -> None:
        if level == 0 or name == versions.KRAFT_VERSION:
            return
        supported = supported_levels(features, name)
        if supported is None:
            raise _invalid(name, level, f"{who} does not support this feature.")
        low, high = supported
        if not low <= level <= high:
            raise _invalid(name, level, f"{who} only supports versions {low}-{high}")

    def _check_downgrade(self, name: str, level: int, current: int, upgrade_type: int) -> None:
        if upgrade_type == UPGRADE:
            raise _invalid(
                name,
                level,
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or"
                " unsafe downgrade.",
            )
        if name != versions.METADATA_VERSION:
            return
        lead = f"Unsupported metadata.version downgrade from {current} to {level}."
        if not self._release.behaviour.names_downgraded_metadata_version:
            lead = f"Invalid metadata.version {level}."
            if level < versions.FEATURE_RECORDS:
                lowest = versions.NAMES[versions.FEATURE_RECORDS]
                raise InvalidUpdateVersion(f"{lead} Unable to set a metadata.version less than {lowest}")
        if any(level < changed <= current for changed in versions.CHANGED_METADATA):
            if upgrade_type == SAFE_DOWNGRADE:
                why = "Refusing to perform the requested downgrade because it might delete metadata information."
            else:
                why = "Unsafe metadata downgrade is not supported in this version."
            raise InvalidUpdateVersion(f"{lead} {why}")


def _invalid(name: str, level: int, reason: str) -> InvalidUpdateVersion:
    return InvalidUpdateVersion(f"Invalid update version {level} for feature {name}. {reason}")
