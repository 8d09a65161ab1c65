"""CreateAcls, API key 30."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    nullable_string,
    string,
)


class AclCreation(Struct):
    resource_type         = int8()
    resource_name         = string()
    resource_pattern_type = int8("1+", default=3)
    principal             = string()
    host                  = string()
    operation             = int8()
    permission_type       = int8()


class CreateAclsRequest(Request, key=30, versions="0-3", flexible="2+"):
    creations = array(AclCreation)


class AclCreationResult(Struct):
    error_code    = int16()
    error_message = nullable_string(default="")


class CreateAclsResponse(Response, key=30, versions="0-3", flexible="2+"):
    throttle_time_ms = int32()
    results          = array(AclCreationResult)
