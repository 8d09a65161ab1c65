"""Share partitions (KIP-932) in __share_group_state.

Written by the share coordinator. A key begins with two bytes of record type, a value with two bytes of version. A null
value deletes what the key names. Neither in 3.3 nor in 3.9. Both have version 0 only.

     0  snapshot: the whole state of a share partition, with the epochs that fence writers
     1  update: what has changed since the snapshot with the same snapshot epoch

Tag 0 of both: how many records past the start offset are done with (KIP-1226).
"""

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
