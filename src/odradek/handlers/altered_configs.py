"""What a broker does itself with AlterConfigs and IncrementalAlterConfigs, before the controller gets the rest.

The levels of its loggers are its own. Configs of brokers are checked here, for only the broker knows its file, and
written by the controller. Everything else is the controller's alone. The results come back in the order of the request.
"""

from collections import Counter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from odradek.handlers import broker_configs
from odradek.handlers.broker_configs import DELETE, SET
from odradek.handlers.call import BrokerCall
from odradek.handlers.config_resources import BROKER, BROKER_LOGGER, is_known
from odradek.handlers.forward import forward
from odradek.protocol import errors
from odradek.protocol.declare import Response, Struct
from odradek.security import acl

_OPERATIONS = ("SET", "DELETE", "APPEND", "SUBTRACT")


# Any: both APIs have classes of their own for these, with the same fields; a config of the incremental one has an
# operation, and `is_incremental` says which one it is.
AlterRequest: TypeAlias = Any
AlterResponse: TypeAlias = Any
Resource: TypeAlias = Any


class Outcome(NamedTuple):
    """What became of one resource; code 0 and no message if all went well."""

    resource: Resource
    error_code: int = errors.NONE
    error_message: str | None = None


T = TypeVar("T", bound=Struct)


async def alter(
    call: BrokerCall,
    request: AlterRequest,
    answer: type[Response],
    answer_of_resource: type[T],
    *,
    is_incremental: bool,
) -> list[T]:
    """One answer per resource of either request, whose answers are of these types."""
    resources = request.resources
    named = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    outcomes: list[Outcome | None] = []
    for resource in resources:
        is_repeated = named[resource.resource_type, resource.resource_name] > 1
        outcomes.append(_done_here(call, resource, is_repeated, is_incremental, request.validate_only))
    left = [resource for resource, outcome in zip(resources, outcomes, strict=True) if outcome is None]
    forwarded = await _by_controller(call, request, left, answer) if left else {}
    told = [
        outcome if outcome is not None else forwarded[resource.resource_type, resource.resource_name]
        for resource, outcome in zip(resources, outcomes, strict=True)
    ]
    return [_answer(outcome, answer_of_resource) for outcome in told]


def refused(request: AlterRequest, error: errors.KafkaError, answer_of_resource: type[T]) -> list[T]:
    """The answers to a request that is refused as a whole: each resource gets the error."""
    outcomes = (Outcome(resource, error.code, error.message) for resource in request.resources)
    return [_answer(outcome, answer_of_resource) for outcome in outcomes]


def _answer(outcome: Outcome, answer_of_resource: type[T]) -> T:
    return answer_of_resource(
        error_code=outcome.error_code,
        error_message=outcome.error_message,
        resource_type=outcome.resource.resource_type,
        resource_name=outcome.resource.resource_name,
    )


async def _by_controller(
    call: BrokerCall, request: AlterRequest, left: list[Resource], answer: type[Response]
) -> dict[tuple[int, str], Outcome]:
    rest = type(request)(resources=left, validate_only=request.validate_only)
    try:
        answered: AlterResponse = await forward(call, rest, answer)
    except errors.KafkaError as error:
        return {(item.resource_type, item.resource_name): _refused(item, error) for item in left}
    missing = errors.UnknownServerError.code
    outcomes = {(item.resource_type, item.resource_name): Outcome(item, missing) for item in left}
    for result in answered.responses:
        place = (result.resource_type, result.resource_name)
        outcomes[place] = outcomes[place]._replace(error_code=result.error_code, error_message=result.error_message)
    return outcomes


def _refused(resource: Resource, error: errors.KafkaError) -> Outcome:
    # an error nobody has words for comes without any
    is_unexpected = isinstance(error, errors.UnknownServerError)
    return Outcome(resource, error.code, None if is_unexpected else error.message)


def _done_here(
    call: BrokerCall, resource: Resource, is_repeated: bool, is_incremental: bool, validate_only: bool
) -> Outcome | None:
    """The outcome if the resource is refused or was the broker's own business, None if the controller is to do it."""
    try:
        if is_repeated:
            raise errors.InvalidRequest("Each resource must appear at most once.")
        _check_shape(resource, is_incremental)
        return _dispatched(call, resource, is_incremental, validate_only)
    except errors.KafkaError as error:
        return _refused(resource, error)


def _check_shape(resource: Resource, is_incremental: bool) -> None:
    names = [config.name for config in resource.configs]
    if len(set(names)) < len(names):
        raise errors.InvalidRequest("Error due to duplicate config keys")
    needs_none = [
        config.name
        for config in resource.configs
        if config.value is None and not (is_incremental and config.config_operation == DELETE)
    ]
    if needs_none:
        raise errors.InvalidRequest(f"Null value not supported for : {','.join(needs_none)}")


def _dispatched(call: BrokerCall, resource: Resource, is_incremental: bool, validate_only: bool) -> Outcome | None:
    kind = resource.resource_type
    if not is_known(call.services.release, kind) or (kind == BROKER_LOGGER and not is_incremental):
        raise errors.InvalidRequest(f"Unknown resource type {kind}")
    if kind == BROKER_LOGGER:
        _alter_loggers(call, resource, validate_only)
        return Outcome(resource)
    if kind == BROKER:
        _check_broker(call, resource, is_incremental)
    return None


def _check_broker(call: BrokerCall, resource: Resource, is_incremental: bool) -> None:
    name = resource.resource_name
    if name:
        _check_own_id(call, name)
    if is_incremental:
        current = call.services.metadata.image.configs.of(BROKER, name)
        configs = broker_configs.changed(current, resource.configs, call.services.release.name)
    else:
        configs = {config.name: config.value for config in resource.configs}
    broker_configs.check(call, name, configs)


def _check_own_id(call: BrokerCall, name: str) -> None:
    try:
        node_id = int(name)
    except ValueError:
        raise errors.InvalidRequest(f"Node id must be an integer, but it is: {name}") from None
    if node_id != call.services.node_id:
        raise errors.InvalidRequest(f"Unexpected broker id, expected {call.services.node_id}, but received {name}")


def _alter_loggers(call: BrokerCall, resource: Resource, validate_only: bool) -> None:
    """All of them or, if one is wrong, none."""
    call.demand(acl.ALTER_CONFIGS, acl.CLUSTER, acl.CLUSTER_NAME)
    _check_own_id(call, resource.resource_name)
    levels = call.services.log_levels
    for config in resource.configs:
        if config.config_operation == SET:
            levels.check_set(config.name, config.value)
        elif config.config_operation == DELETE:
            levels.check_unset(config.name)
        else:
            raise errors.InvalidRequest(_not_for_loggers(config.config_operation))
    if validate_only:
        return
    for config in resource.configs:
        if config.config_operation == SET:
            levels.set(config.name, config.value)
        else:
            levels.unset(config.name)


def _not_for_loggers(operation: int) -> str:
    if 0 <= operation < len(_OPERATIONS):
        return f"{_OPERATIONS[operation]} operation is not allowed for the BROKER_LOGGER resource"
    return f"There is no config operation {operation}"
