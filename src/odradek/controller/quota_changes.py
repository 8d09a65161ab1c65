"""AlterClientQuotas: sets and removes the quotas of entities, each entity as a whole."""

import ipaddress
import math
import re
from collections.abc import Sequence

from odradek.config import quotas
from odradek.config.definition import Definition, Table
from odradek.config.types import DOUBLE, INT, INT_MAX, LONG, LONG_MAX
from odradek.controller.state import ControllerState
from odradek.metadata.client_quotas import Entity, entity_of, quota_record
from odradek.protocol.declare import Message
from odradek.protocol.errors import NONE, InvalidRequest, KafkaError
from odradek.protocol.messages import k49_alter_client_quotas as k49
from odradek.protocol.messages.metadata_cluster import ClientQuotaRecord
from odradek.replicated.decision import Decision

USER, CLIENT_ID, IP = "user", "client-id", "ip"
TYPES = (USER, CLIENT_ID, IP)
TOLERANCE = 1e-6  # what a number may be off a whole one
_LARGEST = {INT: (float(INT_MAX), "an INT"), LONG: (float(LONG_MAX), "a LONG")}
_HOST_NAME = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*\Z"


def alter_client_quotas(
    state: ControllerState, request: k49.AlterClientQuotasRequest
) -> Decision[k49.AlterClientQuotasResponse]:
    records: list[Message] = []
    results: dict[Entity, k49.AlterClientQuotasResponseEntryData] = {}
    for entry in request.entries:
        entity = entity_of((item.entity_type, item.entity_name) for item in entry.entity)
        error: KafkaError | None = None
        if entity in results or len({op.key for op in entry.ops}) < len(entry.ops):
            error = InvalidRequest(f"Ignoring duplicate entity {_shown(entity)}")
        else:
            try:
                records += _altered(state, entity, entry.ops)
            except KafkaError as refusal:
                error = refusal
        results[entity] = _result(entry.entity, error)
    response = k49.AlterClientQuotasResponse(entries=list(results.values()))
    return Decision(state.versioned(() if request.validate_only else records), response)


def _altered(state: ControllerState, entity: Entity, ops: Sequence[k49.OpData]) -> list[ClientQuotaRecord]:
    table = _table_of(entity)
    current = state.client_quotas.get(entity) or {}
    records = []
    for op in ops:
        if op.remove:
            if op.key not in table.rows:
                raise InvalidRequest(f"Invalid configuration key {op.key}")
            if op.key in current:
                records.append(quota_record(entity, op.key, None))
            continue
        _check_value(state, table, op)
        if current.get(op.key) != op.value:
            records.append(quota_record(entity, op.key, op.value))
    return records


def _table_of(entity: Entity) -> Table:
    """The quotas that an entity may have; InvalidRequest for what is no entity."""
    if not entity:
        raise InvalidRequest("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in TYPES:
            raise InvalidRequest(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidRequest(f"Empty {kind} not supported")
    kinds = dict(entity)
    if IP not in kinds:
        return quotas.CLIENT
    if len(kinds) > 1:
        raise InvalidRequest("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    address = kinds[IP]
    if address is not None and not _is_host(address):
        raise InvalidRequest(f"{address} is not a valid IP or resolvable host.")
    return quotas.IP


def _is_host(text: str) -> bool:
    """An address, or what could be the name of a host: a name is not resolved here, which would take a while."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return len(text) <= 253 and re.match(_HOST_NAME, text) is not None
    return True


def _check_value(state: ControllerState, table: Table, op: k49.OpData) -> None:
    row = table.rows.get(op.key)
    if row is None:
        raise InvalidRequest(f"Invalid configuration key {op.key}")
    if state.release.behaviour.requires_positive_quotas:
        _check_positive(row, op.value)
    elif row.type is not DOUBLE and not _is_whole(op.value):
        raise InvalidRequest(f"Configuration {op.key} must be a Long value")


def _check_positive(row: Definition, value: float) -> None:
    """What is no number at all passes, as it does with Kafka: it is neither too small nor too large."""
    if value <= 0:
        raise InvalidRequest(f"Quota {row.name} must be greater than 0")
    if row.type in _LARGEST:
        largest, shown = _LARGEST[row.type]
        if value > largest:
            raise InvalidRequest(f"Proposed value for {row.name} is too large for {shown}.")
        if value % 1 > TOLERANCE:
            raise InvalidRequest(f"{row.name} cannot be a fractional value.")


def _is_whole(value: float) -> bool:
    """Whether a 3.3 takes the number for a whole one. It adds a little and has Java cut off what is behind the point,
    towards 0, and so refuses every negative number."""
    if math.isnan(value):
        return True
    bounded = max(-(2.0**63), min(2.0**63, value + TOLERANCE))
    return abs(int(bounded) - value) <= TOLERANCE


def _shown(entity: Entity) -> str:
    return f"ClientQuotaEntity(entries={{{', '.join(f'{kind}={name}' for kind, name in entity)}}})"


def _result(entity: Sequence[k49.EntityData], error: KafkaError | None) -> k49.AlterClientQuotasResponseEntryData:
    named = {item.entity_type: item.entity_name for item in entity}
    return k49.AlterClientQuotasResponseEntryData(
        error_code=NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=[
            k49.AlterClientQuotasResponseEntityData(entity_type=kind, entity_name=name) for kind, name in named.items()
        ],
    )
