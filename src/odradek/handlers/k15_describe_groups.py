"""DescribeGroups, versions 0-6: state and members of classic groups, for admins.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  authorized operations, if asked for
     4  response: group instance ids
     5  same fields in the flexible encoding
     6  response: error message; an unknown group is GROUP_ID_NOT_FOUND, before it was a dead group

Who may: DESCRIBE on each group.
Errors, per group: GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND, those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k15_describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from odradek.security import acl

_WITH_MESSAGE = 6
_ON_CONFIGS = 1 << acl.DESCRIBE_CONFIGS | 1 << acl.ALTER_CONFIGS  # a 3.3 knows no configs of groups


def refuse_describe_groups(
    request: DescribeGroupsRequest, error: errors.KafkaError, version: int
) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[DescribedGroup(error_code=error.code, group_id=group_id) for group_id in request.groups]
    )


@serves(DescribeGroupsRequest, versions="0-6", refuse=refuse_describe_groups)
async def describe_groups(call: BrokerCall, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    groups = [await _described(call, group_id) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == errors.NONE:
                group.authorized_operations = _operations(call, group.group_id)
    return DescribeGroupsResponse(groups=groups)


def _operations(call: BrokerCall, group_id: str) -> int:
    allowed = call.authorized_operations(acl.GROUP, group_id)
    return allowed if call.services.release.behaviour.describes_rights_to_group_configs else allowed & ~_ON_CONFIGS


async def _described(call: BrokerCall, group_id: str) -> DescribedGroup:
    try:
        call.demand(acl.DESCRIBE, acl.GROUP, group_id)
        tells_missing = call.version >= _WITH_MESSAGE
        return await call.services.groups.describe(group_id, tells_missing=tells_missing)
    except errors.KafkaError as error:
        return DescribedGroup(error_code=error.code, group_id=group_id)
