"""librdkafka's errors: the codes of the protocol, and negative ones for what no broker answers."""

from odradek.channel.errors import Disconnected, SslAuthenticationFailed
from odradek.client.producer.errors import BufferExhausted, DeliveryTimeout
from odradek.config.errors import ConfigError
from odradek.protocol import errors

_UNKNOWN = -1
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (DeliveryTimeout, -192),
    (BufferExhausted, -184),
    (Disconnected, -195),
    (SslAuthenticationFailed, -181),
    (errors.SaslAuthenticationFailed, -169),
    (errors.RequestTimedOut, -185),
    (ConfigError, -186),
    (ValueError, -186),
)


class KafkaError:
    """`code()`, `name()`, `str()`. Of two errors with the same code each equals the other, and the code itself."""

    _TRANSPORT = -195
    _MSG_TIMED_OUT = -192
    _PARTITION_EOF = -191
    _UNKNOWN_PARTITION = -190
    _UNKNOWN_TOPIC = -188
    _ALL_BROKERS_DOWN = -187
    _INVALID_ARG = -186
    _TIMED_OUT = -185
    _QUEUE_FULL = -184
    _SSL = -181
    _STATE = -172
    _AUTHENTICATION = -169
    _NO_OFFSET = -168
    _KEY_SERIALIZATION = -162
    _VALUE_SERIALIZATION = -161
    _KEY_DESERIALIZATION = -160
    _VALUE_DESERIALIZATION = -159
    _FATAL = -150
    _MAX_POLL_EXCEEDED = -147
    UNKNOWN = -1
    NO_ERROR = 0
    UNKNOWN_TOPIC_OR_PART = 3
    MSG_SIZE_TOO_LARGE = 10

    def __init__(self, code: int, reason: str | None = None, *, retriable: bool = False, fatal: bool = False) -> None:
        self._code = code
        self._reason = reason or self.name()
        self._retriable = retriable
        self._fatal = fatal

    @classmethod
    def of(cls, error: BaseException) -> "KafkaError":
        for kind, code in _CODES:
            if isinstance(error, kind):
                return cls(code, str(error), retriable=getattr(error, "retriable", False))
        return cls(getattr(error, "code", _UNKNOWN), str(error), retriable=getattr(error, "retriable", False))

    def code(self) -> int:
        return self._code

    def name(self) -> str:
        if self._code >= -1:
            return errors.by_code(self._code).name if self._code else "NO_ERROR"
        names = (name for name, value in vars(KafkaError).items() if value == self._code)
        return next(names, f"_{-self._code}")

    def str(self) -> str:
        return self._reason

    def retriable(self) -> bool:
        return self._retriable

    def fatal(self) -> bool:
        return self._fatal

    def txn_requires_abort(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return self._code == (other._code if isinstance(other, KafkaError) else other)

    def __hash__(self) -> int:
        return hash(self._code)

    def __str__(self) -> "str":  # type: ignore[valid-type]  # `str` is a method here, as it is theirs
        return f"KafkaError{{code={self.name()},val={self._code},str={self._reason!r}}}"

    __repr__ = __str__


for _row in errors.table():
    if _row.name not in vars(KafkaError):
        setattr(KafkaError, _row.name, _row.code)


class KafkaException(Exception):  # noqa: N818 - their name
    """`args[0]` is the KafkaError."""


def raised(error: BaseException) -> KafkaException:
    made = KafkaException(KafkaError.of(error))
    made.__cause__ = error
    return made
