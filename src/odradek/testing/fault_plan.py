"""The faults that a broker has been asked for, and which of them a request meets. Lives on the broker's loop.

The first rule that fits and is not used up acts; the others wait for their turn.
"""

from typing import TYPE_CHECKING

from odradek.handlers.faults import FaultAction
from odradek.protocol import errors
from odradek.testing.fault_answer import ErrorAnswer
from odradek.testing.fault_rule import FaultRule
from odradek.testing.named_partitions import named_partitions

if TYPE_CHECKING:
    from odradek.handlers.call import AnyCall
    from odradek.protocol.declare import Request


class _Installed:
    __slots__ = ("hits", "rule")

    def __init__(self, rule: FaultRule) -> None:
        self.rule = rule
        self.hits = 0

    @property
    def is_used_up(self) -> bool:
        return self.rule.times is not None and self.hits >= self.rule.times

    def fits(self, call: "AnyCall", request: "Request") -> bool:
        rule = self.rule
        if self.is_used_up or rule.api_key != call.key:
            return False
        if rule.client_id is not None and rule.client_id != call.client_id:
            return False
        if not rule.is_selective:
            return True
        return any(rule.concerns(topic, partition) for topic, partition in named_partitions(call, request))


class FaultPlan:
    """The `faults` of a node's dispatchers."""

    __slots__ = ("_by_number", "_hits")

    def __init__(self) -> None:
        self._by_number: dict[int, _Installed] = {}  # in the order in which they were asked for
        self._hits: dict[int, int] = {}  # of those that were cleared

    def install(self, number: int, rule: FaultRule) -> None:
        """Under a number of the caller's, which has never been used before."""
        self._by_number[number] = _Installed(rule)

    def clear(self, number: int | None = None) -> None:
        """This one, or all. What they did stays counted."""
        for cleared in list(self._by_number) if number is None else [number]:
            installed = self._by_number.pop(cleared, None)
            if installed is not None:
                self._hits[cleared] = installed.hits

    def hits(self, number: int | None = None) -> int:
        """How many requests have met the fault, or any."""
        counted = self._hits | {each: installed.hits for each, installed in self._by_number.items()}
        return sum(counted.values()) if number is None else counted.get(number, 0)

    def before(self, call: "AnyCall", request: "Request") -> FaultAction | None:
        for installed in self._by_number.values():
            if installed.fits(call, request):
                installed.hits += 1
                return _action(installed.rule)
        return None


def _action(rule: FaultRule) -> FaultAction:
    stand_in = None
    if rule.error_code:
        stand_in = ErrorAnswer(rule, errors.by_code(rule.error_code)())
    return FaultAction(
        delay_ms=rule.delay_ms,
        stand_in=stand_in,
        disconnect=rule.disconnect,
        drop_response=rule.drop_response,
        hang_ms=rule.hang_ms,
    )
