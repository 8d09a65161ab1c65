"""What AlterConfigs and IncrementalAlterConfigs have in common: who may, and how each resource is answered."""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

from odradek.config.vocabulary import GROUP, TOPIC
from odradek.handlers.call import ControllerCall
from odradek.protocol.declare import Struct
from odradek.protocol.errors import (
    NONE,
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownServerError,
)
from odradek.security import acl

Resource: TypeAlias = Any  # of either API: two classes with the same fields

T = TypeVar("T", bound=Struct)


async def alter(
    call: ControllerCall, resources: Sequence[Resource], answer: type[T], *, is_incremental: bool, validate_only: bool
) -> list[T]:
    """One answer per resource, in the order of the request."""
    refused = {id(item): error for item in resources if (error := _refusal(call, item)) is not None}
    allowed = [item for item in resources if id(item) not in refused]
    outcomes: list[tuple[Resource, KafkaError | None]] = await call.services.controller.run(
        lambda core: core.alter_configs(allowed, is_incremental=is_incremental, validate_only=validate_only)
    )
    errors = {id(item): error for item, error in outcomes} | refused
    return [_answer(item, errors[id(item)], answer) for item in resources]


def _refusal(call: ControllerCall, item: Resource) -> KafkaError | None:
    if item.resource_type == TOPIC:
        is_allowed = call.authorize(acl.ALTER_CONFIGS, acl.TOPIC, item.resource_name)
        return None if is_allowed else TopicAuthorizationFailed()
    if item.resource_type == GROUP:
        is_allowed = call.authorize(acl.ALTER_CONFIGS, acl.GROUP, item.resource_name)
        return None if is_allowed else GroupAuthorizationFailed()
    is_allowed = call.authorize(acl.ALTER_CONFIGS, acl.CLUSTER, acl.CLUSTER_NAME)
    return None if is_allowed else ClusterAuthorizationFailed()


def _answer(item: Resource, error: KafkaError | None, answer: type[T]) -> T:
    has_words = error is not None and not isinstance(error, UnknownServerError)
    return answer(
        error_code=NONE if error is None else error.code,
        error_message=error.message if error is not None and has_words else None,
        resource_type=item.resource_type,
        resource_name=item.resource_name,
    )
