"""IncrementalAlterConfigs, API key 44: an admin changes single configs of a resource (KIP-339).

Operations: 0 set, 1 delete, 2 append and 3 subtract, the last two for lists. A broker checks changes of its own
configs before it forwards them.

Versions 0-1, flexible from 1. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners; a broker forwards it to the controller.

     1  same fields in the flexible encoding (KIP-482)
"""

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
    name             = string()
    config_operation = int8()
    value            = nullable_string(default="")

    secret_fields = frozenset({"value"})  # it may be a password


class AlterConfigsResource(Struct):
    resource_type = int8()
    resource_name = string()
    configs       = array(AlterableConfig)


class IncrementalAlterConfigsRequest(Request, key=44, versions="0-1", flexible="1+"):
    resources     = array(AlterConfigsResource)
    validate_only = boolean()


class AlterConfigsResourceResponse(Struct):
    error_code    = int16()
    error_message = nullable_string(default="")
    resource_type = int8()
    resource_name = string()


class IncrementalAlterConfigsResponse(Response, key=44, versions="0-1", flexible="1+"):
    throttle_time_ms = int32()
    responses        = array(AlterConfigsResourceResponse)
