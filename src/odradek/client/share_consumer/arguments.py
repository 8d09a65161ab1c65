"""What programs hand to `acknowledge`, in either of its forms."""

from collections.abc import Sequence

from odradek.client.share_consumer.acknowledgement import ACCEPT, AcknowledgeType
from odradek.protocol.topic_partition import TopicPartition

BY_OFFSET = 3  # topic, partition, offset


def said_of(said: Sequence[object]) -> tuple[TopicPartition, int, AcknowledgeType]:
    """Of (record[, type]) or (topic, partition, offset[, type])."""
    if said and isinstance(said[0], str):
        what, rest = said[:BY_OFFSET], said[BY_OFFSET:]
    else:
        record, rest = (said[0] if said else None), said[1:]
        what = [getattr(record, name, None) for name in ("topic", "partition", "offset")]
    kind = rest[0] if rest else ACCEPT
    if len(rest) > 1 or len(what) != BY_OFFSET or not all(isinstance(number, int) for number in what[1:]):
        raise TypeError("acknowledge takes a record, or a topic, a partition and an offset; and a type")
    return TopicPartition(str(what[0]), int(str(what[1]))), int(str(what[2])), _type(kind)


def _type(kind: object) -> AcknowledgeType:
    try:
        return AcknowledgeType(kind)  # type: ignore[arg-type]  # what is none is refused
    except ValueError:
        names = ", ".join(AcknowledgeType.__members__)
        raise ValueError(f"{kind!r} is no AcknowledgeType: use one of {names}") from None
