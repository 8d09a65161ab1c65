"""Whether a broker could take over new dynamic configs: asked before they are written to the metadata log.

The broker that is meant must say so itself, for the controller knows nothing of its file.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from odradek.config import broker
from odradek.config.definition import PER_BROKER
from odradek.config.errors import ConfigError
from odradek.config.types import LIST, text_of
from odradek.handlers.call import BrokerCall
from odradek.handlers.config_resources import BROKER
from odradek.protocol import errors
from odradek.security import protections

SET, DELETE, APPEND, SUBTRACT = range(4)
_LIST_OPERATIONS = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


class Operation(Protocol):
    name: str
    config_operation: int
    value: str | None


def check(call: BrokerCall, broker_name: str, configs: Mapping[str, str]) -> None:
    """Raises InvalidRequest if these cannot become the dynamic configs of that broker, or of all (no name)."""
    release = call.services.release.name
    shown = call.services.release.behaviour.names
    rows = {name: broker.TABLE.find(name, release) for name in configs}
    fixed = [name for name, row in rows.items() if row is not None and not row.is_dynamic]
    if fixed:
        raise errors.InvalidRequest(f"Cannot update these configs dynamically: {shown(fixed)}")
    per_broker = [name for name, row in rows.items() if row is not None and row.update_mode == PER_BROKER]
    if per_broker and not broker_name:
        raise errors.InvalidRequest(
            "Cannot update these configs at default cluster level, broker id must be specified: " + shown(per_broker)
        )
    _check_together(call, broker_name, {name: value for name, value in configs.items() if rows[name] is not None})


def _check_together(call: BrokerCall, broker_name: str, configs: Mapping[str, str]) -> None:
    image = call.services.metadata.image
    layers = call.services.configs.current
    own = image.configs.of(BROKER, str(call.services.node_id))
    for_all, for_this = (image.configs.of(BROKER, ""), configs) if broker_name else (configs, own)
    try:
        protections.check(layers.with_dynamic(for_all, for_this).config)
    except ConfigError as error:
        raise errors.InvalidRequest(str(error)) from None


def changed(current: Mapping[str, str], operations: Iterable[Operation], release: str) -> dict[str, str]:
    """The configs after the operations of an IncrementalAlterConfigs."""
    configs = dict(current)
    for operation in operations:
        name = operation.name
        if operation.config_operation == SET and operation.value is not None:
            configs[name] = operation.value
        elif operation.config_operation == DELETE:
            configs.pop(name, None)
        elif operation.config_operation in _LIST_OPERATIONS and operation.value is not None:
            configs[name] = _changed_list(configs.get(name), operation, release)
        else:
            raise errors.UnknownServerError(f"There is no config operation {operation.config_operation}.")
    return configs


def _changed_list(current: str | None, operation: Operation, release: str) -> str:
    row = broker.TABLE.find(operation.name, release)
    verb = _LIST_OPERATIONS[operation.config_operation]
    if row is None or row.type is not LIST:
        raise errors.InvalidConfig(f"Can't {verb} to key {operation.name} because its type is not LIST.")
    text = text_of(row.default) if current is None else current
    items = [item.strip() for item in (text or "").split(",")]
    given = [item.strip() for item in (operation.value or "").split(",")]
    if operation.config_operation == APPEND:
        items += [item for item in given if item not in items]
    else:
        items = [item for item in items if item not in given]
    return ",".join(item for item in items if item)
