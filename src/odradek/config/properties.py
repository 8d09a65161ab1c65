"""Java's `.properties` files: the syntax of `server.properties`, `meta.properties` and the console tools.

A natural line ends with \\n, \\r or \\r\\n. Blank lines are skipped, and so are comments: lines whose first
character that is not blank is `#` or `!`. A line that ends with an odd number of backslashes goes on in the next one,
whose leading blanks are dropped. The key ends at the first `=`, `:` or blank that has no backslash; blanks around the
separator are dropped, those at the end of the value are not. `\\t \\n \\r \\f` and `\\uXXXX` are escapes; before
any other character a backslash is dropped. Of a key that comes twice, the last one counts.

Bytes are ISO-8859-1, as Kafka reads them; a file that begins with the UTF-8 byte order mark is UTF-8. Nothing here
opens a file: the caller hands in what it has read, and the name to use in errors.
"""

from collections.abc import Iterator, Mapping

from odradek.config.errors import ConfigError

_FILE_MAX_BYTES = 16 * 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"} | {char: "\\" + char for char in "\\=:#!"}
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def load(data: bytes | str, name: str = "properties") -> dict[str, str]:
    """The properties in `data`, or ConfigError with the name and the line."""
    if len(data) > _FILE_MAX_BYTES:
        raise ConfigError(f"{name}: {len(data)} bytes are more than the {_FILE_MAX_BYTES} that are read")
    properties = {}
    for number, line in _logical_lines(_decode(data, name)):
        try:
            key, value = _split(line)
            properties[_unescape(key)] = _unescape(value)
        except _MalformedError:
            raise ConfigError(f"{name}, line {number}: Malformed \\uxxxx encoding.") from None
    return properties


def dump(properties: Mapping[str, str]) -> bytes:
    """The properties as ASCII, one per line, in the order given; `load` returns the same."""
    lines = [f"{_escape(key, in_key=True)}={_escape(value)}\n" for key, value in properties.items()]
    return "".join(lines).encode("ascii")


class _MalformedError(Exception):
    pass


def _decode(data: bytes | str, name: str) -> str:
    if isinstance(data, str):
        return data
    if not data.startswith(_BYTE_ORDER_MARK):
        return data.decode("iso-8859-1")
    try:
        return data[len(_BYTE_ORDER_MARK) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: not UTF-8 at byte {error.start + 3}, in spite of its byte order mark") from None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined, each with the number of its first natural line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    natural = enumerate(lines, start=1)
    for number, line in natural:
        line = line.lstrip(_BLANKS)
        if not line or line[0] in "#!":
            continue
        if line == "\\" and number < len(lines):
            continue  # it joins nothing to what follows, which may be a comment
        parts = []
        while _goes_on(line):
            parts.append(line[:-1])
            line = next(natural, (0, ""))[1].lstrip(_BLANKS)
        yield number, "".join((*parts, line))


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    end = _end_of_key(line)
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return line[:end], rest


def _end_of_key(line: str) -> int:
    position = 0
    while position < len(line):
        if line[position] == "\\":
            position += 1
        elif line[position] in "=: \t\f":
            return position
        position += 1
    return len(line)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts, position, surrogates = [], 0, False
    while (found := text.find("\\", position)) >= 0:
        parts.append(text[position:found])
        kind = text[found + 1 : found + 2]
        if kind == "u":
            code = _code_unit(text[found + 2 : found + 6])
            surrogates |= 0xD800 <= code <= 0xDFFF
            parts.append(chr(code))
            position = found + 6
        else:
            parts.append(_ESCAPES.get(kind, kind))
            position = found + 2
    parts.append(text[position:])
    joined = "".join(parts)
    return _join_surrogates(joined) if surrogates else joined


def _code_unit(digits: str) -> int:
    if len(digits) != 4 or not _HEX_DIGITS.issuperset(digits):
        raise _MalformedError
    return int(digits, 16)


def _join_surrogates(text: str) -> str:
    """Java writes a character beyond 16 bits as two escapes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _escape(text: str, in_key: bool = False) -> str:
    parts = []
    for position, char in enumerate(text):
        if char == " " and (in_key or position == 0):
            parts.append("\\ ")
        elif char in _ESCAPED:
            parts.append(_ESCAPED[char])
        elif " " <= char <= "~":
            parts.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass").hex()
            parts += ["\\u" + units[at : at + 4].upper() for at in range(0, len(units), 4)]
    return "".join(parts)
