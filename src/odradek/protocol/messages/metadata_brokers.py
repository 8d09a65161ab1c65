"""Brokers and controllers in the KRaft metadata log, __cluster_metadata (KIP-631).

A record is framed by varints: frame version 1, record type, record version. Snapshots hold the same
records. Which version is written is up to the finalized metadata.version. All are flexible.

Type 0, RegisterBrokerRecord, versions 0-4; 3.3 has 0-1, 3.9 0-3.

     1  in controlled shutdown (KIP-841)
     2  whether it is a ZooKeeper broker in migration (KIP-866)
     3  ids of the log directories (KIP-858)
     4  ids of the cordoned log directories (KIP-1066)

Type 17, BrokerRegistrationChangeRecord, versions 0-3; 3.3 has 0-1, 3.9 0-2: what has changed, as tagged fields.

     1  in controlled shutdown (KIP-841)
     2  ids of the log directories (KIP-858)
     3  ids of the cordoned log directories (KIP-1066)

With version 0 only:

     1  UnregisterBrokerRecord
     7  FenceBrokerRecord, before metadata.version 6 (3.3-IV2); 17 takes its place
     8  UnfenceBrokerRecord, the same
    27  RegisterControllerRecord (KIP-919), not in 3.3
"""

from odradek.protocol.declare import (
    Data,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    nullable_array,
    nullable_string,
    string,
    uint16,
    uuid,
)


class BrokerEndpoint(Struct):
    name              = string()
    host              = string()
    port              = uint16()
    security_protocol = int16()


class BrokerFeature(Struct):
    name                  = string()
    min_supported_version = int16()
    max_supported_version = int16()


class RegisterBrokerRecord(Data, key=0, versions="0-4", flexible="0+"):
    broker_id              = int32()
    is_migrating_zk_broker = boolean("2+")
    incarnation_id         = uuid()
    broker_epoch           = int64()
    end_points             = array(BrokerEndpoint)
    features               = array(BrokerFeature)
    rack                   = nullable_string(default="")
    fenced                 = boolean(default=True)
    in_controlled_shutdown = boolean("1+")
    log_dirs               = array(uuid(), "3+", tag=0)
    cordoned_log_dirs      = nullable_array(uuid(), "4+", tag=1)


class UnregisterBrokerRecord(Data, key=1, versions="0", flexible="0+"):
    broker_id    = int32()
    broker_epoch = int64()


class FenceBrokerRecord(Data, key=7, versions="0", flexible="0+"):
    id    = int32()
    epoch = int64()


class UnfenceBrokerRecord(Data, key=8, versions="0", flexible="0+"):
    id    = int32()
    epoch = int64()


class BrokerRegistrationChangeRecord(Data, key=17, versions="0-3", flexible="0+"):
    broker_id              = int32()
    broker_epoch           = int64()
    fenced                 = int8(tag=0)
    in_controlled_shutdown = int8("1+", tag=1)
    log_dirs               = array(uuid(), "2+", tag=2)
    cordoned_log_dirs      = nullable_array(uuid(), "3+", tag=3)


class ControllerEndpoint(Struct):
    name              = string()
    host              = string()
    port              = uint16()
    security_protocol = int16()


class ControllerFeature(Struct):
    name                  = string()
    min_supported_version = int16()
    max_supported_version = int16()


class RegisterControllerRecord(Data, key=27, versions="0", flexible="0+"):
    controller_id      = int32()
    incarnation_id     = uuid()
    zk_migration_ready = boolean()
    end_points         = array(ControllerEndpoint)
    features           = array(ControllerFeature)
