"""CreateTopics, API key 19: an admin creates topics.

The controller decides; each topic succeeds or fails by itself (KIP-4).

Versions 0-7, flexible from 5. Kafka 3.3 and 3.9 have 0-7, 4.3 2-7. 4.0 dropped 0-1 (KIP-896).
On broker and controller listeners; a broker forwards it to the controller.

     1  request: validate_only; response: error message
     2  throttle time in the response
     3  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     4  same fields; -1 partitions or replicas ask for the broker's default (KIP-464)
     5  flexible; response: partitions, replicas and configs of the new topic (KIP-525)
     6  same fields; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
     7  response: topic id (KIP-516)
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
