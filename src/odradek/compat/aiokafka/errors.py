"""aiokafka's names of errors: those of kafka-python, some of them without `Error` at the end, and two of its own."""

from odradek.channel.errors import ClientClosed
from odradek.compat.kafka_python import errors as _theirs
from odradek.protocol import errors as _errors
from odradek.protocol.errors import KafkaError

__all__ = ["ConsumerStoppedError", "IllegalOperation", "KafkaError", "ProducerClosed", "RecordTooLargeError"]


class ConsumerStoppedError(Exception):
    """The consumer was stopped, or was never started."""


class IllegalOperation(Exception):  # noqa: N818 - their name
    """This cannot be done now: without a group, or outside of a transaction."""


ProducerClosed = ClientClosed
RecordTooLargeError = _errors.MessageTooLarge

for _row in _errors.table():
    globals().setdefault(_row.__name__, _row)
for _name, _value in vars(_theirs).items():
    if isinstance(_value, type):
        globals().setdefault(_name, _value)
