"""DescribeGroups, API key 15."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    bytes_,
    int16,
    int32,
    nullable_string,
    string,
)


class DescribeGroupsRequest(Request, key=15, versions="0-6", flexible="5+"):
    groups                        = array(string())
    include_authorized_operations = boolean("3+")


class DescribedGroupMember(Struct):
    member_id         = string()
    group_instance_id = nullable_string("4+", ignorable=True)
    client_id         = string()
    client_host       = string()
    member_metadata   = bytes_()
    member_assignment = bytes_()


class DescribedGroup(Struct):
    error_code            = int16()
    error_message         = nullable_string("6+")
    group_id              = string()
    group_state           = string()
    protocol_type         = string()
    protocol_data         = string()
    members               = array(DescribedGroupMember)
    authorized_operations = int32("3+", default=-2147483648)


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+"):
    throttle_time_ms = int32("1+", ignorable=True)
    groups           = array(DescribedGroup)
