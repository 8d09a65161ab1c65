"""Quotas of users, client ids and addresses: described and changed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.channel.core import ANY_BROKER
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.results import Results
from odradek.client.admin.routing import CONTROLLER_PASSING
from odradek.protocol.errors import KafkaError, raise_for
from odradek.protocol.messages.k48_describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from odradek.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from odradek.protocol.vocabulary import QuotaMatch

USER, CLIENT_ID, IP = "user", "client-id", "ip"


class ClientQuotaEntity(Mapping[str, str | None]):
    """Who a quota is for: a name by its type (`USER`, `CLIENT_ID`, `IP`), or None for the default of the type."""

    __slots__ = ("_names",)

    def __init__(self, names: Mapping[str, str | None]) -> None:
        self._names = dict(names)

    def __getitem__(self, kind: str) -> str | None:
        return self._names[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __hash__(self) -> int:
        return hash(frozenset(self._names.items()))

    def __repr__(self) -> str:
        return f"ClientQuotaEntity({self._names!r})"


class ClientQuotaFilterComponent(NamedTuple):
    """What entities have of one type; `name` goes with EXACT."""

    entity_type: str
    match: QuotaMatch = QuotaMatch.SPECIFIED
    name: str | None = None


class ClientQuotaFilter(NamedTuple):
    """Entities that match all components; with `strict` none that have other types besides."""

    components: Iterable[ClientQuotaFilterComponent] = ()
    strict: bool = False


async def describe_client_quotas(
    asker: Asker,
    filter: ClientQuotaFilter = ClientQuotaFilter(),  # noqa: A002, B008 - Kafka's word; a tuple does not change
    *,
    timeout: float | None = None,
) -> dict[ClientQuotaEntity, dict[str, float]]:
    """The quotas of those that match by their names, of all without a filter."""
    components = [
        ComponentData(entity_type=kind, match_type=match, match=name) for kind, match, name in filter.components
    ]
    request = DescribeClientQuotasRequest(components=components, strict=filter.strict)

    async def attempt(timeout_ms: int) -> dict[ClientQuotaEntity, dict[str, float]]:
        response = await asker.send(ANY_BROKER, request, DescribeClientQuotasResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        return {
            ClientQuotaEntity({each.entity_type: each.entity_name for each in entry.entity}): {
                quota.key: quota.value for quota in entry.values
            }
            for entry in response.entries or ()
        }

    return await asker.one(attempt, timeout=timeout)


async def alter_client_quotas(
    asker: Asker,
    entries: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
    *,
    validate_only: bool = False,
    timeout: float | None = None,
) -> Results[ClientQuotaEntity, None]:
    """Sets quotas, or removes those that are None. All changes of an entity are made or none."""

    async def attempt(some: list[ClientQuotaEntity], timeout_ms: int) -> dict[ClientQuotaEntity, KafkaError | None]:
        wanted = [_entry(entity, entries[entity]) for entity in some]
        request = AlterClientQuotasRequest(entries=wanted, validate_only=validate_only)
        response = await asker.send(ANY_BROKER, request, AlterClientQuotasResponse, timeout_ms)
        return {
            ClientQuotaEntity({each.entity_type: each.entity_name for each in done.entity}): outcome(
                done.error_code, done.error_message, None
            )
            for done in response.entries
        }

    return await asker.each(entries, attempt, timeout=timeout, passing=CONTROLLER_PASSING)


def _entry(entity: ClientQuotaEntity, changes: Mapping[str, float | None]) -> EntryData:
    names = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    ops = [OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()]
    return EntryData(entity=names, ops=ops)
