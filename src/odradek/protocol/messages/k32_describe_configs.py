"""DescribeConfigs, API key 32."""

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
