"""Metadata, API key 3: the brokers, the controller, and the topics with their partitions and leaders.

Any broker answers; every client begins with it. Asking may create a topic, if broker and request allow it.

Versions 0-13, flexible from 9. Kafka 3.3 and 3.9 have 0-12, 4.3 0-13.

     1  a null list asks for all topics, an empty one for none (0: empty for all); controller, racks, internal topics
     2  cluster id in the response (KIP-78)
     3  throttle time in the response
     4  request: whether missing topics may be created
     5  response: offline replicas (KIP-112)
     6  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     7  response: leader epochs (KIP-320)
     8  authorized operations on the cluster and on topics, if asked for (KIP-430)
     9  same fields in the flexible encoding (KIP-482)
    10  topic ids (KIP-516); a request may not use them yet
    11  authorized operations on the cluster are gone: DescribeCluster has them (KIP-700)
    12  topics may be asked for by id (KIP-516); the name is null where the id is unknown
    13  response: an error for the whole answer, REBOOTSTRAP_REQUIRED (KIP-1102)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nullable_array,
    nullable_string,
    string,
    uuid,
)


class MetadataRequestTopic(Struct):
    topic_id = uuid("10+", ignorable=True)
    name     = nullable_string(nullable="10+", default="")


class MetadataRequest(Request, key=3, versions="0-13", flexible="9+"):
    topics                                = nullable_array(MetadataRequestTopic, nullable="1+", default=[])
    allow_auto_topic_creation             = boolean("4+", default=True)
    include_cluster_authorized_operations = boolean("8-10")
    include_topic_authorized_operations   = boolean("8+")


class MetadataResponseBroker(Struct):
    node_id = int32()
    host    = string()
    port    = int32()
    rack    = nullable_string("1+", ignorable=True)


class MetadataResponsePartition(Struct):
    error_code       = int16()
    partition_index  = int32()
    leader_id        = int32()
    leader_epoch     = int32("7+", default=-1, ignorable=True)
    replica_nodes    = array(int32())
    isr_nodes        = array(int32())
    offline_replicas = array(int32(), "5+", ignorable=True)


class MetadataResponseTopic(Struct):
    error_code                  = int16()
    name                        = nullable_string(nullable="12+", default="")
    topic_id                    = uuid("10+", ignorable=True)
    is_internal                 = boolean("1+", ignorable=True)
    partitions                  = array(MetadataResponsePartition)
    topic_authorized_operations = int32("8+", default=-2147483648)


class MetadataResponse(Response, key=3, versions="0-13", flexible="9+"):
    throttle_time_ms              = int32("3+", ignorable=True)
    brokers                       = array(MetadataResponseBroker)
    cluster_id                    = nullable_string("2+", ignorable=True)
    controller_id                 = int32("1+", default=-1, ignorable=True)
    topics                        = array(MetadataResponseTopic)
    cluster_authorized_operations = int32("8-10", default=-2147483648)
    error_code                    = int16("13+", ignorable=True)
