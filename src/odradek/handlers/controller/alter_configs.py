"""What AlterConfigs and IncrementalAlterConfigs have in common: who may, and how each resource is answered."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

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

if TYPE_CHECKING:
    from odradek.controller.core import ControllerCore
    from odradek.replicated.decision import Decision


class Resource(Protocol):
    """Of either API."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...


R = TypeVar("R", bound=Resource)
T = TypeVar("T", bound=Struct)


async def alter(
    call: ControllerCall,
    resources: Sequence[R],
    answer: type[T],
    change: "Callable[[ControllerCore, list[R]], Decision[list[tuple[R, KafkaError | None]]]]",
) -> list[T]:
    """One answer per resource, in the order of the request; `change` is made for those that the caller may alter."""
    refused = {id(item): error for item in resources if (error := _refusal(call, item)) is not None}
    allowed = [item for item in resources if id(item) not in refused]
    outcomes = await call.services.controller.run(lambda core: change(core, allowed))
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
