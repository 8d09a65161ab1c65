"""DescribeCluster, API key 60."""

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


class DescribeClusterRequest(Request, key=60, versions="0-2", flexible="0+"):
    include_cluster_authorized_operations = boolean()
    endpoint_type                         = int8("1+", default=1)
    include_fenced_brokers                = boolean("2+")


class DescribeClusterBroker(Struct):
    broker_id = int32()
    host      = string()
    port      = int32()
    rack      = nullable_string()
    is_fenced = boolean("2+")


class DescribeClusterResponse(Response, key=60, versions="0-2", flexible="0+"):
    throttle_time_ms              = int32()
    error_code                    = int16()
    error_message                 = nullable_string()
    endpoint_type                 = int8("1+", default=1)
    cluster_id                    = string()
    controller_id                 = int32(default=-1)
    brokers                       = array(DescribeClusterBroker)
    cluster_authorized_operations = int32(default=-2147483648)
