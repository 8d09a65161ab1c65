"""Simulated sockets of one host. What they do to each other travels through the fabric and takes its time.

Modelled on what Linux shows: a reset is an error once, then the end of the stream; closing with unread bytes
resets; bytes that arrive at a closed or forgotten connection are answered with a reset; descriptor numbers
are reused, smallest first. A host that lost its power says nothing: its peers stay half-open until they send
something after it is back.
"""

from collections import deque
from collections.abc import Callable, Sequence
from errno import EADDRINUSE, EAGAIN, EBADF, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENOENT, EPIPE, ETIMEDOUT
from typing import NoReturn

from odradek.reactor.ports import READABLE, WRITABLE, Buffer, DiskFile
from odradek.sim.fabric import Fabric, Pipe
from odradek.sim.machine import Machine
from odradek.sim.poller import SimPoller, Source
from odradek.sim.rng import SimStream

FIRST_FILENO = 3
FIRST_EPHEMERAL_PORT = 32768
SYN_AGAIN_US = 1_000_000  # a full backlog ignores a connection attempt; it comes again after so long
LOOPBACK = ("127.0.0.1", "localhost")


class SimSocket(Source):
    network: "SimNetwork"
    __slots__ = ("_error", "_has_failed", "_inbox", "_is_connected", "_is_ended", "_out", "_twin", "host", "peer")

    def __init__(self, network: "SimNetwork", peer: tuple[str, int]) -> None:
        super().__init__(network)
        self.host = network.address
        self.peer = peer
        self._inbox = bytearray()
        self._out: Pipe | None = None
        self._twin: SimSocket | None = None  # the other end
        self._is_connected = False
        self._is_ended = False  # the peer sends no more
        self._has_failed = False
        self._error = 0  # until it has been told, once

    # The port

    def recv_into(self, buffer: memoryview) -> int:
        self._check_open()
        count = min(len(buffer), len(self._inbox))
        if not count:
            return self._recv_nothing()
        count = self._maybe_short(count)
        buffer[:count] = self._inbox[:count]
        del self._inbox[:count]
        if self._twin is not None and self._twin._out is not None:
            self._twin._out.was_read(count)
        return count

    def send(self, parts: Sequence[Buffer]) -> int:
        return self._send_bytes(b"".join(parts))

    def send_one(self, part: Buffer) -> int:
        return self._send_bytes(bytes(part))

    def send_file(self, file: DiskFile, position: int, size: int) -> int:
        return self._send_bytes(file.pread(size, position))

    def widen(self) -> None:
        """A pipe has one width for everybody."""

    def finish_connect(self) -> None:
        if self._error:
            error, self._error = self._error, 0
            self._is_ended = True
            raise OSError(error, f"cannot connect to {self.peer[0]}:{self.peer[1]}")

    def close(self) -> None:
        if self.is_open:
            self.forget()
            if self._inbox:
                self._reset_peer()
            elif self._out is not None:
                self._out.put([b""])
            self._inbox.clear()

    # Readiness

    def readiness(self) -> int:
        if self._error or (self._is_ended and not self._is_connected):
            return READABLE | WRITABLE
        readable = READABLE if self._inbox or self._is_ended else 0
        writable = WRITABLE if self._is_connected and self._out is not None and self._out.credit_bytes > 0 else 0
        return readable | writable

    # What the fabric brings

    def meet(self, twin: "SimSocket") -> None:
        self._twin = twin

    def connected(self) -> None:
        if self._twin is not None and not self._has_failed:
            self._out = Pipe(self.network.fabric, self, self._twin)
            self._is_connected = True
            self.changed()

    def arrived(self, chunk: bytes) -> None:
        self.network.note(f"{self.number} gets {len(chunk)}")
        if not self.is_open:
            if chunk:
                self._reset_peer()
        elif not chunk:
            self._is_ended = True
            self.changed()
        else:
            self._inbox += chunk
            self.changed()

    def failed(self, error: int) -> None:
        """The connection is broken: what has arrived can be read, then comes the error, once."""
        if self._out is not None:
            self._out.break_off()
        if self.is_open and not self._has_failed:
            self.network.note(f"{self.number} fails with {error}")
            self._has_failed = True
            self._error = error
            self._is_connected = False
            self.changed()

    def break_both_ends(self) -> None:
        self._reset_peer()
        self.failed(ECONNRESET)

    def vanish(self, silent: bool) -> None:
        """Its host went down. If the kernel lives on, it resets the peer."""
        self.is_open = False
        if self._out is not None:
            self._out.break_off()
            if not silent:
                self._reset_peer()

    @property
    def twin_host(self) -> str | None:
        return self._twin.host if self._twin is not None else None

    # How it goes

    def _recv_nothing(self) -> int:
        if self._error:
            self._raise_error()
        if self._is_ended:
            return 0
        raise BlockingIOError(EAGAIN, "nothing to read")

    def _send_bytes(self, data: bytes) -> int:
        self._check_open()
        if self._error:
            self._raise_error()
        if not self._is_connected or self._out is None:
            if self._is_ended:
                raise BrokenPipeError(EPIPE, "broken pipe")
            raise BlockingIOError(EAGAIN, "not connected yet")
        if not data:
            return 0
        if self._out.credit_bytes <= 0:
            raise BlockingIOError(EAGAIN, "the buffer is full")
        if self.network.stream.chance(self.network.fabric.reset_percent):
            self.break_both_ends()
            self._raise_error()
        count = self._maybe_short(min(len(data), self._out.credit_bytes))
        self._out.put(self._split(data[:count]))
        return count

    def _raise_error(self) -> NoReturn:
        error, self._error = self._error, 0
        self._is_ended = True
        raise OSError(error, "the connection is broken")

    def _reset_peer(self) -> None:
        twin, out = self._twin, self._out
        if out is not None:
            out.break_off()
        if twin is not None:
            self.network.fabric.carry(self.host, twin.host, lambda: twin.failed(ECONNRESET))

    def _maybe_short(self, count: int) -> int:
        is_short = count > 1 and self.network.stream.chance(self.network.fabric.short_percent)
        return 1 + self.network.stream.below(count) if is_short else count

    def _split(self, data: bytes) -> list[bytes]:
        pieces = []
        while len(data) > 1 and self.network.stream.chance(self.network.fabric.split_percent):
            size = 1 + self.network.stream.below(min(len(data) - 1, 64))
            pieces.append(data[:size])
            data = data[size:]
        return [*pieces, data]

    def _check_open(self) -> None:
        if not self.is_open:
            raise OSError(EBADF, "this socket is closed")


