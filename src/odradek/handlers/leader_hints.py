"""Where a partition that is not led here is led, for the responses that say so (KIP-951)."""

from typing import Any

from odradek.handlers.call import Call

NO_LEADER = (-1, -1)


class LeaderHints:
    """Gathers the leaders of one response, and the endpoints of their nodes on the caller's listener."""

    __slots__ = ("_call", "_nodes")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._nodes: dict[int, None] = {}

    def leader_of(self, topic: str | bytes, index: int) -> tuple[int, int]:
        """(leader id, leader epoch); -1 for what is not known."""
        image = self._call.services.replicas.image
        if image is None:
            return NO_LEADER
        topics = image.topics.by_name if isinstance(topic, str) else image.topics.by_id
        known = topics.get(topic)
        partition = None if known is None else known.partitions.get(index)
        if partition is None:
            return NO_LEADER
        if partition.leader >= 0:
            self._nodes[partition.leader] = None
        return partition.leader, partition.leader_epoch

    def endpoints(self) -> list[tuple[int, str, int, str | None]]:
        """(node id, host, port, rack) of the nodes that were named."""
        found = []
        for node in self._nodes:
            broker: Any = self._call.services.replicas.image.cluster.brokers.get(node)
            endpoint = None if broker is None else broker.endpoint(self._call.listener)
            if endpoint is not None:
                found.append((node, endpoint.host, endpoint.port, broker.rack))
        return found
