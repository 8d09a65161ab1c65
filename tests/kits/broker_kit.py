"""A whole broker on a simulated machine, and a small scripted client on the simulated network.

    world = World(seed=1)
    broker = SimBroker(world)                  # boots it; what it needs is in /data of its own disk
    broker.wait_until_ready()
    client = SimClient(world, "client", broker.address)
    client.ask(CreateTopicsRequest(...), 7)    # lets the world go on until the answer is there

Everything runs in one thread under simulated time: the same seed gives the same `world.trace`.
"""

from odradek.broker.raft_server import KafkaRaftServer
from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.reactor.ports import READABLE, WRITABLE
from odradek.sim.crash import MIXED

PORT = 9092
READY_MS_MAX = 60_000
ANSWER_MS_MAX = 60_000
RETRY_MS = 20

DEFAULTS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.dirs": "/data",
}
QUORUM = {
    "3.3": {"controller.quorum.voters": "1@127.0.0.1:9093"},
    "4.3": {"controller.quorum.bootstrap.servers": "127.0.0.1:9093"},
}


class SimBroker:
    """`lines` is its server log, over all its lives."""

    def __init__(self, world, name="broker", *, release="4.3", properties=None, port=PORT, tls=None):
        self.world = world
        self.node = world.node(name)
        self.release = release
        listeners = f"PLAINTEXT://{self.node.address}:{port},CONTROLLER://{self.node.address}:{port + 1}"
        self.properties = {**DEFAULTS, **QUORUM[release], "listeners": listeners, **(properties or {})}
        self.tls = tls
        self.lines = []
        self.loggers = []  # of each of these lines
        self.errors = []  # unexpected ones: callbacks that failed, and nobody waited
        self.fatal = None
        self.server = self.starting = None
        self.boot()

    @property
    def address(self):
        host, port = self.server.bootstrap.rsplit(":", 1)
        return host, int(port)

    def boot(self):
        self.fatal = None
        loop = self.node.boot(self._unexpected)
        self.server = KafkaRaftServer(
            loop,
            self.properties,
            release=self.release,
            formats_fresh_dirs=True,
            host_name=lambda: self.node.address,
            sink=self._write,
            on_fatal=self._gave_up,
            tls=self.tls,
            poisons=True,
        )
        self.starting = loop.spawn(self.server.start())
        self.starting.is_observed = True

    def wait_until_ready(self):
        assert self.world.run_until(lambda: self.starting.is_done, READY_MS_MAX), "\n".join(self.lines)
        self.starting.value()  # raises what kept it from starting
        assert self.server.is_ready
        return self

    def stop(self):
        stopping = self.server.loop.spawn(self.server.stop())
        assert self.world.run_until(lambda: stopping.is_done, READY_MS_MAX), "\n".join(self.lines)
        stopping.value()

    def restart(self):
        """After a stop or a crash."""
        if self.node.is_up:
            self.node.crash(silent=False)
        self.boot()
        return self.wait_until_ready()

    def crash(self, profile=MIXED):
        self.node.crash(profile, silent=False)

    def _write(self, wall_ms, level, message, logger):
        self.lines.append(f"{level} {message}")
        self.loggers.append(logger)

    def _unexpected(self, error, source):
        self.errors.append(error)
        raise error

    def _gave_up(self, reason):
        self.fatal = reason
        self.server.loop.spawn(self.server.stop())


class ConnectionLost(Exception):  # noqa: N818 - what happened; nobody made a mistake
    """Nobody knows what became of the request."""


class Waiting:
    """A request on its way. `response` is there when `is_done`, unless the connection broke.

    A script on the client's own loop awaits `pending`; a test that lets the world go on looks at `is_done`.
    """

    def __init__(self, request, version, loop):
        self.key = request.api_key
        self.version = version
        self.pending = loop.pending()
        self.response = None

    @property
    def is_done(self):
        return self.response is not None


class SimClient:
    """One connection. Requests go out in the order of the calls, answers come back in the same."""

    def __init__(self, world, name, address, *, loop=None):
        self.world = world
        node = world.node(name)
        self.loop = loop or node.loop or node.boot()
        self.is_closed = False
        self.connected_us = None  # when it was
        self._out = bytearray()
        self._in = bytearray()
        self._waiting = []
        self._correlation_id = 0
        self._socket = self.loop.ports.network.connect(*address)
        self._is_connected = False
        self.loop.register(self._socket, READABLE | WRITABLE, self._ready)

    def send(self, request, version):
        """Does not wait."""
        self._correlation_id += 1
        header = RequestHeader(
            request_api_key=request.api_key,
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id="sim",
        )
        return self.send_bytes(b"".join(whole.encode_request(header, request)), Waiting(request, version, self.loop))

    def send_bytes(self, frame, waiting=None):
        """Any bytes as a frame."""
        self._out += len(frame).to_bytes(4, "big") + frame
        if waiting is not None:
            self._waiting.append(waiting)
        try:
            self._flush()
        except OSError:
            self.close()
        return waiting

    def forget(self, waiting):
        """No answer will come: acks=0."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)

    def ask(self, request, version):
        return self.wait(self.send(request, version))

    def ask_until(self, request, version, is_good, limit_ms=ANSWER_MS_MAX):
        """Asks again and again, as a client does that gets a retriable error."""
        deadline_us = self.world.now_us + limit_ms * 1000
        while not is_good(response := self.ask(request, version)):
            assert self.world.now_us < deadline_us, f"still {response}"
            self.world.run_for(RETRY_MS)
        return response

    def wait(self, waiting, limit_ms=ANSWER_MS_MAX):
        assert self.world.run_until(lambda: waiting.is_done or self.is_closed, limit_ms), "no answer came"
        assert waiting.is_done, "the connection was closed before the answer"
        return waiting.response

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.loop.unregister(self._socket)
            self._socket.close()
            for waiting in self._waiting:
                waiting.pending.fail(ConnectionLost())
            self._waiting.clear()

    def _ready(self, readiness):
        try:
            if not self._is_connected:
                self._socket.finish_connect()
                self._is_connected = True
                self.connected_us = self.world.now_us
            if readiness & READABLE:
                self._read()
            self._flush()
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def _read(self):
        buffer = bytearray(65536)
        count = self._socket.recv_into(memoryview(buffer))
        if not count:
            self.close()
            return
        self._in += buffer[:count]
        while len(self._in) >= 4 and len(self._in) >= 4 + (size := int.from_bytes(self._in[:4], "big")):
            self._take(bytes(self._in[4 : 4 + size]))
            del self._in[: 4 + size]

    def _take(self, frame):
        waiting = self._waiting.pop(0)
        waiting.response = whole.decode_response(frame, waiting.key, waiting.version)[1]
        waiting.pending.resolve(waiting.response)

    def _flush(self):
        if self.is_closed or not self._is_connected:
            return
        while self._out:
            try:
                del self._out[: self._socket.send([bytes(self._out)])]
            except BlockingIOError:
                break
        self.loop.set_interest(self._socket, READABLE | (WRITABLE if self._out else 0))
