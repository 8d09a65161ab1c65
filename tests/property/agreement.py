"""What all executors of the codec say about one input; that they say the same is asserted here."""

from hypothesis import HealthCheck, settings

from odradek.protocol.errors import EncodeError, PeerProtocolError


def examples(count):
    """Messages with many fields are large examples by nature."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=count, suppress_health_check=slow)


def agreed(codecs, function):
    outcomes = {name: function(codec) for name, codec in codecs.items()}
    first, *others = outcomes.values()
    assert all(other == first for other in others), outcomes
    return first


def decoded(codecs, cls, version, data):
    """The message and the position behind it, or the reason and the position of a PeerProtocolError."""

    def one(codec):
        try:
            return codec.decode(cls.plan(version), data, 0)
        except PeerProtocolError as error:
            return error.reason, error.position

    return agreed(codecs, one)


def encoded(codecs, message, version):
    """The bytes, or the text of an EncodeError."""

    def one(codec):
        try:
            return b"".join(bytes_of(part) for part in codec.encode(message.plan(version), message))
        except EncodeError as error:
            return str(error)

    return agreed(codecs, one)


def bytes_of(part):
    """A file range stands for its bytes: here for as many zeros."""
    return bytes(part.size) if hasattr(part, "size") else part
