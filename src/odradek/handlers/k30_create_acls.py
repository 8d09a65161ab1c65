"""CreateAcls, versions 0-3: a broker hands it on to the active controller (`handlers/controller/`).

     1  pattern type: literal or prefixed (KIP-290); a throttled answer is sent at once (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  same fields; the resource type USER (KIP-373)

Who may: ALTER on the cluster; asked by the controller. Errors: per entry, as the controller says; a request that
cannot be forwarded refuses every entry.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k30_create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


def refuse_create_acls(request: CreateAclsRequest, error: KafkaError, version: int) -> CreateAclsResponse:
    refused = AclCreationResult(error_code=error.code, error_message=error.message)
    return CreateAclsResponse(results=[refused] * len(request.creations))


@serves(CreateAclsRequest, versions="0-3", refuse=refuse_create_acls)
async def create_acls(call: BrokerCall, request: CreateAclsRequest) -> CreateAclsResponse:
    return await forward(call, request, CreateAclsResponse)
