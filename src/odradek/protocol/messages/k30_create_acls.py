"""CreateAcls, API key 30: an admin adds access control entries (KIP-140).

The controller decides; one result per entry, in the order of the request.

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
