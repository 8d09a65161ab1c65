"""A client that is nothing but a socket: one request, its answer, in any version."""

import contextlib
import socket
import time

from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.records.build import build


class Wire:
    def __init__(self, broker, client_id="tester", timeout_s=10):
        self.socket = socket.create_connection((broker.host, broker.port), timeout=timeout_s)
        self.client_id = client_id

    def send(self, request, version):
        header = RequestHeader(
            request_api_key=request.api_key, request_api_version=version, correlation_id=7, client_id=self.client_id
        )
        frame = b"".join(whole.encode_request(header, request))
        self.socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def ask(self, request, version):
        self.send(request, version)
        return self.answer(request, version)

    def answer(self, request, version):
        """The response; None if the connection was closed instead."""
        with contextlib.suppress(ConnectionError):
            size = int.from_bytes(self._exactly(4), "big")
            return whole.decode_response(self._exactly(size), request.api_key, version)[1]

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.socket.close()


def records(*values):
    return build(list(values), default_timestamp=int(time.time() * 1000)).data
