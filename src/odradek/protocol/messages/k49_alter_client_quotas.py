"""AlterClientQuotas, API key 49: an admin sets or removes client quotas (KIP-546).

The controller decides. A null entity name stands for the default.

Versions 0-1, flexible from 1. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners; a broker forwards it to the controller.

     1  same fields in the flexible encoding (KIP-482)
"""

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
