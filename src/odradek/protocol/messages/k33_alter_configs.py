"""AlterConfigs, API key 33."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    nullable_string,
    string,
)


class AlterableConfig(Struct):
    name  = string()
    value = nullable_string(default="")


class AlterConfigsResource(Struct):
    resource_type = int8()
    resource_name = string()
    configs       = array(AlterableConfig)


class AlterConfigsRequest(Request, key=33, versions="0-2", flexible="2+"):
    resources     = array(AlterConfigsResource)
    validate_only = boolean()


class AlterConfigsResourceResponse(Struct):
    error_code    = int16()
    error_message = nullable_string(default="")
    resource_type = int8()
    resource_name = string()


class AlterConfigsResponse(Response, key=33, versions="0-2", flexible="2+"):
    throttle_time_ms = int32()
    responses        = array(AlterConfigsResourceResponse)
