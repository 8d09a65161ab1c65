"""Lines of text as records, for `kafka-console-producer.sh`: `headers`, `key` and `value` with separators between."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.cli.failure import Refusal


class LineRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class LineReader:
    """`properties` are Kafka's: parse.key, parse.headers, key.separator, headers.delimiter, headers.separator,
    headers.key.separator, ignore.error, null.marker.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        def is_set(name: str) -> bool:
            return properties.get(name, "false").strip().lower() == "true"

        self._parses_key, self._parses_headers = is_set("parse.key"), is_set("parse.headers")
        self._ignores_errors = is_set("ignore.error")
        self._key_separator = properties.get("key.separator", "\t")
        self._headers_delimiter = properties.get("headers.delimiter", "\t")
        self._headers_separator = properties.get("headers.separator", ",")
        self._header_separator = properties.get("headers.key.separator", ":")
        self._null = properties.get("null.marker")
        if self._null in (self._headers_delimiter, self._key_separator):
            raise Refusal("null.marker and a separator may not be equal")

    def records(self, lines: Iterable[str]) -> Iterator[LineRecord]:
        """Refusal for a line without what was asked for, unless errors are to be ignored."""
        for number, line in enumerate(lines, 1):
            rest = line.rstrip("\n").removesuffix("\r")
            headers, rest = self._cut(self._parses_headers, rest, self._headers_delimiter, "headers delimiter", number)
            key, rest = self._cut(self._parses_key, rest, self._key_separator, "key separator", number)
            yield LineRecord(self._bytes(key), self._bytes(rest), self._headers(headers, number))

    def _cut(self, is_asked: bool, text: str, separator: str, name: str, number: int) -> tuple[str | None, str]:
        if not is_asked:
            return None, text
        before, found, after = text.partition(separator)
        if found:
            return before, after
        if self._ignores_errors:
            return None, text
        raise _missing(f"No {name} found on line number {number}: '{text}'")

    def _bytes(self, text: str | None) -> bytes | None:
        if text is None or (self._null is not None and text == self._null):
            return None
        return text.encode("utf-8", "surrogateescape")

    def _headers(self, text: str | None, number: int) -> list[tuple[str, bytes | None]]:
        if text is None or (self._null is not None and text == self._null):
            return []
        headers: list[tuple[str, bytes | None]] = []
        for pair in text.split(self._headers_separator):
            name, found, setting = pair.partition(self._header_separator)
            if not found and not self._ignores_errors:
                raise _missing(f"No header key separator found in pair '{pair}' on line number {number}")
            headers.append((name, self._bytes(setting) if found else None))
        return headers


def _missing(what: str) -> Refusal:
    return Refusal(f"org.apache.kafka.common.KafkaException: {what}")
