"""IncrementalAlterConfigs, versions 0-1: sets, deletes, appends to and subtracts from single configs (KIP-339).

     1  same fields in the flexible encoding (KIP-482)

Levels of broker loggers are changed right here; they last until the broker stops.

Who may: ALTER_CONFIGS on the topic, for the rest on the cluster; asked by the controller, for loggers by the broker.
Errors, per resource: INVALID_REQUEST for one that is named twice, a config that is named twice, a null value, another
broker's id, an unknown type, a broker config that cannot change while it runs; INVALID_CONFIG for an unknown logger or
level, or a list operation on what is no list; for the rest as the controller says.
"""

from odradek.handlers.altered_configs import alter, refused
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def refuse_incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, error: KafkaError, version: int
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(responses=refused(request, error, AlterConfigsResourceResponse))


@serves(IncrementalAlterConfigsRequest, versions="0-1", refuse=refuse_incremental_alter_configs)
async def incremental_alter_configs(
    call: BrokerCall, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    responses = await alter(
        call, request, IncrementalAlterConfigsResponse, AlterConfigsResourceResponse, is_incremental=True
    )
    return IncrementalAlterConfigsResponse(responses=responses)
