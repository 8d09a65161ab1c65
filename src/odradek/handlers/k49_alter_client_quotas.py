"""AlterClientQuotas, versions 0-1: a broker hands it on to the active controller (`handlers/controller/`).

     1  same fields in the flexible encoding (KIP-482)

Who may: ALTER_CONFIGS on the cluster; asked by the controller. Errors: per entity, as the controller says; a request
that cannot be forwarded refuses every entity.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntityData,
    AlterClientQuotasResponseEntryData,
)


def refuse_alter_client_quotas(
    request: AlterClientQuotasRequest, error: KafkaError, version: int
) -> AlterClientQuotasResponse:
    entries = [
        AlterClientQuotasResponseEntryData(
            error_code=error.code,
            error_message=error.message,
            entity=[
                AlterClientQuotasResponseEntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                for part in entry.entity
            ],
        )
        for entry in request.entries
    ]
    return AlterClientQuotasResponse(entries=entries)


@serves(AlterClientQuotasRequest, versions="0-1", refuse=refuse_alter_client_quotas)
async def alter_client_quotas(call: BrokerCall, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    return await forward(call, request, AlterClientQuotasResponse)
