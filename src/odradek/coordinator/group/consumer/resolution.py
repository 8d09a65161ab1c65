"""A look-up of the topics that expressions match, in slices between which others get their turn."""

from collections.abc import Callable, Iterator

from odradek.coordinator.group.consumer.expression import compiled

MATCHES_PER_STEP = 100


class Resolution:
    """One look-up of all expressions of a group, on its way."""

    __slots__ = ("_left", "_may_describe", "_patterns", "found", "version")

    def __init__(
        self, expressions: set[str], names: list[str], version: int, may_describe: Callable[[str], bool]
    ) -> None:
        self._patterns = {expression: compiled(expression) for expression in sorted(expressions)}
        self._left: Iterator[str] = iter(names)
        self._may_describe = may_describe
        self.version = version
        self.found: dict[str, set[str]] = {expression: set() for expression in self._patterns}

    def step(self) -> bool:
        """Looks at some more topics; True when all have been looked at."""
        for _ in range(max(1, MATCHES_PER_STEP // max(1, len(self._patterns)))):
            name = next(self._left, None)
            if name is None:
                return True
            for expression, pattern in self._patterns.items():
                if pattern.matches(name) and self._may_describe(name):
                    self.found[expression].add(name)
        return False