class SimListener(Source):
    network: "SimNetwork"
    __slots__ = ("_accepted", "address", "backlog")

    def __init__(self, network: "SimNetwork", address: tuple[str, int], backlog: int) -> None:
        super().__init__(network)
        self.address = address
        self.backlog = backlog
        self._accepted: deque[SimSocket] = deque()

    def accept(self) -> SimSocket:
        if not self.is_open:
            raise OSError(EBADF, "this listener is closed")
        if not self._accepted:
            raise BlockingIOError(EAGAIN, "nobody has connected")
        return self._accepted.popleft()

    def readiness(self) -> int:
        return READABLE if self._accepted else 0

    def is_full(self) -> bool:
        return len(self._accepted) >= self.backlog

    def take_in(self, socket: SimSocket) -> None:
        self._accepted.append(socket)
        self.changed()

    def close(self) -> None:
        if self.is_open:
            self.forget()
            self.network.stop_listening(self.address[1])
            for socket in self._accepted:
                socket.close()


class SimNetwork:
    __slots__ = ("_listeners", "_node", "_pollers", "_port", "_sources", "address", "fabric", "is_up", "stream")

    def __init__(self, fabric: Fabric, node: Machine, stream: SimStream) -> None:
        self.fabric = fabric
        self._node = node
        self.address = node.address
        self.stream = stream
        self.is_up = True
        self._listeners: dict[int, SimListener] = {}
        self._sources: dict[int, Source] = {}
        self._pollers: list[SimPoller] = []
        self._port = FIRST_EPHEMERAL_PORT
        fabric.hosts[self.address] = self

    # The port

    def listen(
        self, host: str, port: int, backlog: int = 128, *, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1
    ) -> SimListener:
        """Buffers are the fabric's business (`Fabric.buffer_bytes`)."""
        port = port or self._free_port()
        if port in self._listeners:
            raise OSError(EADDRINUSE, f"port {port} is in use")
        listener = self._listeners[port] = SimListener(self, (self.address, port), backlog)
        return listener

    def connect(self, host: str, port: int) -> SimSocket:
        address = self.address if host in LOOPBACK else host
        socket = SimSocket(self, (host, port))
        if address not in self.fabric.hosts:
            socket.failed(EHOSTUNREACH)
            return socket
        own_port = self._free_port()
        self.note(f"{self.address}:{own_port} connects to {address}:{port}")
        self._knock(socket, address, port, own_port)
        return socket

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        if host in LOOPBACK:
            return [(self.address, port)]
        if host in self.fabric.names:
            return [(address, port) for address in self.fabric.names[host]]
        address = self.fabric.addresses.get(host, host)
        if address not in self.fabric.hosts:
            raise OSError(ENOENT, f"no host is called {host}")
        return [(address, port)]

    def poller(self) -> SimPoller:
        poller = SimPoller(self)
        self._pollers.append(poller)
        return poller

    # What its sockets and the node ask for

    def add(self, source: Source) -> int:
        fileno = FIRST_FILENO
        while fileno in self._sources:
            fileno += 1
        self._sources[fileno] = source
        return fileno

    def remove(self, source: Source) -> None:
        self._sources.pop(source.number, None)
        self._pollers = [poller for poller in self._pollers if poller is not source]
        for poller in self._pollers:
            poller.forget_source(source)

    def source(self, fileno: int) -> Source | None:
        return self._sources.get(fileno)

    def source_changed(self, source: Source) -> None:
        if any(poller.watches(source) for poller in self._pollers):
            self._node.attend()

    def attend(self) -> None:
        self._node.attend()

    def has_ready(self) -> bool:
        return any(poller.readiness() for poller in self._pollers)

    def wait(self, condition: Callable[[], object], timeout_ms: int | None) -> None:
        """Lets the world go on, for a poll that no event is waiting for."""
        has_happened = self._node.world.run_until(condition, timeout_ms)
        if timeout_ms is None and not has_happened:
            raise RuntimeError("a poll without a timeout, and nothing will ever happen again")

    def stop_listening(self, port: int) -> None:
        self._listeners.pop(port, None)

    def connected_to(self, host: str) -> list[SimSocket]:
        sockets = [source for source in self._sources.values() if isinstance(source, SimSocket)]
        return [socket for socket in sockets if socket.twin_host == host]

    def go_down(self, silent: bool) -> None:
        self.is_up = not silent
        for source in self._sources.values():
            if isinstance(source, SimSocket):
                source.vanish(silent)
            source.is_open = False
        self._listeners.clear()
        self._sources.clear()
        self._pollers.clear()

    # Connecting

    def _knock(self, socket: SimSocket, address: str, port: int, own_port: int) -> None:
        self.fabric.carry(
            self.address,
            address,
            lambda: self.fabric.hosts[address].knocked(socket, port, (self.address, own_port)),
            lambda: socket.failed(ETIMEDOUT),
        )

    def knocked(self, client: SimSocket, port: int, peer: tuple[str, int]) -> None:
        listener = self._listeners.get(port)
        if listener is None:
            self.fabric.carry(self.address, client.host, lambda: client.failed(ECONNREFUSED))
        elif listener.is_full():
            self.fabric.world.after(SYN_AGAIN_US, lambda: self.fabric.hosts[self.address].knocked(client, port, peer))
        else:
            server = SimSocket(self, peer)
            server.meet(client)
            client.meet(server)
            server.connected()
            listener.take_in(server)
            self.fabric.carry(self.address, client.host, lambda: _answered(client, server))

    def _free_port(self) -> int:
        self._port += 1
        return self._port

    def note(self, line: str) -> None:
        self._node.world.note(f"{self._node.name} {line}")


def _answered(client: SimSocket, server: SimSocket) -> None:
    if client.is_open:
        client.connected()
    else:
        server.failed(ECONNRESET)
