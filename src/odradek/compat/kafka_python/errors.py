"""kafka-python's names of errors. Each is a class of ours: what one catches, the other does.

Of each error of the protocol there is the name with `Error` at its end; those that kafka-python calls otherwise, and
those that no broker answers, are listed here.
"""

from odradek.channel.errors import ClientClosed, Disconnected, NodeNotReady
from odradek.client.consumer.errors import CommitFailed
from odradek.config.errors import ConfigError
from odradek.protocol import errors as _errors
from odradek.protocol.errors import InvalidMetadataError, KafkaError, RetriableError
from odradek.serde.errors import SerializationError

__all__ = [
    "CommitFailedError",
    "CorruptRecordError",
    "IllegalArgumentError",
    "IllegalStateError",
    "InvalidMetadataError",
    "InvalidTopicError",
    "KafkaConfigurationError",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaTimeoutError",
    "MessageSizeTooLargeError",
    "NoBrokersAvailable",
    "NodeNotReadyError",
    "NotLeaderForPartitionError",
    "OffsetOutOfRangeError",
    "RetriableError",
    "SerializationError",
    "TopicAlreadyExistsError",
    "UnknownError",
    "UnknownTopicOrPartitionError",
    "UnsupportedCodecError",
    "for_code",
]

for_code = _errors.by_code

CommitFailedError = CommitFailed
CorruptRecordError = CorruptRecordException = _errors.CorruptMessage
IllegalArgumentError = ValueError
IllegalStateError = ClientClosed
InvalidTopicError = _errors.InvalidTopicException
KafkaConfigurationError = ConfigError
KafkaConnectionError = Disconnected
KafkaTimeoutError = _errors.RequestTimedOut
MessageSizeTooLargeError = _errors.MessageTooLarge
NoBrokersAvailable = _errors.RequestTimedOut
NodeNotReadyError = NodeNotReady
NotLeaderForPartitionError = _errors.NotLeaderOrFollower
OffsetOutOfRangeError = _errors.OffsetOutOfRange
TopicAlreadyExistsError = _errors.TopicAlreadyExists
UnknownError = _errors.UnknownServerError
UnknownTopicOrPartitionError = _errors.UnknownTopicOrPartition
UnsupportedCodecError = _errors.UnsupportedCompressionType


def _their_name(row: type[KafkaError]) -> str:
    name = row.__name__.removesuffix("Exception")
    return name if name.endswith("Error") else f"{name}Error"


for _row in _errors.table():
    globals().setdefault(_their_name(_row), _row)
