"""What the descriptions of groups have in common, those of the classic protocol apart: who may see what."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from odradek.handlers.call import BrokerCall
from odradek.protocol import errors
from odradek.security import acl


class Described(Protocol):
    group_id: str
    error_code: int
    error_message: str | None
    authorized_operations: int


class DescribeRequest(Protocol):
    group_ids: list[str]
    include_authorized_operations: bool


G = TypeVar("G", bound=Described)


async def described_groups(
    call: BrokerCall,
    request: DescribeRequest,
    kind: type[G],
    describe: Callable[[str], Awaitable[G]],
    topics_of: Callable[[G], Iterable[str]],
    hidden: str,
) -> list[G]:
    """Describes the groups of a request, first those that are refused.

    A group with a topic that the caller may not see is answered with that error and nothing else."""
    refused: list[G] = []
    described: list[G] = []
    for group_id in request.group_ids:
        try:
            call.demand(acl.DESCRIBE, acl.GROUP, group_id)
            if not group_id:
                raise errors.InvalidGroupId()
            group = await describe(group_id)
        except errors.KafkaError as error:
            refused.append(failed(kind, group_id, error))
            continue
        if _may_see(call, set(topics_of(group))):
            _add_operations(call, request, group)
        else:
            group = failed(kind, group_id, errors.TopicAuthorizationFailed())
            group.error_message = hidden
        described.append(group)
    return refused + described


def failed(kind: type[G], group_id: str, error: errors.KafkaError) -> G:
    group = kind()
    group.group_id = group_id
    group.error_code = error.code
    return group


def _may_see(call: BrokerCall, topics: set[str]) -> bool:
    return len(call.authorize_all(acl.DESCRIBE, acl.TOPIC, sorted(topics))) == len(topics)


def _add_operations(call: BrokerCall, request: DescribeRequest, group: Described) -> None:
    if request.include_authorized_operations and group.error_code == errors.NONE:
        group.authorized_operations = call.authorized_operations(acl.GROUP, group.group_id)
