"""ControllerRegistration, API key 70: a controller registers its listeners and features (KIP-919).

To the active controller.

Version 0, flexible. Not in Kafka 3.3; 3.9 and 4.3 have 0.
On controller listeners only.
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nullable_string,
    string,
    uint16,
    uuid,
)


class Listener(Struct):
    name              = string()
    host              = string()
    port              = uint16()
    security_protocol = int16()


class Feature(Struct):
    name                  = string()
    min_supported_version = int16()
    max_supported_version = int16()


class ControllerRegistrationRequest(Request, key=70, versions="0", flexible="0+"):
    controller_id      = int32()
    incarnation_id     = uuid()
    zk_migration_ready = boolean()
    listeners          = array(Listener)
    features           = array(Feature)


class ControllerRegistrationResponse(Response, key=70, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
