"""A client's channel and brokers that do as they are told, once on real sockets and once on simulated ones.

    broker = ScriptedBroker(outside)                       # answers ApiVersions; asked anything else it stays silent
    broker.answers(MetadataRequest, lambda asked: MetadataResponse(...))
    client = outside.client()
    outside.until(lambda: client.ready(broker.node))

A rule of a scripted broker gets what it was `Asked` and returns a response, bytes of its own instead of one, `SILENT`,
or `CLOSE`.
"""

import time
from typing import Any, NamedTuple

from odradek.channel.channel import Channel
from odradek.channel.client_connection import PLAINTEXT
from odradek.channel.config import ChannelConfig
from odradek.channel.network_client import NetworkClient
from odradek.channel.node import Node
from odradek.protocol import apis, whole
from odradek.protocol.messages.header import ResponseHeader
from odradek.protocol.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from odradek.reactor.adapters import system_ports
from odradek.reactor.loop import Loop
from odradek.reactor.ports import READABLE, WRITABLE
from odradek.sim.world import World

SILENT, CLOSE = "silent", "close"
CONFIG = ChannelConfig(client_id="me", reconnect_backoff_ms=50, reconnect_backoff_max_ms=1000)


class Asked(NamedTuple):
    request: Any
    version: int
    correlation_id: int
    connection: Any
    client_id: str | None


class ScriptedBroker:
    """`asked` is all that it was asked, ApiVersions apart."""

    def __init__(self, outside, node_id=1, *, name="broker", address=None, tls=None, versions=None):
        self.loop = outside.broker_loop(name)
        self.node_id = node_id
        self.tls = tls
        self.versions = versions or {api.key: (api.versions.start, api.versions.stop - 1) for api in apis.ALL}
        self.asked = []
        self.connections = []
        self.rules = {18: self.api_versions}
        self.listener = self.loop.ports.network.listen(*(address or outside.listen_address(name)))
        self.loop.register(self.listener, READABLE, self.accept)
        self.accepts = True

    @property
    def node(self):
        return Node(self.node_id, *self.listener.address)

    def answers(self, request, rule):
        """`rule` is a function of what was asked, or the answer itself."""
        self.rules[request.api_key] = rule if callable(rule) else lambda _: rule
        return self

    def api_versions(self, asked):
        keys = [
            ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.versions.items()
        ]
        return ApiVersionsResponse(api_keys=keys)

    def accept(self, _):
        try:
            socket = self.listener.accept()
        except BlockingIOError:
            return
        if self.accepts:
            self.connections.append(Peer(self, socket))
        else:
            socket.close()

    def asked_for(self, request):
        return [asked for asked in self.asked if asked.request.api_key == request.api_key]

    def stop(self):
        self.loop.unregister(self.listener)
        self.listener.close()
        self.hang_up()

    def hang_up(self):
        for peer in list(self.connections):
            peer.close()


class Peer:
    """The broker's end of a connection."""

    def __init__(self, broker, socket):
        self.broker = broker
        self.transport = socket if broker.tls is None else broker.tls.wrap(socket)
        self.is_closed = False
        self.reads = True
        self.received = bytearray()
        self.unsent = b""
        broker.loop.register(self.transport, READABLE, self.ready)

    def ready(self, readiness):
        try:
            if getattr(self.transport, "is_ready", True) is False:
                self.transport.prepare()
            if readiness & READABLE and self.reads:
                self.read()
            self.flush()
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def read(self):
        buffer = bytearray(65536)
        count = self.transport.recv_into(memoryview(buffer))
        if not count:
            self.close()
            return
        self.received += buffer[:count]
        while not self.is_closed and len(self.received) >= 4:
            size = int.from_bytes(self.received[:4], "big")
            if len(self.received) < 4 + size:
                break
            frame = bytes(self.received[4 : 4 + size])
            del self.received[: 4 + size]
            self.serve(frame)

    def stop_reading(self):
        self.reads = False
        self.broker.loop.set_interest(self.transport, 0)

    def read_again(self):
        self.reads = True
        self.broker.loop.set_interest(self.transport, READABLE)

    def serve(self, frame):
        header, request = whole.decode_request(frame)
        asked = Asked(request, header.request_api_version, header.correlation_id, self, header.client_id)
        if not isinstance(request, ApiVersionsRequest):
            self.broker.asked.append(asked)
        rule = self.broker.rules.get(request.api_key, lambda _: SILENT)
        self.answer(asked, rule(asked))

    def answer(self, asked, answer, version=None):
        if answer is CLOSE:
            self.close()
        elif answer is not SILENT:
            self.send(answer if isinstance(answer, bytes) else answer_bytes(asked, answer, version))

    def send(self, data):
        self.unsent += data
        try:
            self.flush()
        except OSError:
            self.close()

    def flush(self):
        try:
            while self.unsent and not self.is_closed:
                self.unsent = self.unsent[self.transport.send([self.unsent]) :]
            if hasattr(self.transport, "flush"):
                self.transport.flush()
        except BlockingIOError:
            pass
        if not self.is_closed and self.reads:
            self.broker.loop.set_interest(self.transport, READABLE | (WRITABLE if self.unsent else 0))

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.broker.connections.remove(self)
            self.broker.loop.unregister(self.transport)
            self.transport.close()


