"""The configs that were set at run time, by resource; and what the broker's own amount to on this node."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.broken_rule import require
from odradek.config.errors import ConfigError
from odradek.config.sources import BrokerLayers, describe_topic
from odradek.config.vocabulary import BROKER
from odradek.metadata.configs import ALL_BROKERS, ConfigsReplay, ConfigValues, Resource
from odradek.metadata.entries import EntriesInPlace
from odradek.protocol import releases

if TYPE_CHECKING:
    from odradek.protocol.messages.k19_create_topics import CreatableTopicConfigs

_DESCRIPTIONS_MAX = 256
_NOTHING: Mapping[str, str] = ConfigValues()


class Configs(EntriesInPlace[Resource, ConfigValues], ConfigsReplay):
    __slots__ = ("_descriptions", "_layers", "_node_id", "_release", "_static")

    def __init__(self, static: Mapping[str, object], release: str, node_id: int) -> None:
        super().__init__()
        self._static = static
        self._release = release
        self._node_id = str(node_id)
        self._layers: BrokerLayers | None = None
        self._descriptions: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        return self.by_key.get((resource_type, name), _NOTHING)

    @property
    def layers(self) -> BrokerLayers:
        """This node's broker configs: file, all brokers, this broker."""
        if self._layers is None:
            self._layers = self.layers_with(self.of(BROKER, ALL_BROKERS), self.of(BROKER, self._node_id))
        return self._layers

    def layers_with(self, cluster_default: Mapping[str, str], own: Mapping[str, str]) -> BrokerLayers:
        """This node's broker configs as they would be with these values; ConfigError if they do not go together."""
        try:
            return BrokerLayers(self._static, cluster_default, own, self._release)
        except ConfigError:
            if cluster_default is self.of(BROKER, ALL_BROKERS) and own is self.of(BROKER, self._node_id):
                # what the log holds is not ours to refuse: another release may have written it
                return BrokerLayers(self._static, release=self._release)
            raise

    def described_topic(self, overrides: Mapping[str, str]) -> "list[CreatableTopicConfigs]":
        """Every config of a new topic, by name. Made once for topics that are alike."""
        key = tuple(sorted(overrides.items()))
        found = self._descriptions.get(key)
        if found is None:
            if len(self._descriptions) >= _DESCRIPTIONS_MAX:
                self._descriptions.clear()
            found = self._descriptions[key] = self._describe(overrides)
        return found

    def _describe(self, overrides: Mapping[str, str]) -> "list[CreatableTopicConfigs]":
        from odradek.protocol.messages.k19_create_topics import CreatableTopicConfigs

        shows_all = not releases.by_name(self._release).behaviour.hides_internal_configs
        described = sorted(describe_topic(self.layers, overrides), key=lambda item: item.name)
        return [
            CreatableTopicConfigs(
                name=item.name,
                value=item.text,
                read_only=item.is_read_only,
                config_source=item.source.code,
                is_sensitive=item.is_sensitive,
            )
            for item in described
            if item.definition is None or not item.definition.internal or shows_all
        ]

    def put(self, key: Resource, value: ConfigValues | None) -> None:
        super().put(key, value)
        if key[0] == BROKER:
            self._layers = None
            self._descriptions.clear()

    def validate(self) -> None:
        require(all(self.by_key.values()), "a resource without configs has no entry")
