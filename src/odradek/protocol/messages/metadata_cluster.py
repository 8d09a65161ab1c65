"""The cluster as a whole in the KRaft metadata log: features, access, quotas, producer ids, transactions.

The log is the topic __cluster_metadata (KIP-631). A record is framed by varints: frame version 1, record type, record
version. All have version 0 only and are flexible.

     6  AccessControlRecord, in 3.3 only; 18 takes its place
    10  DelegationTokenRecord; 3.3 has version 0 without the requester
    11  UserScramCredentialRecord: one mechanism of a user (KIP-900); 3.3 has another layout under version 0
    12  FeatureLevelRecord: a finalized feature (KIP-584); metadata.version is one of them (KIP-778)
    14  ClientQuotaRecord: one quota of an entity, or its removal (KIP-546)
    15  ProducerIdsRecord: the next producer id after a block was given to a broker (KIP-730)
    18  AccessControlEntryRecord: an entry with an id of its own (KIP-801)
    19  RemoveAccessControlEntryRecord
    20  NoOpRecord: keeps the log moving, so that lag can be seen (KIP-835); from metadata.version 5 (3.3-IV1)
    21  ZkMigrationStateRecord (KIP-866)
    22  RemoveUserScramCredentialRecord
    23  BeginTransactionRecord: what follows counts only once it ends (KIP-868)
    24  EndTransactionRecord
    25  AbortTransactionRecord
    26  RemoveDelegationTokenRecord

Types 21-26 are not in 3.3.
"""

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
