"""DescribeAcls, API key 29."""

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


class DescribeAclsRequest(Request, key=29, versions="0-3", flexible="2+"):
    resource_type_filter = int8()
    resource_name_filter = nullable_string(default="")
    pattern_type_filter  = int8("1+", default=3)
    principal_filter     = nullable_string(default="")
    host_filter          = nullable_string(default="")
    operation            = int8()
    permission_type      = int8()


class AclDescription(Struct):
    principal       = string()
    host            = string()
    operation       = int8()
    permission_type = int8()


class DescribeAclsResource(Struct):
    resource_type = int8()
    resource_name = string()
    pattern_type  = int8("1+", default=3)
    acls          = array(AclDescription)


class DescribeAclsResponse(Response, key=29, versions="0-3", flexible="2+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
    resources        = array(DescribeAclsResource)
