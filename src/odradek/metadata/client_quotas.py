"""Quotas of users, client ids and ip addresses (KIP-546)."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from odradek.metadata.persistent_map import Map
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import ClientQuotaRecord, EntityData

# ((type, name), ...) in the order of the types; no name stands for the default of its type.
Entity = tuple[tuple[str, str | None], ...]


def entity_of(parts: Mapping[str, str | None]) -> Entity:
    return tuple(sorted(parts.items()))


def _order(entity: Entity) -> Any:
    """Defaults first: None does not compare with names."""
    return [(kind, name is not None, name or "") for kind, name in entity]


class ClientQuotasImage(NamedTuple):
    by_entity: Map[Entity, Mapping[str, float]]

    def of(self, entity: Entity) -> Mapping[str, float]:
        quotas: Mapping[str, float] = self.by_entity.get(entity, {})
        return quotas

    def records(self) -> Iterator[Message]:
        for entity, quotas in self.by_entity.items():
            for key in sorted(quotas):
                parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
                yield ClientQuotaRecord(entity=parts, key=key, value=quotas[key])


EMPTY = ClientQuotasImage(Map(order=_order))


class ClientQuotasDelta:
    """`changed` has the new quotas of every entity that a record has named, empty if none are left."""

    __slots__ = ("_image", "changed")

    def __init__(self, image: ClientQuotasImage) -> None:
        self._image = image
        self.changed: dict[Entity, dict[str, float]] = {}

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = entity_of({part.entity_type: part.entity_name for part in record.entity})
        quotas = self.changed.get(entity)
        if quotas is None:
            quotas = self.changed[entity] = dict(self._image.of(entity))
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value

    def apply(self) -> ClientQuotasImage:
        if not self.changed:
            return self._image
        changes = {entity: quotas or None for entity, quotas in self.changed.items()}
        return ClientQuotasImage(self._image.by_entity.changed(changes))
