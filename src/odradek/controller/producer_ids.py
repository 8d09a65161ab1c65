"""Blocks of producer ids: each is issued to one broker, once (KIP-730)."""

from odradek.metadata.producer_ids import EMPTY
from odradek.protocol.messages.metadata_cluster import ProducerIdsRecord

BLOCK_SIZE = 1000


class ProducerIds:
    """`image` is what the last record has said."""

    __slots__ = ("image",)

    def __init__(self) -> None:
        self.image = EMPTY

    @property
    def next_producer_id(self) -> int:
        return max(0, self.image.next_producer_id)

    def next_block(self, broker_id: int, broker_epoch: int) -> ProducerIdsRecord:
        """The record that takes the block which starts at `next_producer_id`."""
        return ProducerIdsRecord(
            broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=self.next_producer_id + BLOCK_SIZE
        )

    def replay(self, record: ProducerIdsRecord) -> None:
        self.image = self.image.changed(record)
