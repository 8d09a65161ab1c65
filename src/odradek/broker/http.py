"""A web server as small as metrics and health checks need: GET and HEAD of a few fixed paths.

It trusts nobody: so many connections at a time, so long a request, so many seconds for all of it, and one answer per
connection. Pages are made when they are asked for.
"""

from collections.abc import Callable, Mapping

from odradek.reactor.loop import Loop
from odradek.reactor.ports import READABLE, WRITABLE, Listener, Socket

CONNECTIONS_MAX = 64
REQUEST_BYTES_MAX = 8192
CONNECTION_MS_MAX = 10_000

_RECEIVE_BYTES = 4096
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 431: "Too Large",
            500: "Internal Server Error", 503: "Service Unavailable"}  # fmt: skip

Page = tuple[int, str, bytes]  # status, content type, body
PLAIN = "text/plain; charset=utf-8"


class HttpServer:
    __slots__ = ("_connections", "_listener", "_loop", "_on_error", "_pages")

    def __init__(
        self,
        loop: Loop,
        host: str,
        port: int,
        pages: Mapping[str, Callable[[], Page]],
        on_error: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        """Raises OSError if the address cannot be had. `on_error` is told of a page that could not be made."""
        self._loop = loop
        self._pages = pages
        self._on_error = on_error
        self._connections: set[_Connection] = set()
        self._listener: Listener = loop.ports.network.listen(host, port)
        loop.register(self._listener, READABLE, self._accept)

    @property
    def address(self) -> tuple[str, int]:
        return self._listener.address

    def close(self) -> None:
        self._loop.unregister(self._listener)
        self._listener.close()
        for connection in list(self._connections):
            connection.close()

    def answer(self, head: bytes) -> bytes:
        """The whole response to the head of a request, which may be any bytes."""
        method, _, rest = head.partition(b" ")
        target, _, version = rest.partition(b"\r\n")[0].partition(b" ")
        if not version.startswith(b"HTTP/1."):
            return _response(400, PLAIN, b"this is no HTTP/1 request\n")
        if method not in (b"GET", b"HEAD"):
            return _response(405, PLAIN, b"only GET and HEAD are served here\n", "Allow: GET, HEAD\r\n")
        response = _response(*self._page(target.partition(b"?")[0].decode("latin-1")))
        return response if method == b"GET" else response[: response.index(b"\r\n\r\n") + 4]

    def _page(self, path: str) -> Page:
        make = self._pages.get(path)
        if make is None:
            return 404, PLAIN, f"there is {', '.join(sorted(self._pages))} here, and nothing else\n".encode()
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - a page that fails must not end the node
            self._on_error(error)
            return 500, PLAIN, b"this page could not be made\n"

    def _accept(self, readiness: int) -> None:
        try:
            socket = self._listener.accept()
        except OSError:  # nobody there any more, or out of descriptors
            return
        if len(self._connections) >= CONNECTIONS_MAX:
            socket.close()
            return
        self._connections.add(_Connection(self, self._loop, socket))

    def closed(self, connection: "_Connection") -> None:
        self._connections.discard(connection)


class _Connection:
    __slots__ = ("_in", "_loop", "_out", "_server", "_socket", "_timer")

    def __init__(self, server: HttpServer, loop: Loop, socket: Socket) -> None:
        self._server = server
        self._loop = loop
        self._socket = socket
        self._in = bytearray()
        self._out: memoryview | None = None
        self._timer = loop.after(CONNECTION_MS_MAX, self.close)
        loop.register(socket, READABLE, self._ready)

    def close(self) -> None:
        self._timer.cancel()
        self._loop.unregister(self._socket)
        self._socket.close()
        self._server.closed(self)

    def _ready(self, readiness: int) -> None:
        try:
            if self._out is None:
                self._receive()
            if self._out is not None:
                self._send(self._out)
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def _receive(self) -> None:
        buffer = bytearray(_RECEIVE_BYTES)
        count = self._socket.recv_into(memoryview(buffer))
        if not count:
            self.close()
            return
        self._in += buffer[:count]
        if b"\r\n\r\n" in self._in:
            self._reply(self._server.answer(bytes(self._in)))
        elif len(self._in) > REQUEST_BYTES_MAX:
            self._reply(_response(431, PLAIN, b"the request's head is too long\n"))

    def _reply(self, response: bytes) -> None:
        self._out = memoryview(response)
        self._loop.set_interest(self._socket, WRITABLE)

    def _send(self, out: memoryview) -> None:
        self._out = out[self._socket.send([out]) :]
        if not self._out:
            self.close()


def _response(status: int, content_type: str, body: bytes, more: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        f"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode("latin-1") + body
