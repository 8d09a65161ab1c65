"""AlterUserScramCredentials, version 0: a broker hands it on to the active controller (`handlers/controller/`).

Who may: ALTER on the cluster; asked by the controller. Errors: per user, as the controller says; a request that
cannot be forwarded refuses every user.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


def refuse_alter_user_scram_credentials(
    request: AlterUserScramCredentialsRequest, error: KafkaError, version: int
) -> AlterUserScramCredentialsResponse:
    users = dict.fromkeys([*(item.name for item in request.deletions), *(item.name for item in request.upsertions)])
    results = [
        AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=error.message) for user in users
    ]
    return AlterUserScramCredentialsResponse(results=results)


@serves(AlterUserScramCredentialsRequest, versions="0", refuse=refuse_alter_user_scram_credentials)
async def alter_user_scram_credentials(
    call: BrokerCall, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    return await forward(call, request, AlterUserScramCredentialsResponse)
