"""Which broker each partition is read from: its leader, or the follower that the leader has named, for a while.

It is found out once, and again when something it depends on has changed: the assignment, what is known of the cluster,
a follower that is read from. A consumer of a thousand partitions asks it many times a second.
"""

from odradek.channel.metadata import Metadata
from odradek.client.consumer.assigned_partition import UNKNOWN, AssignedPartition
from odradek.client.consumer.subscription_state import SubscriptionState

Placed = dict[int, list[AssignedPartition]]


class FetchPlacement:
    __slots__ = (
        "_at_followers",
        "_by_node",
        "_cluster",
        "_expires_ms",
        "_is_stale",
        "_metadata",
        "_subscriptions",
        "_version",
        "homeless",
    )

    def __init__(self, subscriptions: SubscriptionState, metadata: Metadata) -> None:
        self._subscriptions = subscriptions
        self._metadata = metadata
        self._by_node: Placed = {}
        self._at_followers: list[tuple[AssignedPartition, int]] = []
        self._expires_ms: int | None = None  # when the first of them is to be read from its leader again
        self._cluster: object = None
        self._version = -1
        self._is_stale = True
        self.homeless: list[AssignedPartition] = []  # whose leader is not known

    def prefer(self, state: AssignedPartition, node_id: int, until_ms: int) -> None:
        """The leader has named this follower."""
        state.preferred_replica, state.preferred_until_ms = node_id, until_ms
        self._is_stale = True

    def by_node(self, now_ms: int) -> Placed:
        """All assigned partitions whose leader is known, whether or not they can be fetched now."""
        if not self._is_right(now_ms):
            self._find_out(now_ms)
        return self._by_node

    def _is_right(self, now_ms: int) -> bool:
        if self._is_stale or self._cluster is not self._metadata.cluster:
            return False
        if self._version != self._subscriptions.version or (
            self._expires_ms is not None and now_ms >= self._expires_ms
        ):
            return False
        return all(state.preferred_replica == node_id for state, node_id in self._at_followers)

    def _find_out(self, now_ms: int) -> None:
        self._cluster, self._version = self._metadata.cluster, self._subscriptions.version
        self._is_stale = False
        self._by_node, self.homeless, self._at_followers, self._expires_ms = {}, [], [], None
        for state in self._subscriptions:
            leader, node_id = self._metadata.cluster.leader(*state.place), self._follower(state, now_ms)
            if leader is not None:
                self._by_node.setdefault(leader.id, [])  # it is asked again some time, if not now
                node_id = leader.id if node_id is None else node_id
            if node_id is None:
                self.homeless.append(state)
            else:
                self._by_node.setdefault(node_id, []).append(state)

    def _follower(self, state: AssignedPartition, now_ms: int) -> int | None:
        node_id, until_ms = state.preferred_replica, state.preferred_until_ms
        if node_id == UNKNOWN:
            return None
        if now_ms >= until_ms or self._metadata.cluster.node(node_id) is None:
            state.forget_preferred()
            return None
        self._at_followers.append((state, node_id))
        self._expires_ms = until_ms if self._expires_ms is None else min(self._expires_ms, until_ms)
        return node_id
