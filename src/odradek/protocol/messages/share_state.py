"""Share partitions in __share_group_state."""

from odradek.protocol.declare import Data, Struct, array, int8, int16, int32, int64, string, uuid


class ShareSnapshotKey(Data, key=0, versions="0"):
    group_id  = string()
    topic_id  = uuid()
    partition = int32()


class StateBatch(Struct):
    first_offset   = int64()
    last_offset    = int64()
    delivery_state = int8()
    delivery_count = int16()


class ShareSnapshotValue(Data, key=0, versions="0", flexible="0+"):
    snapshot_epoch          = int32()
    state_epoch             = int32()
    leader_epoch            = int32()
    start_offset            = int64()
    create_timestamp        = int64()
    write_timestamp         = int64()
    state_batches           = array(StateBatch)
    delivery_complete_count = int32(default=-1, tag=0)


class ShareUpdateKey(Data, key=1, versions="0"):
    group_id  = string()
    topic_id  = uuid()
    partition = int32()


class ShareUpdateValueStateBatch(Struct):
    first_offset   = int64()
    last_offset    = int64()
    delivery_state = int8()
    delivery_count = int16()


class ShareUpdateValue(Data, key=1, versions="0", flexible="0+"):
    snapshot_epoch          = int32()
    leader_epoch            = int32()
    start_offset            = int64()
    state_batches           = array(ShareUpdateValueStateBatch)
    delivery_complete_count = int32(default=-1, tag=0)
