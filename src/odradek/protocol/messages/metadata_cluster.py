"""The cluster as a whole in the KRaft metadata log: features, access, quotas, producer ids, transactions."""

from odradek.protocol.declare import (
    Data,
    Struct,
    array,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    nullable_string,
    string,
    uuid,
)


class AccessControlRecord(Data, key=6, versions="0", flexible="0+"):
    resource_type   = int8()
    resource_name   = nullable_string(default="")
    pattern_type    = int8()
    principal       = string()
    host            = string()
    operation       = int8()
    permission_type = int8()


class DelegationTokenRecord(Data, key=10, versions="0", flexible="0+"):
    owner                = string()
    requester            = string()
    renewers             = array(string())
    issue_timestamp      = int64()
    max_timestamp        = int64()
    expiration_timestamp = int64()
    token_id             = string()


class UserScramCredentialRecord(Data, key=11, versions="0", flexible="0+"):
    name       = string()
    mechanism  = int8()
    salt       = bytes_()
    stored_key = bytes_()
    server_key = bytes_()
    iterations = int32()


class FeatureLevelRecord(Data, key=12, versions="0", flexible="0+"):
    name          = string()
    feature_level = int16()


class EntityData(Struct):
    entity_type = string()
    entity_name = nullable_string(default="")


class ClientQuotaRecord(Data, key=14, versions="0", flexible="0+"):
    entity = array(EntityData)
    key    = string()
    value  = float64()
    remove = boolean()


class ProducerIdsRecord(Data, key=15, versions="0", flexible="0+"):
    broker_id        = int32()
    broker_epoch     = int64(default=-1)
    next_producer_id = int64()


class AccessControlEntryRecord(Data, key=18, versions="0", flexible="0+"):
    id              = uuid()
    resource_type   = int8()
    resource_name   = string()
    pattern_type    = int8()
    principal       = string()
    host            = string()
    operation       = int8()
    permission_type = int8()


class RemoveAccessControlEntryRecord(Data, key=19, versions="0", flexible="0+"):
    id = uuid()


class NoOpRecord(Data, key=20, versions="0", flexible="0+"):
    pass


class ZkMigrationStateRecord(Data, key=21, versions="0", flexible="0+"):
    zk_migration_state = int8()


class RemoveUserScramCredentialRecord(Data, key=22, versions="0", flexible="0+"):
    name      = string()
    mechanism = int8()


class BeginTransactionRecord(Data, key=23, versions="0", flexible="0+"):
    name = nullable_string(tag=0)


class EndTransactionRecord(Data, key=24, versions="0", flexible="0+"):
    pass


class AbortTransactionRecord(Data, key=25, versions="0", flexible="0+"):
    reason = nullable_string(tag=0)


class RemoveDelegationTokenRecord(Data, key=26, versions="0", flexible="0+"):
    token_id = string()
