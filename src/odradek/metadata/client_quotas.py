"""Quotas of users, client ids and ip addresses (KIP-546)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.metadata.entries import Entries
from odradek.metadata.persistent_map import Map
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import ClientQuotaRecord, EntityData

# ((type, name), ...) in the order of the types; no name stands for the default of its type.
Entity = tuple[tuple[str, str | None], ...]
Quotas = dict[str, float]  # never changed in place: images and the controller hand them around

_NONE: Quotas = {}


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """The entity of these types and names. Of a type that is named twice, the last name counts."""
    return tuple(sorted(dict(parts).items()))


def quota_record(entity: Entity, key: str, value: float | None) -> ClientQuotaRecord:
    """The record that gives an entity this quota, or takes it away if it is None."""
    parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    return ClientQuotaRecord(entity=parts, key=key, value=value or 0.0, remove=value is None)


def _order(entity: Entity) -> list[tuple[str, bool, str]]:
    """Defaults first: None does not compare with names."""
    return [(kind, name is not None, name or "") for kind, name in entity]


class ClientQuotasReplay(Entries[Entity, Quotas]):
    """What records do to quotas. An entity without any has no entry."""

    __slots__ = ()

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = entity_of((part.entity_type, part.entity_name) for part in record.entity)
        quotas = dict(self.get(entity) or _NONE)
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        self.put(entity, quotas or None)


class ClientQuotasImage(NamedTuple):
    by_entity: Map[Entity, Quotas]

    def of(self, entity: Entity) -> Mapping[str, float]:
        return self.by_entity.get(entity, _NONE)

    def records(self) -> Iterator[Message]:
        for entity, quotas in self.by_entity.items():
            for key in sorted(quotas):
                yield quota_record(entity, key, quotas[key])


EMPTY = ClientQuotasImage(Map(order=_order))


class ClientQuotasDelta(ClientQuotasReplay):
    """`changed` has the new quotas of every entity that a record has named, empty if none are left."""

    __slots__ = ("_image", "changed")

    def __init__(self, image: ClientQuotasImage) -> None:
        self._image = image
        self.changed: dict[Entity, Quotas] = {}

    def get(self, entity: Entity) -> Quotas | None:
        if entity in self.changed:
            return self.changed[entity]
        return self._image.by_entity.get(entity)

    def put(self, entity: Entity, quotas: Quotas | None) -> None:
        self.changed[entity] = _NONE if quotas is None else quotas

    def apply(self) -> ClientQuotasImage:
        if not self.changed:
            return self._image
        changes = {entity: quotas or None for entity, quotas in self.changed.items()}
        return ClientQuotasImage(self._image.by_entity.changed(changes))
