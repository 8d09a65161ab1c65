"""Where a partition that is not led here is led, for the responses that say so (KIP-951)."""

from odradek.handlers.call import BrokerCall

NO_LEADER_AND_EPOCH = (-1, -1)


class LeaderHints:
    """Gathers the leaders of one response, and the endpoints of their nodes on the caller's listener."""

    __slots__ = ("_call", "_nodes")

    def __init__(self, call: BrokerCall) -> None:
        self._call = call
        self._nodes: dict[int, None] = {}

    def leader_of(self, topic: str | bytes, index: int) -> tuple[int, int]:
        """(leader id, leader epoch); -1 for what is not known."""
        image = self._call.services.replicas.image
        if image is None:
            return NO_LEADER_AND_EPOCH
        by_name, by_id = image.topics.by_name, image.topics.by_id
        known = by_name.get(topic) if isinstance(topic, str) else by_id.get(topic)
        partition = None if known is None else known.partitions.get(index)
        if partition is None:
            return NO_LEADER_AND_EPOCH
        if partition.leader >= 0:
            self._nodes[partition.leader] = None
        return partition.leader, partition.leader_epoch

    def endpoints(self) -> list[tuple[int, str, int, str | None]]:
        """(node id, host, port, rack) of the nodes that were named."""
        image = self._call.services.replicas.image
        found = []
        for node in self._nodes:
            broker = None if image is None else image.cluster.brokers.get(node)
            endpoint = None if broker is None else broker.endpoint(self._call.listener)
            if broker is not None and endpoint is not None:
                found.append((node, endpoint.host, endpoint.port, broker.rack))
        return found
