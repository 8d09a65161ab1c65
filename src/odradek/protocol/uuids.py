"""Ids as Kafka writes them: 16 bytes on the wire, 22 characters of URL-safe base64 for people."""

from binascii import Error, a2b_base64, b2a_base64


def format_uuid(value: bytes) -> str:
    """The 22 characters of 16 bytes."""
    text = b2a_base64(value, newline=False).decode("ascii")
    return text.rstrip("=").replace("+", "-").replace("/", "_")


def parse_uuid(text: str) -> bytes:
    """The 16 bytes of an id, or ValueError for anything that `format_uuid` does not write."""
    try:
        value = a2b_base64(text.replace("-", "+").replace("_", "/") + "==")
    except (Error, ValueError):
        value = b""
    if len(value) != 16 or format_uuid(value) != text:
        raise ValueError(f"{text!r} is not an id: expected 22 characters of URL-safe base64")
    return value
