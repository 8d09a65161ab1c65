"""DescribeClientQuotas, API key 48: the client quotas that match a filter (KIP-546).

A component matches an entity by 0 its exact name, 1 being the default, 2 any name. Strict leaves out entities of
other types besides those asked for.

Versions 0-1, flexible from 1. The same in Kafka 3.3, 3.9 and 4.3.

     1  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    float64,
    int8,
    int16,
    int32,
    nullable_array,
    nullable_string,
    string,
)


class ComponentData(Struct):
    entity_type = string()
    match_type  = int8()
    match       = nullable_string(default="")


class DescribeClientQuotasRequest(Request, key=48, versions="0-1", flexible="1+"):
    components = array(ComponentData)
    strict     = boolean()


class EntityData(Struct):
    entity_type = string()
    entity_name = nullable_string(default="")


class ValueData(Struct):
    key   = string()
    value = float64()


class EntryData(Struct):
    entity = array(EntityData)
    values = array(ValueData)


class DescribeClientQuotasResponse(Response, key=48, versions="0-1", flexible="1+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
    entries          = nullable_array(EntryData, default=[])
