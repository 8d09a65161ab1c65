"""What a consumer may meet in a partition that it reads, beside what the error table has."""

from collections.abc import Iterable, Mapping

from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition


class NoOffsetForPartition(errors.KafkaError):
    """The group has committed no offset for these partitions, and auto.offset.reset is none."""

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions = sorted(partitions)
        names = ", ".join(map(str, self.partitions))
        super().__init__(f"no offset is known for {names}, and auto.offset.reset is none: seek to one, or set a policy")


class FetchOffsetOutOfRange(errors.OffsetOutOfRange):
    """The position is not in the log any more, or not yet, and auto.offset.reset is none."""

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.offsets = dict(offsets)
        where = ", ".join(f"{place} at {offset}" for place, offset in self.offsets.items())
        super().__init__(f"the log does not hold the position of {where}, and auto.offset.reset is none: seek")


class LogTruncation(errors.OffsetOutOfRange):
    """What was read has gone from the log: a leader was elected that did not have it. `divergent_offset` is where the
    log and what was read part; None if the leader could not tell.
    """

    def __init__(self, partition: TopicPartition, position: int, divergent_offset: int | None) -> None:
        self.partition = partition
        self.position = position
        self.divergent_offset = divergent_offset
        parted = "at an unknown offset" if divergent_offset is None else f"from offset {divergent_offset} on"
        super().__init__(
            f"{partition} was truncated {parted}, and was read up to {position}: auto.offset.reset is none, so seek"
        )


class RecordTooLargeToFetch(errors.MessageTooLarge):
    """Not one whole batch fits what was asked for: only brokers before 0.10.1 answer so."""

    def __init__(self, partition: TopicPartition, offset: int, size_bytes: int) -> None:
        self.partition = partition
        self.offset = offset
        super().__init__(
            f"{partition}: the batch at {offset} does not fit {size_bytes} bytes: raise max.partition.fetch.bytes"
        )


class CorruptRecords(errors.CorruptMessage):
    """A batch that was damaged on its way or on the broker's disk. The next poll fetches it again; a seek passes
    over it.
    """

    retriable = False

    def __init__(self, partition: TopicPartition, offset: int, cause: errors.KafkaError) -> None:
        self.partition = partition
        self.offset = offset
        super().__init__(f"{partition}, at or after offset {offset}: {cause.message}")
        self.__cause__ = cause


class RecordDeserializationError(errors.KafkaError):
    """A key or value that its deserializer could not make sense of. The position stands at this record: seek to
    `offset + 1` passes over it. `key` and `value` are its bytes.
    """

    def __init__(
        self, partition: TopicPartition, offset: int, key: bytes | None, value: bytes | None, cause: Exception
    ) -> None:
        self.partition = partition
        self.offset = offset
        self.key = key
        self.value = value
        super().__init__(f"{partition}, offset {offset}: the record could not be deserialized: {cause!r}")
        self.__cause__ = cause
