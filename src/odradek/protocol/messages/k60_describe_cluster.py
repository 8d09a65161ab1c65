"""DescribeCluster, API key 60: the nodes of the cluster and its id (KIP-700).

Endpoint type 1 asks for the brokers, 2 for the controllers. In 3.3 on broker listeners only.

Versions 0-2, flexible. Kafka 3.3 has 0, 3.9 0-1, 4.3 0-2.
On broker and controller listeners.

     1  endpoint type on both sides (KIP-919)
     2  fenced brokers, if asked for (KIP-1073)
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
