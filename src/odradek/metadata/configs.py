"""Dynamic configs of topics, brokers, broker loggers, client metrics and groups."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from odradek.metadata.persistent_map import Map
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_topics import ConfigRecord

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32  # as in DescribeConfigs
ALL_BROKERS = ""  # the name under which a config of every broker is set

Resource = tuple[int, str]

_NONE: Mapping[str, str] = {}


class ConfigsImage(NamedTuple):
    by_resource: Map[Resource, Mapping[str, str]]

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        configs: Mapping[str, str] = self.by_resource.get((resource_type, name), _NONE)
        return configs

    def records(self) -> Iterator[Message]:
        for (resource_type, name), configs in self.by_resource.items():
            for config in sorted(configs):
                yield ConfigRecord(resource_type=resource_type, resource_name=name, name=config, value=configs[config])


EMPTY = ConfigsImage(Map())


class ConfigsDelta:
    """`changed` has the new configs of every resource that a record has named, empty if none are left."""

    __slots__ = ("_image", "changed")

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        self.changed: dict[Resource, dict[str, str]] = {}

    def replay(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        configs = self.changed.get(resource)
        if configs is None:
            configs = self.changed[resource] = dict(self._image.of(*resource))
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value

    def remove_topic(self, name: str) -> None:
        """With a topic go its configs: another one of that name begins without."""
        resource = (TOPIC, name)
        if resource in self.changed or resource in self._image.by_resource:
            self.changed[resource] = {}

    def apply(self) -> ConfigsImage:
        if not self.changed:
            return self._image
        changes = {resource: configs or None for resource, configs in self.changed.items()}
        return ConfigsImage(self._image.by_resource.changed(changes))
