"""AlterConfigs, API key 33: an admin replaces all configs of a resource (KIP-133).

What the request does not name goes back to its default, which makes it unsafe for two admins at a time:
IncrementalAlterConfigs is its successor.

Versions 0-2, flexible from 2. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners; a broker forwards it to the controller.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
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
    name  = string()
    value = nullable_string(default="")

    secret_fields = frozenset({"value"})  # it may be a password


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
