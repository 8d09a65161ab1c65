"""Where a record that was sent is, as the broker has told."""

from typing import NamedTuple

UNKNOWN_OFFSET = -1


class RecordMetadata(NamedTuple):
    """`offset` is -1 if nobody was asked for it (acks=0). Sizes are -1 for a key or a value that is None."""

    topic: str
    partition: int
    offset: int
    timestamp: int  # milliseconds: the record's own, or the broker's if the topic has LogAppendTime
    serialized_key_size: int
    serialized_value_size: int

    @property
    def has_offset(self) -> bool:
        return self.offset != UNKNOWN_OFFSET
