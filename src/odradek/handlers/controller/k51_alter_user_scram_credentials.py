"""AlterUserScramCredentials, version 0: an admin sets or deletes SCRAM credentials (KIP-554).

Who may: ALTER on the cluster. Errors: NOT_CONTROLLER; UNSUPPORTED_VERSION below metadata.version 11; per user
UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM, RESOURCE_NOT_FOUND, DUPLICATE_RESOURCE.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.k51_alter_user_scram_credentials import refuse_alter_user_scram_credentials
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER


@serves(
    AlterUserScramCredentialsRequest,
    versions="0",
    on="controller",
    allow=on_cluster(ALTER),
    refuse=refuse_alter_user_scram_credentials,
)
def alter_user_scram_credentials(
    call: ControllerCall, request: AlterUserScramCredentialsRequest
) -> Pending[AlterUserScramCredentialsResponse]:
    return call.services.controller.run(lambda core: core.alter_scram_credentials(request))
