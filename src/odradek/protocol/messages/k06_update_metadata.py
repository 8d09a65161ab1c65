"""UpdateMetadata, API key 6: the ZooKeeper controller gives every broker the metadata that it answers to clients.

Only between servers in ZooKeeper mode and in the migration to KRaft. The response never changed.

Versions 0-8, flexible from 6. Kafka 3.3 has 0-7, 3.9 0-8; gone with ZooKeeper in 4.0.

     1  several endpoints per broker, with their security protocol
     2  racks (KIP-36)
     3  listener names (KIP-103)
     4  offline replicas (KIP-112)
     5  broker epoch, partitions grouped by topic (KIP-380)
     6  same fields in the flexible encoding (KIP-482)
     7  topic ids (KIP-516)
     8  whether a KRaft controller sends it, incremental or full as a tagged field (KIP-866)
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
    int64,
    nullable_string,
    string,
    uuid,
)


class UpdateMetadataPartitionState(Struct):
    topic_name       = string("0-4", ignorable=True)
    partition_index  = int32()
    controller_epoch = int32()
    leader           = int32()
    leader_epoch     = int32()
    isr              = array(int32())
    zk_version       = int32()
    replicas         = array(int32())
    offline_replicas = array(int32(), "4+", ignorable=True)


class UpdateMetadataTopicState(Struct):
    topic_name       = string()
    topic_id         = uuid("7+", ignorable=True)
    partition_states = array(UpdateMetadataPartitionState)


class UpdateMetadataEndpoint(Struct):
    port              = int32()
    host              = string()
    listener          = string("3+", ignorable=True)
    security_protocol = int16()


class UpdateMetadataBroker(Struct):
    id        = int32()
    v0_host   = string("0", ignorable=True)
    v0_port   = int32("0", ignorable=True)
    endpoints = array(UpdateMetadataEndpoint, "1+", ignorable=True)
    rack      = nullable_string("2+", default="", ignorable=True)


class UpdateMetadataRequest(Request, key=6, versions="0-8", flexible="6+"):
    controller_id              = int32()
    is_k_raft_controller       = boolean("8+")
    controller_epoch           = int32()
    ungrouped_partition_states = array(UpdateMetadataPartitionState, "0-4")
    broker_epoch               = int64("5+", default=-1, ignorable=True)
    topic_states               = array(UpdateMetadataTopicState, "5+")
    live_brokers               = array(UpdateMetadataBroker)
    type                       = int8("8+", tag=0)


class UpdateMetadataResponse(Response, key=6, versions="0-8", flexible="6+"):
    error_code = int16()
