"""DeleteAcls, versions 0-3: an admin removes the entries that match filters (KIP-140).

     1  pattern type: literal or prefixed (KIP-290); a throttled answer is sent at once (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  same fields; the resource type USER (KIP-373)

Who may: ALTER on the cluster. A code that stands for nothing closes the connection, as with Kafka. Errors:
NOT_CONTROLLER; SECURITY_DISABLED without an authorizer.
"""

from odradek.controller.acl_changes import is_readable_filter
from odradek.handlers.call import ControllerCall
from odradek.handlers.k31_delete_acls import refuse_delete_acls
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.k31_delete_acls import DeleteAclsRequest, DeleteAclsResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER


@serves(DeleteAclsRequest, versions="0-3", on="controller", allow=on_cluster(ALTER), refuse=refuse_delete_acls)
def delete_acls(call: ControllerCall, request: DeleteAclsRequest) -> Pending[DeleteAclsResponse]:
    if not all(map(is_readable_filter, request.filters)):
        raise PeerProtocolError("DeleteAcls contains unknown elements", 0)
    return call.services.controller.run(lambda core: core.delete_acls(request))
