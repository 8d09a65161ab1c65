"""The listeners of the metadata log, each with its own delivery: a slow one holds up no other."""

from odradek.raft.driver.delivery import Delivery
from odradek.raft.driver.replica import Replica
from odradek.raft.listener import RaftListener


class Deliveries:
    __slots__ = ("_deliveries", "_replica")

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._deliveries: list[Delivery] = []

    def register(self, listener: RaftListener) -> None:
        delivery = Delivery(self._replica, listener)
        self._deliveries.append(delivery)
        if self._replica.is_running:
            delivery.start()

    def unregister(self, listener: RaftListener) -> None:
        for delivery in [each for each in self._deliveries if each.listener is listener]:
            self._deliveries.remove(delivery)
            delivery.stop()

    def start(self) -> None:
        for delivery in self._deliveries:
            delivery.start()

    def wake(self) -> None:
        """There may be more to tell."""
        for delivery in self._deliveries:
            delivery.wake()

    def stop(self) -> None:
        for delivery in self._deliveries:
            delivery.stop()

    def least_offset_told(self) -> int:
        """A listener that is behind goes on in the log: one that leads must not be handed a snapshot (C6)."""
        offsets = (delivery.next_offset for delivery in self._deliveries)
        return min(offsets, default=self._replica.core.high_watermark)
