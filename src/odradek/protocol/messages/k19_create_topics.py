"""CreateTopics, API key 19."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    nullable_array,
    nullable_string,
    string,
    uuid,
)


class CreatableReplicaAssignment(Struct):
    partition_index = int32()
    broker_ids      = array(int32())


class CreatableTopicConfig(Struct):
    name  = string()
    value = nullable_string(default="")


class CreatableTopic(Struct):
    name               = string()
    num_partitions     = int32()
    replication_factor = int16()
    assignments        = array(CreatableReplicaAssignment)
    configs            = array(CreatableTopicConfig)


class CreateTopicsRequest(Request, key=19, versions="0-7", flexible="5+"):
    topics        = array(CreatableTopic)
    timeout_ms    = int32(default=60000)
    validate_only = boolean("1+")


class CreatableTopicConfigs(Struct):
    name          = string()
    value         = nullable_string(default="")
    read_only     = boolean()
    config_source = int8(default=-1)
    is_sensitive  = boolean()


class CreatableTopicResult(Struct):
    name                    = string()
    topic_id                = uuid("7+", ignorable=True)
    error_code              = int16()
    error_message           = nullable_string("1+", default="", ignorable=True)
    num_partitions          = int32("5+", default=-1, ignorable=True)
    replication_factor      = int16("5+", default=-1, ignorable=True)
    configs                 = nullable_array(CreatableTopicConfigs, "5+", default=[], ignorable=True)
    topic_config_error_code = int16("5+", tag=0, ignorable=True)


class CreateTopicsResponse(Response, key=19, versions="0-7", flexible="5+"):
    throttle_time_ms = int32("2+", ignorable=True)
    topics           = array(CreatableTopicResult)
