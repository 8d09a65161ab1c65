"""Columns of text: each as wide as Kafka's tools have it, or as its widest value where theirs grow."""

from collections.abc import Iterable, Sequence

MISSING = "-"


def line(widths: Sequence[int], values: Sequence[object]) -> str:
    """The values side by side, a blank between; what comes after the last width is not padded."""
    padded = [f"{_text(value):<{width}}" for width, value in zip(widths, values, strict=False)]
    return " ".join([*padded, *map(_text, values[len(widths) :])])


def widest(at_least: int, values: Iterable[object]) -> int:
    return max((at_least, *(len(_text(value)) for value in values)))


def _text(value: object) -> str:
    return MISSING if value is None else str(value)
