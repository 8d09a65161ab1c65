"""The producer state of a partition at one offset, the file OFFSET.snapshot.

Written beside the segments, so that a restart need not read the log from its start. Version 1 only, not flexible: two
bytes of version, then the CRC-32C of all that follows it, then one entry per producer id with the end of its last batch
(`offset_delta` back to the batch's first offset) and the first offset of its open transaction, -1 if there is none.
"""

from odradek.protocol.declare import Data, Struct, array, int16, int32, int64, uint32


class ProducerEntry(Struct):
    producer_id              = int64()
    epoch                    = int16()
    last_sequence            = int32()
    last_offset              = int64()
    offset_delta             = int32()
    timestamp                = int64()
    coordinator_epoch        = int32()
    current_txn_first_offset = int64()


class ProducerSnapshot(Data, versions="1"):
    crc              = uint32()
    producer_entries = array(ProducerEntry)
