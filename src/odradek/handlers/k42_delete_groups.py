"""DeleteGroups, versions 0-2: an admin deletes groups that have no members, with their offsets.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding

Who may: DELETE on each group.
Errors, per group: GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from odradek.security.acl import DELETE, GROUP


def refuse_delete_groups(request: DeleteGroupsRequest, error: errors.KafkaError, version: int) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=name, error_code=error.code) for name in request.groups_names]
    )


@serves(DeleteGroupsRequest, versions="0-2", refuse=refuse_delete_groups)
async def delete_groups(call: BrokerCall, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    results = [
        DeletableGroupResult(group_id=name, error_code=await _deleted(call, name))
        for name in dict.fromkeys(request.groups_names)
    ]
    return DeleteGroupsResponse(results=results)


async def _deleted(call: BrokerCall, group_id: str) -> int:
    try:
        call.demand(DELETE, GROUP, group_id)
        shares = call.services.shares
        if shares is not None and call.services.groups.is_share_group(group_id):
            await shares.groups.delete(group_id)
            return errors.NONE
        return await call.services.groups.delete(group_id)
    except errors.KafkaError as error:
        return error.code
