"""AlterConfigs, versions 0-2: replaces all configs of a resource; what the request leaves out falls back.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)

Who may: ALTER_CONFIGS on the topic, for the rest on the cluster; asked by the controller.
Errors, per resource: INVALID_REQUEST for one that is named twice, a config that is named twice, a null value, another
broker's id, a type that is unknown or cannot be replaced as a whole (broker loggers), a broker config that cannot
change while it runs; for the rest as the controller says.
"""

from odradek.handlers.altered_configs import alter, refused
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def refuse_alter_configs(request: AlterConfigsRequest, error: KafkaError, version: int) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=refused(request, error, AlterConfigsResourceResponse))


@serves(AlterConfigsRequest, versions="0-2", refuse=refuse_alter_configs)
async def alter_configs(call: BrokerCall, request: AlterConfigsRequest) -> AlterConfigsResponse:
    responses = await alter(call, request, AlterConfigsResponse, AlterConfigsResourceResponse, is_incremental=False)
    return AlterConfigsResponse(responses=responses)
