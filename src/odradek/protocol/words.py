"""Words that both executors use, so that they say the same about the same bytes."""


def counted(count: int, what: str) -> str:
    """`1 byte`, `2 bytes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def remaining(count: int) -> str:
    """`1 byte remains`, `2 bytes remain`."""
    return "1 byte remains" if count == 1 else f"{count} bytes remain"