def answer_bytes(asked, response, version=None, correlation_id=None):
    """A whole answer, with its length."""
    header = ResponseHeader(correlation_id=asked.correlation_id if correlation_id is None else correlation_id)
    frame = b"".join(whole.encode_response(header, response, asked.version if version is None else version))
    return len(frame).to_bytes(4, "big") + frame


def cluster_of(*nodes, topics=(), controller_id=-1):
    """A Metadata response: `topics` are (name, [leader id or (leader id, epoch)], topic id or nothing)."""
    brokers = [MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port) for node in nodes]
    return MetadataResponse(
        brokers=brokers, cluster_id="c", controller_id=controller_id, topics=[topic(*each) for each in topics]
    )


def topic(name, leaders, topic_id=bytes(16), error_code=0):
    pairs = [leader if isinstance(leader, tuple) else (leader, 0) for leader in leaders]
    partitions = [
        MetadataResponsePartition(partition_index=index, leader_id=leader_id, leader_epoch=epoch)
        for index, (leader_id, epoch) in enumerate(pairs)
    ]
    return MetadataResponseTopic(name=name, topic_id=topic_id, error_code=error_code, partitions=partitions)


class Outside:
    """What the two worlds share. A test fails if a callback failed and nobody was told."""

    def start(self):
        self.errors = []
        self.loop = self.client_loop()
        self.closers = []
        return self

    def client(self, config=CONFIG, security=PLAINTEXT, **options):
        made = NetworkClient(self.loop, config, security=security, **options)
        self.closers.append(made.close)
        return made

    def channel(self, *brokers, config=CONFIG, addresses=None, **options):
        addresses = addresses or [broker.node[1:3] for broker in brokers]
        made = Channel(self.loop, config, addresses, **options)
        self.closers.append(made.close)
        return made

    def connected(self, broker, client=None, **options):
        """A client that is ready to ask this broker."""
        client = client or self.client(**options)
        self.until(lambda: client.ready(broker.node))
        return client

    def outcome(self, pending, seconds=10):
        """What became of it: the value, or the error."""
        pending.is_observed = True
        self.until(lambda: pending.is_done, seconds)
        return pending.error if pending.error is not None else pending.value()

    def note_error(self, error, _):
        self.errors.append(error)

    def now_ms(self):
        return self.ports.clock.mono_ms()

    def finish(self):
        for close in self.closers:
            close()
        assert not self.errors, self.errors


class RealOutside(Outside):
    name = "real"

    def __init__(self):
        self.ports = system_ports(threads=1)
        self.start()

    def client_loop(self):
        return Loop(self.ports, self.note_error)

    def broker_loop(self, name):
        return self.loop

    def listen_address(self, name):
        return "127.0.0.1", 0

    def until(self, condition, seconds=10):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"it did not happen in time: {self.errors}"
            self.loop.turn(1)

    def pass_ms(self, milliseconds):
        deadline = time.monotonic() + milliseconds / 1000
        while time.monotonic() < deadline:
            self.loop.turn(1)

    def close(self):
        self.finish()
        self.ports.executor.close()
        self.loop.close()


class SimOutside(Outside):
    name = "sim"

    def __init__(self, seed=7):
        self.world = World(seed)
        self.start()
        self.ports = self.loop.ports

    def client_loop(self):
        return self.world.node("client").boot(self.note_error)

    def broker_loop(self, name):
        node = self.world.node(name)
        return node.loop or node.boot(self.note_error)

    def listen_address(self, name):
        return self.world.node(name).address, 9092

    def until(self, condition, seconds=10):
        self.world.node("client").attend()
        limit_us = self.world.now_us + seconds * 1_000_000
        while not condition():
            assert self.world.now_us < limit_us, f"it did not happen in time: {self.errors}"
            if not self.world.step(self.world.now_us + 1000):  # a condition may be about time alone
                self.world.now_us += 1000

    def pass_ms(self, milliseconds):
        self.world.node("client").attend()
        self.world.run_for(milliseconds)

    def close(self):
        self.finish()
