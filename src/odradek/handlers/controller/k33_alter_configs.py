"""AlterConfigs, versions 0-2: replaces all configs of a resource (KIP-133).

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)

Who may: ALTER_CONFIGS on the topic or group; for anything else on the cluster. Errors: NOT_CONTROLLER; per resource
INVALID_REQUEST for one that is named twice or cannot be, INVALID_CONFIG for a name or value that it may not have,
UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, and the error of a missing permission.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.controller.alter_configs import alter
from odradek.handlers.k33_alter_configs import refuse_alter_configs
from odradek.handlers.serves import serves
from odradek.protocol.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


@serves(AlterConfigsRequest, versions="0-2", on="controller", refuse=refuse_alter_configs)
async def alter_configs(call: ControllerCall, request: AlterConfigsRequest) -> AlterConfigsResponse:
    responses = await alter(
        call,
        request.resources,
        AlterConfigsResourceResponse,
        lambda core, allowed: core.alter_configs(allowed, validate_only=request.validate_only),
    )
    return AlterConfigsResponse(responses=responses)
