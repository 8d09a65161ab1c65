"""Client quotas: numbers by entity, which is a user, a client id, both, or an address (KIP-546)."""

from collections.abc import Iterable

from odradek.protocol.messages.metadata_cluster import ClientQuotaRecord

Entity = tuple[tuple[str, str | None], ...]  # type and name (None: the default of the type), by type


class Quotas:
    __slots__ = ("by_entity",)

    def __init__(self) -> None:
        self.by_entity: dict[Entity, dict[str, float]] = {}

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = entity_of([(item.entity_type, item.entity_name) for item in record.entity])
        values = self.by_entity.setdefault(entity, {})
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if not values:
            del self.by_entity[entity]

    def validate(self) -> None:
        assert all(self.by_entity.values()), "an entity without quotas has an entry"


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    return tuple(sorted(dict(parts).items()))
