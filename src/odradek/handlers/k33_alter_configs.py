"""AlterConfigs, versions 0-2: replaces all configs of a resource; what the request leaves out falls back.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)

Who may: ALTER_CONFIGS on the topic, for the rest on the cluster; asked by the controller.
Errors, per resource: INVALID_REQUEST for one that is named twice, a config that is named twice, a null value, another
broker's id, a type that is unknown or cannot be replaced as a whole (broker loggers), a broker config that cannot
change while it runs; for the rest as the controller says.
"""

from collections.abc import Sequence
from typing import Any

from odradek.handlers.altered_configs import alter
from odradek.handlers.call import Call
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def refuse_alter_configs(request: AlterConfigsRequest, error: KafkaError, version: int) -> AlterConfigsResponse:
    refused = [_response(resource, error.code, error.message) for resource in request.resources]
    return AlterConfigsResponse(responses=refused)


@serves(AlterConfigsRequest, versions="0-2", refuse=refuse_alter_configs)
async def alter_configs(call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
    async def to_controller(resources: list[Any]) -> Sequence[AlterConfigsResourceResponse]:
        rest = AlterConfigsRequest(resources=resources, validate_only=request.validate_only)
        return (await forward(call, rest, AlterConfigsResponse)).responses

    outcomes = await alter(
        call,
        request.resources,
        is_incremental=False,
        validate_only=request.validate_only,
        forward=to_controller,
    )
    return AlterConfigsResponse(responses=[_response(*outcome) for outcome in outcomes])


def _response(resource: AlterConfigsResource, code: int, message: str | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
