"""BrokerRegistration, API key 62: a broker registers with the controller and gets its broker epoch (KIP-631).

Needs CLUSTER_ACTION. The response never changed.

Versions 0-4, flexible. Kafka 3.3 has 0, 3.9 and 4.3 0-4.
On controller listeners only.

     1  whether it is a ZooKeeper broker in migration (KIP-866)
     2  ids of its log directories (KIP-858)
     3  broker epoch before a clean shutdown (KIP-966)
     4  same fields; features whose lowest level is 0 may be named
"""

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
