"""What goes wrong on the way, as exceptions: the error table (`protocol/errors.py`) has what a broker answers."""

from odradek.protocol import errors


class Disconnected(errors.NetworkException):
    """The connection broke, or was closed because an answer took too long. Whether the request took effect is unknown,
    unless it was never sent.
    """


class SslAuthenticationFailed(errors.KafkaError):
    """The TLS handshake failed: the two sides do not trust each other, or one of them speaks no TLS."""

    message = "The TLS handshake failed."


class NodeNotReady(Exception):  # noqa: N818 - it tells what the caller overlooked
    """A request for a node that cannot take one now: ask `NetworkClient.ready` first. A mistake of the caller."""


class ClientClosed(Exception):  # noqa: N818 - as above
    """The client was closed, and is asked for something all the same."""
