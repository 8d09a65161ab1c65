"""A socket server and its clients, once on real sockets and once on simulated ones: what the network's tests share."""

import struct
import time

from odradek.config.broker import TABLE
from odradek.config.listeners import Endpoint
from odradek.config.parsed import parse
from odradek.metrics import Registry
from odradek.network.socket_server import SocketServer
from odradek.reactor.adapters import system_ports
from odradek.reactor.loop import Loop
from odradek.sim.world import World

BASE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "log.dirs": "/data",
}


def broker_config(overrides=None, release="4.3"):
    return parse(TABLE, {**BASE, **(overrides or {})}, release)


def request(correlation_id, body=b"", key=3, version=12):
    frame = struct.pack(">hhih", key, version, correlation_id, -1) + body
    return struct.pack(">i", len(frame)) + frame


def answer_of(correlation_id, body=b""):
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


def correlation_id_of(frame):
    return struct.unpack_from(">i", frame, 4)[0]


def echo(connection, frame):
    """Answers with the body of the request, in parts."""
    body = bytes(frame[10:])
    return [struct.pack(">ii", 4 + len(body), correlation_id_of(frame)), body]


def held_bytes(connection):
    """The memory that unhandled input takes."""
    held = len(connection._held) if connection._held is not None else 0  # the handled part of it is still there
    return held + (len(connection._partial._buffer) if connection._partial is not None else 0)


class Client:
    """A peer of the server that does as it is told. Bytes wait in `unsent` until the socket takes them."""

    def __init__(self, rig, socket):
        self.rig = rig
        self.socket = socket
        self.unsent = memoryview(b"")
        self.received = bytearray()
        self.is_closed = False
        self.reads = True
        rig.clients.append(self)

    def send(self, data):
        self.unsent = memoryview(bytes(self.unsent) + bytes(data))
        self.pump()

    def pump(self):
        try:
            while self.unsent and not self.is_closed:
                sent = self.socket.send([self.unsent])
                self.unsent = self.unsent[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self.is_closed = True
        buffer = bytearray(65536)
        try:
            while self.reads and not self.is_closed:
                got = self.socket.recv_into(memoryview(buffer))
                self.is_closed = not got
                self.received += buffer[:got]
        except BlockingIOError:
            pass
        except OSError:
            self.is_closed = True

    def frames(self):
        """The whole frames that have come, without their lengths."""
        found, at = [], 0
        while len(self.received) - at >= 4:
            (size,) = struct.unpack_from(">i", self.received, at)
            if at + 4 + size > len(self.received):
                break
            found.append(bytes(self.received[at + 4 : at + 4 + size]))
            at += 4 + size
        return found

    def correlation_ids(self):
        return [struct.unpack_from(">i", frame)[0] for frame in self.frames()]

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.socket.close()
        if self in self.rig.clients:
            self.rig.clients.remove(self)


class Rig:
    """The server under test, its loop, and clients. `name` tells which of the two worlds it is."""

    def start(self, serve=echo, overrides=None, protocol="PLAINTEXT", listener="PLAINTEXT", plane="data", tls=None):
        self.errors = []
        self.clients = []
        self.registry = Registry(self.ports.clock.mono_ms)
        self.loop = self.make_loop()
        self.server = SocketServer(self.loop, broker_config(overrides), self.registry, tls=tls, poisons=True)
        self.listener = self.add_listener(listener, serve, protocol, plane)
        self.server.enable()
        return self

    def add_listener(self, name, serve=echo, protocol="PLAINTEXT", plane="data"):
        return self.server.add_listener(Endpoint(name, protocol, self.host, 0), serve, plane=plane)

    def connect(self, listener=None):
        socket = self.client_network.connect(*(listener or self.listener).address)
        client = Client(self, socket)
        self.until(lambda: client.is_closed or self.is_connected(client))
        return client

    def is_connected(self, client):
        try:
            client.socket.send([b""])
        except BlockingIOError:
            return False
        except OSError:
            client.is_closed = True
        return True

    def ask(self, client, data, count=1):
        """Sends and returns the frames of that many answers."""
        before = len(client.frames())
        client.send(data)
        self.until(lambda: len(client.frames()) >= before + count or client.is_closed)
        return client.frames()[before:]

    def pump(self):
        for client in list(self.clients):
            client.pump()

    def connection(self):
        """The only connection that the server has, or is about to have."""
        if not self.server.connections():
            self.until(self.server.connections)
        (connection,) = self.server.connections()
        return connection

    def note_error(self, error, _):
        self.errors.append(error)

    def state(self):
        """Who waits for what, for a test that waits in vain."""
        ends = [
            (one.blocked, one.interest, one.bytes_in, one.unsent_bytes, held_bytes(one))
            for one in self.server.connections()
        ]
        clients = [(len(client.unsent), len(client.received), client.is_closed) for client in self.clients]
        return f"errors {self.errors}, connections {ends}, clients {clients}, turns {self.loop.turns}"


class RealRig(Rig):
    name = "real"

    def __init__(self):
        self.ports = system_ports(threads=2)
        self.client_network = self.ports.network
        self.host = "127.0.0.1"

    def make_loop(self):
        return Loop(self.ports, self.note_error)

    def attend(self):
        """Something has happened to the server outside of its loop."""

    def until(self, condition, seconds=10):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"it did not happen in time: {self.state()}"
            self.loop.turn(1)
            self.pump()

    def pass_ms(self, milliseconds):
        deadline = time.monotonic() + milliseconds / 1000
        while time.monotonic() < deadline:
            self.loop.turn(1)
            self.pump()

    def close(self):
        for client in list(self.clients):
            client.close()
        self.server.close()
        self.ports.executor.close()
        self.loop.close()


class SimRig(Rig):
    name = "sim"

    def __init__(self, seed=5):
        self.world = World(seed)
        self.node = self.world.node("broker")
        self.ports = self.node.ports
        self.client_network = self.world.node("client").ports.network
        self.host = self.node.address

    def make_loop(self):
        return self.node.boot(self.note_error)

    def attend(self):
        self.node.attend()

    def until(self, condition, seconds=10):
        self.attend()

        def pumped():
            self.pump()
            return condition()

        assert self.world.run_until(pumped, seconds * 1000), "it did not happen in time"

    def pass_ms(self, milliseconds):
        limit_us = self.world.now_us + milliseconds * 1000
        while self.world.step(limit_us):
            self.pump()
        self.world.now_us = max(self.world.now_us, limit_us)
        self.pump()

    def close(self):
        for client in list(self.clients):
            client.close()
        self.server.close()
