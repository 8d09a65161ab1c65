"""BrokerRegistration, API key 62."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
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


class BrokerRegistrationRequest(Request, key=62, versions="0-4", flexible="0+"):
    broker_id              = int32()
    cluster_id             = string()
    incarnation_id         = uuid()
    listeners              = array(Listener)
    features               = array(Feature)
    rack                   = nullable_string(default="")
    is_migrating_zk_broker = boolean("1+")
    log_dirs               = array(uuid(), "2+", ignorable=True)
    previous_broker_epoch  = int64("3+", default=-1, ignorable=True)


class BrokerRegistrationResponse(Response, key=62, versions="0-4", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    broker_epoch     = int64(default=-1)
