"""DescribeAcls, API key 29: an admin lists the access control entries that match a filter (KIP-140).

A null name, principal or host matches any.

Versions 0-3, flexible from 2. Kafka 3.3 and 3.9 have 0-3, 4.3 1-3. 4.0 dropped 0 (KIP-896).
On broker and controller listeners.

     1  pattern type: literal or prefixed (KIP-290); a throttled answer is sent at once (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  same fields; the resource type USER (KIP-373)
"""

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
