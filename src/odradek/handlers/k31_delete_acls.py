"""DeleteAcls, versions 0-3: a broker hands it on to the active controller (`handlers/controller/`).

     1  pattern type: literal or prefixed (KIP-290); a throttled answer is sent at once (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  same fields; the resource type USER (KIP-373)

Who may: ALTER on the cluster; asked by the controller. Errors: per filter, as the controller says; a request that
cannot be forwarded refuses every filter.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k31_delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


def refuse_delete_acls(request: DeleteAclsRequest, error: KafkaError, version: int) -> DeleteAclsResponse:
    refused = DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))


@serves(DeleteAclsRequest, versions="0-3", refuse=refuse_delete_acls)
async def delete_acls(call: BrokerCall, request: DeleteAclsRequest) -> DeleteAclsResponse:
    return await forward(call, request, DeleteAclsResponse)
