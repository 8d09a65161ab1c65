"""Where every byte of a batch stands.

Magic 2, one header of 61 bytes and then the records, compressed as one block if at all:

    base offset 8 | batch length 4 | leader epoch 4 | magic 1 | crc 4 | attributes 2 | last offset delta 4 |
    base timestamp 8 | max timestamp 8 | producer id 8 | producer epoch 2 | base sequence 4 | record count 4

The crc (CRC32C) covers everything behind it, so that base offset and leader epoch can be patched in place.

Magic 0 and 1, a message set of single messages (a compressed set is one message whose value is a message set):

    offset 8 | message size 4 | crc 4 (CRC32) | magic 1 | attributes 1 | [timestamp 8, magic 1] | key | value
"""

from struct import Struct

LOG_OVERHEAD = 12  # offset and length: what stands before the part that `batch length` counts
MAGIC_OFFSET = 16  # at the same place in every magic

LENGTH_OFFSET = 8
LEADER_EPOCH_OFFSET = 12
CRC_OFFSET = 17
ATTRIBUTES_OFFSET = 21
LAST_OFFSET_DELTA_OFFSET = 23
BASE_TIMESTAMP_OFFSET = 27
MAX_TIMESTAMP_OFFSET = 35
PRODUCER_ID_OFFSET = 43
PRODUCER_EPOCH_OFFSET = 51
BASE_SEQUENCE_OFFSET = 53
RECORD_COUNT_OFFSET = 57
HEADER_SIZE = 61

HEADER = Struct(">qiibIhiqqqhii")
BASE_OFFSET = Struct(">q")
PLACE = Struct(">qii")  # base offset, batch length, leader epoch: what a leader patches, and the length between them
LENGTH = Struct(">i")
LEADER_EPOCH = Struct(">i")
CRC = Struct(">I")
ATTRIBUTES = Struct(">h")
TIMESTAMP = Struct(">q")
PRODUCER = Struct(">qhi")  # producer id, producer epoch, base sequence

COMPRESSION_MASK = 0x07
TIMESTAMP_TYPE_MASK = 0x08  # set: LogAppendTime
TRANSACTIONAL_MASK = 0x10
CONTROL_MASK = 0x20
DELETE_HORIZON_MASK = 0x40  # base timestamp holds the delete horizon, record deltas are relative to it

NO_TIMESTAMP_TYPE = -1  # magic 0 has no timestamps
CREATE_TIME = 0
LOG_APPEND_TIME = 1

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

LEGACY_CRC_OFFSET = 12
LEGACY_ATTRIBUTES_OFFSET = 17
LEGACY_HEADER_V0 = 14  # crc, magic, attributes, key length, value length
LEGACY_HEADER_V1 = 22
LEGACY_TIMESTAMP_OFFSET = 18

# The smallest `batch length` (or message size) of each magic: everything behind that field, with no record in it.
LENGTH_MIN = (LEGACY_HEADER_V0, LEGACY_HEADER_V1, HEADER_SIZE - LOG_OVERHEAD)
MAGIC_MAX = 2
