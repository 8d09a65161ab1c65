"""DescribeClientQuotas, versions 0-1: the quotas of the entities that match a filter (KIP-546).

     1  same fields in the flexible encoding

A component of the filter wants a name (0), the default (1) or any (2) of its type; `strict` wants no other types.

Who may: DESCRIBE_CONFIGS on the cluster.
Errors: UNSUPPORTED_VERSION for an unknown entity type; INVALID_REQUEST for an empty or repeated type, a name that does
not go with the way of matching, an unknown way of matching, ip together with user or client id.
"""

from typing import NamedTuple

from odradek.handlers.call import BrokerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.metadata.client_quotas import Entity
from odradek.protocol import errors
from odradek.protocol.messages.k48_describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from odradek.protocol.vocabulary import QuotaMatch
from odradek.security.acl import DESCRIBE_CONFIGS

_EXACT, _DEFAULT, _SPECIFIED = map(int, QuotaMatch)
_MATCH_NAMES = {_DEFAULT: "MATCH_TYPE_DEFAULT", _SPECIFIED: "MATCH_TYPE_SPECIFIED"}
_USER, _CLIENT_ID, _IP = "user", "client-id", "ip"
_TYPES = (_USER, _CLIENT_ID, _IP)


class _Wanted(NamedTuple):
    """What is asked for of one entity type: any name, or this one (None: the default)."""

    is_any: bool
    name: str | None

    def matches(self, name: str | None) -> bool:
        return self.is_any or name == self.name


def refuse_describe_client_quotas(
    request: DescribeClientQuotasRequest, error: errors.KafkaError, version: int
) -> DescribeClientQuotasResponse:
    is_denied = isinstance(error, errors.ClusterAuthorizationFailed)
    message = None if is_denied else error.message
    return DescribeClientQuotasResponse(error_code=error.code, error_message=message, entries=None)


@serves(
    DescribeClientQuotasRequest,
    versions="0-1",
    allow=on_cluster(DESCRIBE_CONFIGS),
    refuse=refuse_describe_client_quotas,
)
def describe_client_quotas(call: BrokerCall, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    wanted = _wanted(request.components)
    entries = [
        EntryData(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[ValueData(key=key, value=value) for key, value in sorted(quotas.items())],
        )
        for entity, quotas in call.services.metadata.image.client_quotas.by_entity.items()
        if _is_wanted(entity, wanted, request.strict)
    ]
    return DescribeClientQuotasResponse(entries=entries)


def _wanted(components: list[ComponentData]) -> dict[str, _Wanted]:
    wanted: dict[str, _Wanted] = {}
    for component in components:
        kind = component.entity_type
        if not kind:
            raise errors.InvalidRequest("Invalid empty entity type.")
        if kind in wanted:
            raise errors.InvalidRequest(f"Entity type {kind} cannot appear more than once in the filter.")
        wanted[kind] = _component(component)
    if _IP in wanted and len(wanted.keys() & {_USER, _CLIENT_ID}):
        raise errors.InvalidRequest(
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )
    return wanted


def _component(component: ComponentData) -> _Wanted:
    way, name = component.match_type, component.match
    if way not in (_EXACT, *_MATCH_NAMES):
        raise errors.InvalidRequest(f"Unknown match type {way}")
    if way == _EXACT and name is None:
        raise errors.InvalidRequest("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if way != _EXACT and name is not None:
        raise errors.InvalidRequest(f"Request specified {_MATCH_NAMES[way]}, but also specified a match string.")
    if component.entity_type not in _TYPES:
        raise errors.UnsupportedVersion(f"Unsupported entity type {component.entity_type}")
    return _Wanted(way == _SPECIFIED, name)


def _is_wanted(entity: Entity, wanted: dict[str, _Wanted], is_strict: bool) -> bool:
    names = dict(entity)
    if is_strict and names.keys() != wanted.keys():
        return False
    return all(kind in names and component.matches(names[kind]) for kind, component in wanted.items())
