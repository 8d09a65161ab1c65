"""DeleteAcls, API key 31: an admin removes the access control entries that match filters (KIP-140).

The controller decides; the response names the entries removed, per filter.

Versions 0-3, flexible from 2. Kafka 3.3 and 3.9 have 0-3, 4.3 1-3. 4.0 dropped 0 (KIP-896).
On broker and controller listeners; a broker forwards it to the controller.

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


class DeleteAclsFilter(Struct):
    resource_type_filter = int8()
    resource_name_filter = nullable_string(default="")
    pattern_type_filter  = int8("1+", default=3)
    principal_filter     = nullable_string(default="")
    host_filter          = nullable_string(default="")
    operation            = int8()
    permission_type      = int8()


class DeleteAclsRequest(Request, key=31, versions="0-3", flexible="2+"):
    filters = array(DeleteAclsFilter)


class DeleteAclsMatchingAcl(Struct):
    error_code      = int16()
    error_message   = nullable_string(default="")
    resource_type   = int8()
    resource_name   = string()
    pattern_type    = int8("1+", default=3)
    principal       = string()
    host            = string()
    operation       = int8()
    permission_type = int8()


class DeleteAclsFilterResult(Struct):
    error_code    = int16()
    error_message = nullable_string(default="")
    matching_acls = array(DeleteAclsMatchingAcl)


class DeleteAclsResponse(Response, key=31, versions="0-3", flexible="2+"):
    throttle_time_ms = int32()
    filter_results   = array(DeleteAclsFilterResult)
