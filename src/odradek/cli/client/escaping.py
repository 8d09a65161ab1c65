r"""Bytes as text that can be read, and back.

shown     for eyes: what cannot be printed is told by its number, as in \xff
escaped   the same with backslashes doubled, so that `unescaped` gives the very bytes back
"""

import re

from odradek.cli.failure import Failure

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.|\Z)", re.DOTALL)
_MEANT = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\", b"0": b"\0"}


def shown(data: bytes, *, keep: str = "") -> str:
    """Line ends and the like too, unless they are to be kept."""
    text = data.decode("utf-8", "surrogateescape")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _number(char) for char in text)


def escaped(data: bytes) -> str:
    return shown(data.replace(b"\\", b"\\\\"))


def unescaped(data: bytes) -> bytes:
    """Failure for a backslash that stands before something else than n, r, t, 0, \\ or xNN."""
    return _ESCAPE.sub(_meant, data) if b"\\" in data else data


def _number(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def _meant(found: "re.Match[bytes]") -> bytes:
    word = found[1]
    if word in _MEANT:
        return _MEANT[word]
    if len(word) == 3:
        return bytes.fromhex(word[1:].decode())
    raise Failure(f"\\{word.decode(errors='replace')}: expected \\n, \\r, \\t, \\0, \\\\ or \\xNN behind a backslash")
