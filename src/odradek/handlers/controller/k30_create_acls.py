"""CreateAcls, versions 0-3: an admin adds access control entries (KIP-140).

     1  pattern type: literal or prefixed (KIP-290); a throttled answer is sent at once (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  same fields; the resource type USER (KIP-373)

Who may: ALTER on the cluster. A code that stands for nothing closes the connection, as with Kafka. Errors:
NOT_CONTROLLER; SECURITY_DISABLED without an authorizer; per entry INVALID_REQUEST for a name or principal that cannot
be, UNKNOWN_SERVER_ERROR for a code that only a filter may have.
"""

from odradek.controller.acl_changes import is_readable
from odradek.handlers.call import ControllerCall
from odradek.handlers.k30_create_acls import refuse_create_acls
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.k30_create_acls import CreateAclsRequest, CreateAclsResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER


@serves(CreateAclsRequest, versions="0-3", on="controller", allow=on_cluster(ALTER), refuse=refuse_create_acls)
def create_acls(call: ControllerCall, request: CreateAclsRequest) -> Pending[CreateAclsResponse]:
    if not all(map(is_readable, request.creations)):
        raise PeerProtocolError("CreateAcls contains unknown elements", 0)
    return call.services.controller.run(lambda core: core.create_acls(request))
