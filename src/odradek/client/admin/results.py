"""What came of an operation about several things: each has a result of its own, or an error of its own."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from odradek.protocol.errors import KafkaError

K = TypeVar("K")
V = TypeVar("V")


class Results(Mapping[K, V]):
    """`results[key]` is the value, or raises that key's error.

    results = admin.create_topics(["orders", "bad name"])
    results.errors                  # {"bad name": InvalidTopicException(...)}
    results.values_ok               # those that succeeded
    results.raise_any()             # the first error, if there is one
    """

    __slots__ = ("_outcomes",)

    def __init__(self, outcomes: Mapping[K, V | KafkaError]) -> None:
        self._outcomes = dict(outcomes)

    def __getitem__(self, key: K) -> V:
        outcome = self._outcomes[key]
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome

    def __iter__(self) -> Iterator[K]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    @property
    def errors(self) -> dict[K, KafkaError]:
        return {key: outcome for key, outcome in self._outcomes.items() if isinstance(outcome, KafkaError)}

    @property
    def values_ok(self) -> dict[K, V]:
        return {key: outcome for key, outcome in self._outcomes.items() if not isinstance(outcome, KafkaError)}

    def raise_any(self) -> None:
        for error in self.errors.values():
            raise error

    def __repr__(self) -> str:
        return f"Results({self._outcomes!r})"
