"""AlterClientQuotas, API key 49."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    float64,
    int16,
    int32,
    nullable_string,
    string,
)


class EntityData(Struct):
    entity_type = string()
    entity_name = nullable_string(default="")


class OpData(Struct):
    key    = string()
    value  = float64()
    remove = boolean()


class EntryData(Struct):
    entity = array(EntityData)
    ops    = array(OpData)


class AlterClientQuotasRequest(Request, key=49, versions="0-1", flexible="1+"):
    entries       = array(EntryData)
    validate_only = boolean()


class AlterClientQuotasResponseEntityData(Struct):
    entity_type = string()
    entity_name = nullable_string(default="")


class AlterClientQuotasResponseEntryData(Struct):
    error_code    = int16()
    error_message = nullable_string(default="")
    entity        = array(AlterClientQuotasResponseEntityData)


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    throttle_time_ms = int32()
    entries          = array(AlterClientQuotasResponseEntryData)
