"""The next producer id that nobody has (KIP-730), and who got the last block."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.metadata.replay_error import ReplayError
from odradek.protocol import releases
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import ProducerIdsRecord
from odradek.protocol.releases import Release

NO_BLOCK = -1


class ProducerIdsImage(NamedTuple):
    """So small that the controller keeps one as well, and has a new one made by every record."""

    next_producer_id: int = NO_BLOCK
    broker_id: int = -1
    broker_epoch: int = -1

    def changed(self, record: ProducerIdsRecord) -> "ProducerIdsImage":
        if record.next_producer_id < self.next_producer_id:
            raise ReplayError(
                f"producer ids from {record.next_producer_id} on would be issued twice: {self.next_producer_id} is next"
            )
        return ProducerIdsImage(record.next_producer_id, record.broker_id, record.broker_epoch)

    def records(self, release: Release) -> Iterator[Message]:
        """A 3.3 keeps in its snapshots who got the last block; later ones only the number."""
        if self.next_producer_id < 0:
            return
        if release is releases.RELEASE_3_3:
            broker_id, broker_epoch = self.broker_id, self.broker_epoch
        else:
            broker_id, broker_epoch = -1, -1
        yield ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=self.next_producer_id)


EMPTY = ProducerIdsImage()


class ProducerIdsDelta:
    """`changed` is what the last record has said, None if there was none."""

    __slots__ = ("_image", "changed")

    def __init__(self, image: ProducerIdsImage) -> None:
        self._image = image
        self.changed: ProducerIdsImage | None = None

    def replay(self, record: ProducerIdsRecord) -> None:
        self.changed = self.apply().changed(record)

    def apply(self) -> ProducerIdsImage:
        return self._image if self.changed is None else self.changed
