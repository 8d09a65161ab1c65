"""The web server for metrics and health, and what hostile peers get from it. It runs on the simulated network."""

import pytest

from odradek.broker import http
from odradek.broker.http import HttpServer
from odradek.reactor.ports import READABLE
from odradek.sim.world import World


class Peer:
    """Sends what it is told to and collects what comes."""

    def __init__(self, loop, address):
        self.loop = loop
        self.received = b""
        self.is_closed = False
        self.socket = loop.ports.network.connect(*address)
        loop.register(self.socket, READABLE, self._read)

    def send(self, data):
        self.socket.send([data])

    def _read(self, readiness):
        buffer = bytearray(65536)
        try:
            count = self.socket.recv_into(memoryview(buffer))
        except BlockingIOError:
            return
        except OSError:
            count = 0
        self.received += buffer[:count]
        if not count:
            self.is_closed = True
            self.loop.unregister(self.socket)


class Stage:
    def __init__(self):
        self.world = World(seed=1)
        server_node, client_node = self.world.node("server"), self.world.node("client")
        self.failed = []
        pages = {
            "/health": lambda: (200, http.PLAIN, b"ok\n"),
            "/big": lambda: (200, http.PLAIN, b"x" * 1_000_000),
            "/broken": lambda: 1 // 0,
        }
        self.server = HttpServer(server_node.boot(), "10.0.0.1", 8080, pages, self.failed.append)
        self.client = client_node.boot()

    def peer(self):
        peer = Peer(self.client, self.server.address)
        self.world.run_for(100)
        return peer

    def ask(self, data):
        peer = self.peer()
        peer.send(data)
        self.world.run_until(lambda: peer.is_closed, 60_000)
        return peer


@pytest.fixture
def stage():
    return Stage()


def test_a_page(stage):
    head, _, body = stage.ask(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 3" in head
    assert body == b"ok\n"


def test_a_query_is_ignored_and_head_has_no_body(stage):
    assert stage.ask(b"GET /health?x=1 HTTP/1.0\r\n\r\n").received.endswith(b"\r\n\r\nok\n")
    assert stage.ask(b"HEAD /health HTTP/1.1\r\n\r\n").received.endswith(b"Connection: close\r\n\r\n")


def test_a_big_page_comes_whole_through_full_buffers(stage):
    body = stage.ask(b"GET /big HTTP/1.1\r\n\r\n").received.partition(b"\r\n\r\n")[2]
    assert body == b"x" * 1_000_000


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /nowhere HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /health HTTP/1.1\r\n\r\n", b"405"),
        (b"\x00\x01\xff garbage\r\n\r\n", b"400"),
        (b"GET /health\r\n\r\n", b"400"),
        (b"\r\n\r\n", b"400"),
        (b"G" * 9000, b"431"),
        (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
    ],
)
def test_what_makes_no_sense_gets_an_error_and_the_server_lives_on(stage, request_bytes, status):
    assert stage.ask(request_bytes).received.split(b" ")[1] == status
    assert b"ok\n" in stage.ask(b"GET /health HTTP/1.1\r\n\r\n").received


def test_a_page_that_fails_is_an_error_of_the_page_only(stage):
    assert stage.ask(b"GET /broken HTTP/1.1\r\n\r\n").received.startswith(b"HTTP/1.1 500 ")
    assert [type(error) for error in stage.failed] == [ZeroDivisionError]
    assert b"ok\n" in stage.ask(b"GET /health HTTP/1.1\r\n\r\n").received


def test_a_peer_that_says_nothing_is_let_go(stage):
    silent = stage.peer()
    stage.world.run_for(http.CONNECTION_MS_MAX + 1000)
    assert silent.is_closed


def test_a_byte_at_a_time_does_not_stretch_the_time(stage):
    slow = stage.peer()
    for _ in range(30):
        if not slow.is_closed:
            slow.send(b"G")
        stage.world.run_for(500)
    assert slow.is_closed


def test_no_more_than_so_many_connections(stage):
    held = [Peer(stage.client, stage.server.address) for _ in range(http.CONNECTIONS_MAX)]
    stage.world.run_for(1000)
    assert stage.peer().is_closed
    assert not any(peer.is_closed for peer in held)
    held[0].send(b"GET /health HTTP/1.1\r\n\r\n")
    stage.world.run_until(lambda: held[0].is_closed, 5000)
    assert b"ok" in held[0].received
    assert not stage.peer().is_closed


def test_closing_ends_the_connections(stage):
    peer = stage.peer()
    stage.server.close()
    stage.world.run_for(100)
    assert peer.is_closed
