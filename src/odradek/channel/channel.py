"""All that a client needs to talk to a cluster, by what it wants to reach: any broker, a coordinator, a leader.

channel = Channel(loop, config, [("localhost", 9092)])
response = await channel.send(leader("topic", 0), ProduceRequest(...))
channel.close()
"""

from collections.abc import Iterable

from odradek.channel.backoff import Backoff
from odradek.channel.client_connection import PLAINTEXT, ChannelSecurity
from odradek.channel.config import ChannelConfig
from odradek.channel.core import ANY, CONTROLLER, COORDINATOR, FETCH, NODE, ByVersion, Destination
from odradek.channel.errors import Disconnected
from odradek.channel.in_flight import PendingResponse
from odradek.channel.metadata import Metadata
from odradek.channel.metadata_updater import MetadataUpdater
from odradek.channel.metrics import ChannelMetrics
from odradek.channel.network_client import NetworkClient
from odradek.channel.node import Node, coordinator_connection, fetch_connection
from odradek.channel.unsent_requests import UnsentRequests
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import KafkaError
from odradek.reactor.loop import Loop


class Channel:
    __slots__ = ("_unsent", "client", "loop", "metadata", "updater")

    def __init__(
        self,
        loop: Loop,
        config: ChannelConfig,
        bootstrap: Iterable[tuple[str, int]],
        *,
        security: ChannelSecurity = PLAINTEXT,
        metrics: ChannelMetrics | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.loop = loop
        self.client = NetworkClient(loop, config, security=security, metrics=metrics)
        self._unsent = UnsentRequests(self.client)
        backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self.metadata = metadata or Metadata(backoff=backoff, expire_ms=config.metadata_max_age_ms)
        self.metadata.bootstrap(bootstrap)
        self.updater = MetadataUpdater(self.client, self.metadata)

    def send(
        self,
        destination: Destination,
        request: Request | ByVersion,
        *,
        version: int | None = None,
        timeout_ms: int | None = None,
        expects_response: bool = True,
    ) -> PendingResponse:
        """The response. Fails if it cannot be sent now, was not answered in time, or if nobody knows."""
        timeout_ms = self.client.config.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            node = self._node(destination)
        except KafkaError as error:
            failed: PendingResponse = self.loop.pending()
            failed.fail(error)
            return failed
        if node is None:
            return self.loop.spawn(self._send_to_leader(destination, request, version, timeout_ms, expects_response))
        return self._unsent.send(
            node, request, version=version, timeout_ms=timeout_ms, expects_response=expects_response
        )

    def close(self) -> None:
        self.updater.close()
        self._unsent.close()
        self.client.close()

    def _node(self, destination: Destination) -> Node | None:
        """None if the leader has to be found out first."""
        if destination.kind == ANY:
            return self._any_node()
        if destination.kind == COORDINATOR:
            return coordinator_connection(self._known_node(destination.number))
        if destination.kind == FETCH:
            return fetch_connection(self._known_node(destination.number))
        if destination.kind == NODE:
            return self._known_node(destination.number)
        if destination.kind == CONTROLLER:
            return self._controller()
        self.metadata.add_topic(destination.key, self.loop.ports.clock.mono_ms())
        return self._leader(destination)

    def _any_node(self) -> Node:
        node = self.client.least_loaded_node(self.metadata.cluster.nodes)
        if node is None:
            self.metadata.request_update(resets_backoff=False)
            raise self._unsent.why_none(self.metadata.cluster.nodes)
        return node

    def _known_node(self, node_id: int) -> Node:
        node = self.metadata.cluster.node(node_id)
        if node is None:
            self.metadata.request_update(resets_backoff=False)
            raise Disconnected(f"node {node_id} is not known; the cluster is asked for its nodes")
        return node

    def _controller(self) -> Node:
        node = self.metadata.cluster.controller
        if node.is_empty:
            self.metadata.request_update(resets_backoff=False)
            raise Disconnected("the controller is not known; the cluster is asked for it")
        return node

    def _leader(self, destination: Destination) -> Node | None:
        error = self.metadata.topic_errors.get(destination.key)
        if error is not None:
            raise error
        return self.metadata.leader(destination.key, destination.number)

    async def _send_to_leader(
        self,
        destination: Destination,
        request: Request | ByVersion,
        version: int | None,
        timeout_ms: int,
        expects_response: bool,
    ) -> Response:
        mono_ms = self.loop.ports.clock.mono_ms
        deadline_ms = mono_ms() + timeout_ms
        while (node := self._leader(destination)) is None:
            seen = self.metadata.request_update(resets_backoff=False)
            await self.updater.wait_for_update(seen, max(0, deadline_ms - mono_ms()))
        left_ms = max(0, deadline_ms - mono_ms())
        response: Response = await self._unsent.send(
            node, request, version=version, timeout_ms=left_ms, expects_response=expects_response
        )
        return response
