"""Dynamic configs of topics, brokers, broker loggers, client metrics and groups."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from odradek.config.vocabulary import TOPIC
from odradek.metadata.entries import Entries
from odradek.metadata.persistent_map import Map
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_topics import ConfigRecord

ALL_BROKERS = ""  # the name under which a config of every broker is set

Resource = tuple[int, str]


class ConfigValues(dict[str, str]):
    """The configs of one resource. It is never changed in place: images and the controller hand it around."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"ConfigValues({', '.join(sorted(self))})"  # a value may be a password: never in a log line


_NONE = ConfigValues()


def config_record(resource: Resource, name: str, value: str | None) -> ConfigRecord:
    """The record that gives a config this value, or takes it away if it is None."""
    resource_type, resource_name = resource
    return ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)


class ConfigsReplay(Entries[Resource, ConfigValues]):
    """What records do to configs. A resource without any has no entry."""

    __slots__ = ()

    def replay(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        values = ConfigValues(self.get(resource) or ())
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        self.put(resource, values or None)

    def remove_topic(self, name: str) -> None:
        """With a topic go its configs: another one of that name begins without."""
        if self.get((TOPIC, name)) is not None:
            self.put((TOPIC, name), None)


class ConfigsImage(NamedTuple):
    by_resource: Map[Resource, ConfigValues]

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        return self.by_resource.get((resource_type, name), _NONE)

    def records(self) -> Iterator[Message]:
        for resource, configs in self.by_resource.items():
            for name in sorted(configs):
                yield config_record(resource, name, configs[name])


EMPTY = ConfigsImage(Map())


class ConfigsDelta(ConfigsReplay):
    """`changed` has the new configs of every resource that a record has named, empty if none are left."""

    __slots__ = ("_image", "changed")

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        self.changed: dict[Resource, ConfigValues] = {}

    def get(self, resource: Resource) -> ConfigValues | None:
        if resource in self.changed:
            return self.changed[resource]
        return self._image.by_resource.get(resource)

    def put(self, resource: Resource, values: ConfigValues | None) -> None:
        self.changed[resource] = _NONE if values is None else values

    def apply(self) -> ConfigsImage:
        if not self.changed:
            return self._image
        changes = {resource: configs or None for resource, configs in self.changed.items()}
        return ConfigsImage(self._image.by_resource.changed(changes))
