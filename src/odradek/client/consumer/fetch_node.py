"""What the fetcher has to do with one broker: a session, and one request at a time."""

from odradek.client.consumer.fetch_session_client import FetchSession, SessionStep
from odradek.protocol.topic_partition import TopicPartition


class NodeFetch:
    """One request, until it is answered."""

    __slots__ = ("generations", "is_end", "max_wait_ms", "node", "reserved_bytes", "step")

    def __init__(self, node: "FetchNode", step: SessionStep, reserved_bytes: int, max_wait_ms: int) -> None:
        self.node = node
        self.step = step
        self.reserved_bytes = reserved_bytes
        self.max_wait_ms = max_wait_ms
        self.generations: dict[TopicPartition, tuple[int, int]] = {}  # of each partition, and the offset asked for
        self.is_end = False


class FetchNode:
    """What this client has to do with one broker."""

    __slots__ = ("attempts", "drain_until_ms", "id", "in_flight", "retry_at_ms", "session")

    def __init__(self, node_id: int) -> None:
        self.id = node_id
        self.session = FetchSession()
        self.in_flight: NodeFetch | None = None
        self.attempts = 0
        self.retry_at_ms = 0
        self.drain_until_ms: int | None = None

    def ended(self, fetch: NodeFetch) -> None:
        """Another may have taken its place: the one that ends the session does not wait for it."""
        if self.in_flight is fetch:
            self.in_flight = None
