"""Faults on requests, as a test asks for them.

broker.faults.on("Produce", topic="orders").error("NOT_LEADER_OR_FOLLOWER", times=3)
with broker.faults.on("Fetch").delay(500) as slow:
    ...
assert slow.hits
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, Self

from odradek.protocol import apis, errors
from odradek.testing.fault_rule import FaultRule

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    class What(TypedDict, total=False):
        """The fields of a FaultRule that say what becomes of requests."""

        times: int | None
        delay_ms: int
        error_code: int
        disconnect: bool
        drop_response: bool
        hang_ms: int | None


HANG_MS = 500  # of a connection whose response was lost, unless the test says otherwise: tests should not take long

Ask = Callable[..., Any]  # takes a command of `control.py` and its values, and gives what that returns


class Fault:
    """A fault that is in force until it is used up or cleared. As a context manager it is cleared at the end."""

    __slots__ = ("_ask", "_number", "_rule")

    def __init__(self, ask: Ask, number: int, rule: FaultRule) -> None:
        self._ask = ask
        self._number = number
        self._rule = rule

    def __repr__(self) -> str:
        return f"<Fault on {self._rule.shown()}>"

    @property
    def hits(self) -> int:
        """How many requests have met it."""
        return int(self._ask("fault_hits", number=self._number))

    def clear(self) -> None:
        self._ask("clear_faults", number=self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()


class FaultPoint:
    """Some requests, of which one says next what becomes of them.

    `times`: of so many of them, then no more; without it, until the fault is cleared.
    `delay_ms`: after so long a wait.
    """

    __slots__ = ("_ask", "_numbers", "_rule")

    def __init__(self, ask: Ask, numbers: Iterator[int], rule: FaultRule) -> None:
        self._ask = ask
        self._numbers = numbers
        self._rule = rule

    def __repr__(self) -> str:
        return f"<FaultPoint on {self._rule.shown()}>"

    def error(self, error: str | int, times: int | None = None, *, delay_ms: int = 0) -> Fault:
        """They are not carried out but answered with this error, by its name or code.

        It stands where a client looks for it. With a topic or a partition, only there: the rest of the request is
        carried out. A Produce request without acks gets no answer; its connection closes, as it does with any error.
        """
        return self._install(error_code=_error_code(error), times=times, delay_ms=delay_ms)

    def delay(self, ms: int, times: int | None = None) -> Fault:
        """They wait so long, then are carried out and answered. What their connection sends next waits behind them."""
        if ms == 0:
            raise ValueError("a delay is a number of milliseconds above 0")
        return self._install(delay_ms=ms, times=times)

    def disconnect(self, times: int | None = None, *, delay_ms: int = 0) -> Fault:
        """Their connection is closed before they are carried out."""
        return self._install(disconnect=True, times=times, delay_ms=delay_ms)

    def drop_response(self, times: int | None = None, *, hang_ms: int | None = HANG_MS, delay_ms: int = 0) -> Fault:
        """They are carried out and never answered: their connection is silent for `hang_ms`, then the broker closes it.

        So a client notices after half a second, and not when its request timeout is over, which is half a minute with
        most. To see what that timeout does, give `hang_ms=None`: the connection stays open until the client closes it.
        """
        return self._install(drop_response=True, times=times, hang_ms=hang_ms, delay_ms=delay_ms)

    def _install(self, **what: "Unpack[What]") -> Fault:
        for name, value in what.items():
            if name != "error_code" and value is not None:
                _check_count(name, value)
        number, rule = next(self._numbers), self._rule._replace(**what)
        self._ask("install_fault", number=number, **rule._asdict())
        return Fault(self._ask, number, rule)


class Faults:
    """All faults of a broker."""

    __slots__ = ("_ask", "_numbers")

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._numbers = count(1)  # goes on when the broker is restarted: an old fault is not taken for a new one

    def on(
        self, api: str, topic: str | None = None, *, client_id: str | None = None, partition: int | None = None
    ) -> FaultPoint:
        """The requests of an API, by Kafka's name of it ("Produce"); those of one topic, partition or client alone."""
        try:
            key = apis.by_name(api).key
        except LookupError as error:
            raise ValueError(error.args[0]) from None
        for name, value in (("topic", topic), ("client_id", client_id)):
            _check_text(name, value)
        if topic is not None or partition is not None:
            _check_names_topics(api, key)
        if partition is not None:
            _check_count("partition", partition)
        return FaultPoint(self._ask, self._numbers, FaultRule(key, topic, partition, client_id))

    @property
    def hits(self) -> int:
        """How many requests have met a fault since the start."""
        return int(self._ask("fault_hits", number=None))

    def clear(self) -> None:
        """Ends all faults."""
        self._ask("clear_faults", number=None)


def _check_names_topics(api: str, key: int) -> None:
    """Nobody should wait for a fault that no request can meet."""
    from odradek.protocol import registry
    from odradek.testing.named_partitions import can_name_topics

    if not can_name_topics(registry.request(key)):
        raise ValueError(f"{api} requests name no topics: leave topic and partition out")


def _check_text(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is a string, not {value!r}")


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} is a whole number and at least 0, not {value!r}")


def _error_code(error: str | int) -> int:
    for row in errors.table():
        if error in (row.name, row.code):
            return row.code
    raise ValueError(f"There is no error {error!r}; names look like NOT_LEADER_OR_FOLLOWER, and 0 is none.")
