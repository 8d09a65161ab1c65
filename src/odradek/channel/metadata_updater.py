"""Keeps the metadata of a client fresh: asks the least loaded node when an update is wanted or the last one is old.

While a request is under way no second one is sent. If no node can be used, the next try comes after
reconnect.backoff.ms; and if all of them have failed, the client begins again with its bootstrap servers
(metadata.recovery.strategy=rebootstrap): the brokers that it knows may all have moved.
"""

from odradek.channel.errors import Disconnected
from odradek.channel.metadata import Metadata, MetadataAsk
from odradek.channel.network_client import Lost, NetworkClient
from odradek.channel.node import Node
from odradek.protocol.errors import KafkaError, RebootstrapRequired, RequestTimedOut, UnsupportedVersion
from odradek.protocol.messages.k03_metadata import MetadataResponse
from odradek.reactor.pending import Pending
from odradek.reactor.timers import Timer

METADATA = 3


class MetadataUpdater:
    __slots__ = (
        "_client",
        "_is_closed",
        "_is_under_way",
        "_loop",
        "_mono_ms",
        "_rebootstraps",
        "_timer",
        "_waiting",
        "metadata",
    )

    def __init__(self, client: NetworkClient, metadata: Metadata) -> None:
        self.metadata = metadata
        self._client = client
        self._loop = client.loop
        self._mono_ms = client.loop.ports.clock.mono_ms
        self._rebootstraps = client.config.metadata_recovery_strategy.lower() == "rebootstrap"
        self._is_under_way = False
        self._is_closed = False
        self._timer: Timer | None = None
        self._waiting: list[tuple[int, Pending[None]]] = []  # the version to get beyond
        metadata.when_requested(self._look)
        client.observe(self)
        self._look()

    def wait_for_update(self, version: int, timeout_ms: int) -> Pending[None]:
        """Until the metadata has passed this version. Fails with RequestTimedOut, or what makes waiting useless."""
        updated: Pending[None] = self._loop.pending()
        if self.metadata.update_version > version:
            updated.resolve(None)
            return updated
        late = RequestTimedOut(f"There was no news of the cluster within {timeout_ms} ms.")
        timer = self._loop.after(timeout_ms, lambda: updated.fail(late))
        self._waiting.append((version, updated))
        updated.when_done(lambda _: timer.cancel())
        return updated

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._tell_waiting(Disconnected("the client was closed"))

    # What the client tells

    def node_changed(self, node: Node) -> None:
        self._look()

    def node_lost(self, lost: Lost) -> None:
        """The reason may be that what is known of the cluster is old."""
        if self._is_closed:
            return
        error = self._client.authentication_error(lost.node.id)
        if error is not None:
            self.metadata.fatal(error)
            self._tell_waiting(self.metadata.take_fatal())
        self.metadata.request_update(resets_backoff=False)

    # How it goes

    def _look(self) -> None:
        """Asks if it is time to, and sets a timer for when it will be."""
        if self._is_under_way or self._is_closed or not self._client.is_active:
            return
        now_ms = self._mono_ms()
        delay_ms = self.metadata.time_to_next_update_ms(now_ms)
        if delay_ms == 0:
            delay_ms = self._ask(now_ms)
        self._set_timer(delay_ms)

    def _ask(self, now_ms: int) -> int:
        """How long to wait before the next look, if nothing is heard before."""
        node = self._node()
        if node is None:
            return self._client.config.reconnect_backoff_ms
        if not self._client.ready(node):
            delay_ms = self._client.poll_delay_ms(node.id)
            return delay_ms or self._client.config.reconnect_backoff_ms
        self._send(node, self.metadata.next_ask(now_ms))
        return self._client.config.request_timeout_ms

    def _node(self) -> Node | None:
        node = self._client.least_loaded_node(self.metadata.cluster.nodes)
        if node is None and self._is_lost():
            self._is_under_way = True  # so that bootstrapping, which asks for a look, does not lead back here
            self.metadata.rebootstrap()
            self._is_under_way = False
            node = self._client.least_loaded_node(self.metadata.cluster.nodes)
        return node

    def _is_lost(self) -> bool:
        cluster = self.metadata.cluster
        return self._rebootstraps and not cluster.is_bootstrap and not self._client.has_usable_node(cluster.nodes)

    def _send(self, node: Node, ask: MetadataAsk) -> None:
        try:
            version = self._client.api_versions.version(node.id, METADATA)
        except UnsupportedVersion as error:
            self.metadata.fatal(error)
            self._tell_waiting(self.metadata.take_fatal())
            return
        self._is_under_way = True
        answered = self._client.send(node.id, ask.request, version=version)
        answered.when_done(lambda done: self._answered(ask, version, done))

    def _answered(self, ask: MetadataAsk, version: int, done: "Pending[MetadataResponse]") -> None:
        self._is_under_way = False
        now_ms = self._mono_ms()
        if done.error is not None:
            done.is_observed = True
            self.metadata.failed(now_ms)
        elif done.value().error_code == RebootstrapRequired.code:
            self.metadata.rebootstrap()
        elif self.metadata.update(ask, done.value(), version, now_ms):
            self._tell_waiting(None)
        self._look()

    def _tell_waiting(self, error: KafkaError | None) -> None:
        waiting, self._waiting = self._waiting, []
        for version, updated in waiting:
            if error is not None:
                updated.fail(error)
            elif self.metadata.update_version > version:
                updated.resolve(None)
            else:
                self._waiting.append((version, updated))

    def _set_timer(self, delay_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.after(delay_ms, self._look)
