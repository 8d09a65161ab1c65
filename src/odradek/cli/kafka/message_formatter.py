"""Records as `kafka-console-consumer.sh` prints them.

`properties` are Kafka's: print.timestamp, print.partition, print.offset, print.delivery, print.epoch, print.headers,
print.key, print.value, the separators key.separator, line.separator and headers.separator, null.literal, and a
deserializer for keys, values and headers.
"""

from collections.abc import Callable, Mapping

from odradek.cli.failure import Refusal
from odradek.client.consumer.records import ConsumerRecord
from odradek.client.serializers import deserializer
from odradek.config.parsed import Config
from odradek.records.layout import CREATE_TIME, LOG_APPEND_TIME

_TYPES = {CREATE_TIME: b"CreateTime", LOG_APPEND_TIME: b"LogAppendTime"}
_NAMES = ("DefaultMessageFormatter", "LoggingMessageFormatter", "NoOpMessageFormatter")

Record = ConsumerRecord[bytes, bytes]
Format = Callable[[Record], bytes]


def formatter(name: str, properties: Mapping[str, str], config: Config) -> Format:
    """By the name of Kafka's class."""
    simple = name.rpartition(".")[2].rpartition("$")[2]
    if simple not in _NAMES:
        raise Refusal(f"the formatter {name} is not served; there are {', '.join(_NAMES)}")
    if simple == "NoOpMessageFormatter":
        return lambda _: b""
    return _Default(properties, config).line


class _Default:
    def __init__(self, properties: Mapping[str, str], config: Config) -> None:
        def is_set(name: str, default: str = "false") -> bool:
            return properties.get(name, default).strip().lower() == "true"

        def separator(name: str, default: str) -> bytes:
            return properties.get(name, default).encode()

        parts: dict[str, Format] = {
            "print.timestamp": self.timestamp,
            "print.partition": lambda record: b"Partition:%d" % record.partition,
            "print.offset": lambda record: b"Offset:%d" % record.offset,
            "print.delivery": lambda _: b"Delivery:NOT_PRESENT",
            "print.epoch": lambda _: b"Epoch:NOT_PRESENT",  # Kafka's tool loses it on the way
            "print.headers": self._headers,
            "print.key": lambda record: self._told(self._key, record.topic, record.key),
            "print.value": lambda record: self._told(self._value, record.topic, record.value),
        }
        self._parts = [
            part for name, part in parts.items() if is_set(name, "true" if name == "print.value" else "false")
        ]
        self._between = separator("key.separator", "\t")
        self._end = separator("line.separator", "\n")
        self._headers_separator = separator("headers.separator", ",")
        self._null = separator("null.literal", "null")
        self._key = _text(properties.get("key.deserializer"), config, is_key=True)
        self._value = _text(properties.get("value.deserializer"), config, is_key=False)
        self._header = _text(properties.get("headers.deserializer"), config, is_key=False)

    def line(self, record: Record) -> bytes:
        return self._between.join(part(record) for part in self._parts) + self._end

    def timestamp(self, record: Record) -> bytes:
        kind = _TYPES.get(record.timestamp_type)
        return b"NO_TIMESTAMP" if kind is None else b"%s:%d" % (kind, record.timestamp)

    def _headers(self, record: Record) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            name.encode() + b":" + self._told(self._header, record.topic, data) for name, data in record.headers
        )

    def _told(self, made: Callable[[str, bytes], bytes], topic: str, data: bytes | None) -> bytes:
        return self._null if data is None else made(topic, data)


def _text(name: str | None, config: Config, *, is_key: bool) -> Callable[[str, bytes], bytes]:
    """Bytes as they are, or what a deserializer makes of them as text."""
    found = None if name is None else deserializer(name, is_key=is_key, config=config)
    if found is None:
        return lambda _, data: data
    return lambda topic, data: _as_bytes(found(topic, (), data))


def _as_bytes(made: object) -> bytes:
    return made if isinstance(made, bytes) else str(made).encode()
