"""DescribeConfigs, API key 32: configs of topics, brokers, groups and other resources (KIP-133).

A broker's configs and loggers come from that broker, all others from any. Null keys ask for all. Values of
sensitive configs are null. In 3.3 on broker listeners only.

Versions 0-4, flexible from 4. Kafka 3.3 and 3.9 have 0-4, 4.3 1-4. 4.0 dropped 0 (KIP-896).
On broker and controller listeners.

     1  synonyms, if asked for; response: source of each value in the place of is_default (KIP-226)
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  response: type of each config, and its documentation if asked for (KIP-569)
     4  same fields in the flexible encoding (KIP-482)
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
)


class DescribeConfigsResource(Struct):
    resource_type      = int8()
    resource_name      = string()
    configuration_keys = nullable_array(string(), default=[])


class DescribeConfigsRequest(Request, key=32, versions="0-4", flexible="4+"):
    resources             = array(DescribeConfigsResource)
    include_synonyms      = boolean("1+")
    include_documentation = boolean("3+")


class DescribeConfigsSynonym(Struct):
    name   = string()
    value  = nullable_string(default="")
    source = int8()


class DescribeConfigsResourceResult(Struct):
    name          = string()
    value         = nullable_string(default="")
    read_only     = boolean()
    is_default    = boolean("0")
    config_source = int8("1+", default=-1, ignorable=True)
    is_sensitive  = boolean()
    synonyms      = array(DescribeConfigsSynonym, "1+", ignorable=True)
    config_type   = int8("3+", ignorable=True)
    documentation = nullable_string("3+", default="", ignorable=True)


class DescribeConfigsResult(Struct):
    error_code    = int16()
    error_message = nullable_string(default="")
    resource_type = int8()
    resource_name = string()
    configs       = array(DescribeConfigsResourceResult)


class DescribeConfigsResponse(Response, key=32, versions="0-4", flexible="4+"):
    throttle_time_ms = int32()
    results          = array(DescribeConfigsResult)
