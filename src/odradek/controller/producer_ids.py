"""Blocks of producer ids: each is issued to one broker, once (KIP-730)."""

from odradek.protocol.messages.metadata_cluster import ProducerIdsRecord

BLOCK_SIZE = 1000


class ProducerIds:
    __slots__ = ("next_producer_id",)

    def __init__(self) -> None:
        self.next_producer_id = 0

    def next_block(self, broker_id: int, broker_epoch: int) -> ProducerIdsRecord:
        """The record that takes the block which starts at `next_producer_id`."""
        return ProducerIdsRecord(
            broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=self.next_producer_id + BLOCK_SIZE
        )

    def replay(self, record: ProducerIdsRecord) -> None:
        assert record.next_producer_id >= self.next_producer_id, "a block of producer ids would be issued twice"
        self.next_producer_id = record.next_producer_id
