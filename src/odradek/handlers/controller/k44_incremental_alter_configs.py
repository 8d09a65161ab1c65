"""IncrementalAlterConfigs, versions 0-1: sets, deletes, extends and cuts single configs (KIP-339).

     1  same fields in the flexible encoding (KIP-482)

Who may: ALTER_CONFIGS on the topic or group; for anything else on the cluster. Errors: NOT_CONTROLLER; per resource
INVALID_REQUEST for one that is named twice or cannot be, INVALID_CONFIG for a name or value that it may not have,
UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, and the error of a missing permission.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.controller.alter_configs import alter
from odradek.handlers.k44_incremental_alter_configs import refuse_incremental_alter_configs
from odradek.handlers.serves import serves
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


@serves(IncrementalAlterConfigsRequest, versions="0-1", on="controller", refuse=refuse_incremental_alter_configs)
async def incremental_alter_configs(
    call: ControllerCall, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    responses = await alter(
        call,
        request.resources,
        AlterConfigsResourceResponse,
        lambda core, allowed: core.incremental_alter_configs(allowed, validate_only=request.validate_only),
    )
    return IncrementalAlterConfigsResponse(responses=responses)
