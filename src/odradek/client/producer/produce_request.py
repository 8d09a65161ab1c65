"""A Produce request of a producer: many batches, each as a view of its header and records.

The message is encoded by the codec, as all are. Records are handed in as something that has a size, which the codec
lets stand between its own bytes; here the batch takes its place, so that nothing is copied.
"""

from odradek.client.producer.sent_batch import SentBatch
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.parts import Part

VERSION_MIN, VERSION_MAX = 3, 12  # before: other record formats; after: topic ids in the place of names


class _Records:
    """A batch in one piece, or in two: its header, and the records."""

    __slots__ = ("pieces", "size")

    def __init__(self, pieces: tuple[bytes | memoryview, ...], size: int) -> None:
        self.pieces = pieces
        self.size = size


class ProduceRequestFrame:
    """What is the same in all requests of a producer."""

    __slots__ = ("acks", "timeout_ms", "transactional_id")

    def __init__(self, transactional_id: str | None, acks: int, timeout_ms: int) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms


class BatchesRequest:
    """One request: these batches, each of another partition. `attributes` go into their headers."""

    __slots__ = ("_attributes", "_frame", "batches", "stamps")

    api_key = ProduceRequest.api_key

    def __init__(self, frame: ProduceRequestFrame, batches: list[SentBatch], attributes: int) -> None:
        self._frame = frame
        self._attributes = attributes
        self.batches = batches
        self.stamps = [batch.stamp for batch in batches]  # with which they went: they may be numbered anew meanwhile

    def encode(self, version: int) -> list[Part]:
        parts: list[Part] = []
        for part in self._message().encode(version):
            if isinstance(part, _Records):
                parts += part.pieces
            else:
                parts.append(part)
        return parts

    def __repr__(self) -> str:
        return f"ProduceRequest of {len(self.batches)} batches"

    def _message(self) -> ProduceRequest:
        topics: dict[str, list[PartitionProduceData]] = {}
        for batch in self.batches:
            topic, index = batch.partition
            size = batch.size_bytes if batch.compressed is None else batch.sent_size
            data = PartitionProduceData.__new__(PartitionProduceData)
            data.index = index
            data.records = _Records(batch.encoded(self._attributes), size)
            topics.setdefault(topic, []).append(data)
        frame = self._frame
        return ProduceRequest(
            transactional_id=frame.transactional_id,
            acks=frame.acks,
            timeout_ms=frame.timeout_ms,
            topic_data=[TopicProduceData(name=topic, partition_data=data) for topic, data in topics.items()],
        )
