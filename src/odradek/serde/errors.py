"""What goes wrong between a program's values and the bytes of a record."""

from odradek.protocol.errors import KafkaError


class SerializationError(KafkaError):
    """A value that cannot be made bytes, or bytes that are no such value. What was the cause is `__cause__`."""

    message = "A value cannot be made bytes, or bytes are no such value."
