"""AlterClientQuotas, versions 0-1: an admin sets or removes client quotas (KIP-546).

     1  same fields in the flexible encoding (KIP-482)

Who may: ALTER_CONFIGS on the cluster. Errors: NOT_CONTROLLER; per entity INVALID_REQUEST for an entity, key or value
that cannot be.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.k49_alter_client_quotas import refuse_alter_client_quotas
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k49_alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER_CONFIGS


@serves(
    AlterClientQuotasRequest,
    versions="0-1",
    on="controller",
    allow=on_cluster(ALTER_CONFIGS),
    refuse=refuse_alter_client_quotas,
)
def alter_client_quotas(call: ControllerCall, request: AlterClientQuotasRequest) -> Pending[AlterClientQuotasResponse]:
    return call.services.controller.run(lambda core: core.alter_client_quotas(request))
