"""What goes wrong between a program and its client, before any broker is asked."""

from odradek.protocol.errors import KafkaError


class ForkedClientError(KafkaError):
    """The process was forked, and this client belongs to its parent: its place in a group or its transaction cannot be
    in two processes. Make a new one in the child.
    """

    message = "This client belongs to the process that this one was forked from: make a new one here."


class OwnThreadError(KafkaError):
    """A call that waits for the client's thread was made in that thread, from a callback: it would wait for ever."""

    message = "A callback runs in the client's own thread, which cannot wait for itself: do not wait in it."
