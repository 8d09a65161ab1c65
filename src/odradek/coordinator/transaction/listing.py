"""Which transactions somebody wants to see."""

from collections.abc import Collection

from odradek.coordinator.pattern import Pattern
from odradek.coordinator.transaction import states
from odradek.coordinator.transaction.transaction import Transaction


class Filters:
    """What is empty, negative or None filters nothing. Raises InvalidRegularExpression."""

    __slots__ = ("_duration_ms", "_pattern", "_producer_ids", "_states", "unknown_states")

    def __init__(
        self, state_names: Collection[str], producer_ids: Collection[int], duration_ms: int, pattern: str | None
    ) -> None:
        self.unknown_states = sorted(set(state_names).difference(states.NAMES))
        wanted = (
            None if not state_names else frozenset(at for at, name in enumerate(states.NAMES) if name in state_names)
        )
        self._states = wanted
        self._producer_ids = frozenset(producer_ids)
        self._duration_ms = duration_ms
        self._pattern = Pattern(pattern) if pattern else None

    def lets(self, txn: Transaction, now_ms: int) -> bool:
        if self._states is not None and txn.state not in self._states:
            return False
        if self._producer_ids and txn.producer_id not in self._producer_ids:
            return False
        if self._duration_ms >= 0 and now_ms - txn.started_ms <= self._duration_ms:
            return False
        return self._pattern is None or self._pattern.matches(txn.transactional_id)
