"""What is wrong with a pipeline, each mistake with its file and line."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True)
class Place:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, order=True, slots=True)
class Mistake:
    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class PipelineError(Exception):
    """All that is wrong with a declaration, a line for each mistake."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(set(mistakes)))
        super().__init__("\n".join(map(str, self.mistakes)))


class Mistakes:
    """Gathers them, so that all are told together."""

    def __init__(self) -> None:
        self._found: list[Mistake] = []

    def add(self, place: Place, text: str) -> None:
        self._found.append(Mistake(place, text))

    def raise_if_any(self) -> None:
        if self._found:
            raise PipelineError(self._found)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A guess to put behind what is wrong; empty if nothing known is like it, and there is much of it."""
    from difflib import get_close_matches  # only a mistake needs it

    there = sorted(known)
    lowered = {each.lower(): each for each in there}
    near = [lowered[match] for match in get_close_matches(name.lower(), lowered, 1, 0.6)]
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(there)}" if 0 < len(there) <= _LISTED_MAX else ""


_LISTED_MAX = 16
