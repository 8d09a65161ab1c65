"""What a front end has read, before anybody has asked whether it makes sense."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from odradek.spark.pipeline.mistakes import Place

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Given:
    """A value and where it stands: in a mapping that is the line of its key."""

    value: Scalar | tuple["Given", ...] | Mapping[str, "Given"] | Callable[..., Any]  # Any: a person's own function
    place: Place


def given(value: object, place: Place) -> Given:
    """Python's own lists and dicts, all of them at one place."""
    if isinstance(value, Mapping):
        return Given({str(key): given(each, place) for key, each in value.items()}, place)
    if isinstance(value, (list, tuple)):
        return Given(tuple(given(each, place) for each in value), place)
    return Given(value, place)  # type: ignore[arg-type]  # what it is, `Fields` asks


def kind_of(value: object) -> str:
    """A word for people."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, Mapping):
        return "names with values"
    return "a list" if isinstance(value, tuple) else "a function"
