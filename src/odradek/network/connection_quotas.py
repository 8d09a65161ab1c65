"""How many connections there may be, and how fast they may come: for the broker, a listener, an address.

- Too many of one address: the new one is closed.
- Too many of a listener or of the broker: nobody is accepted until one has closed. The listener between brokers is
  protected: it does not wait for the broker's limit, another listener's idlest connection goes instead.
- Too fast for a listener or the broker: accepting pauses. Too fast for an address: the new one is closed, but only
  after a while, so that trying again at once gains nothing.
"""

from array import array
from collections.abc import Callable

WINDOWS = 11  # Kafka's quota.window.num
WINDOW_MS = 1000
UNLIMITED = 2**31 - 1


class TooManyConnections(Exception):  # noqa: N818 - Kafka's word for it
    """An address has as many connections as it may."""


class ConnectionThrottled(Exception):  # noqa: N818
    """An address connects too fast: close it, but after `throttle_ms`."""

    def __init__(self, throttle_ms: int) -> None:
        super().__init__(throttle_ms)
        self.throttle_ms = throttle_ms


class ConnectionRate:
    """Connections per second over the last ten seconds or so, and how long to wait when they are too many.

    As many windows as matter, in two rings of plain numbers: a flood of connections leaves no objects behind.
    """

    __slots__ = ("_counts", "_last", "_starts", "limit", "throttle_ms")

    def __init__(self, limit: int = UNLIMITED) -> None:
        self.limit = limit
        self._starts = array("q", [-WINDOWS * WINDOW_MS] * WINDOWS)  # none has begun
        self._counts = array("q", bytes(8 * WINDOWS))
        self._last = 0  # the window that began last
        self.throttle_ms = 0  # of the last one

    def record(self, now_ms: int) -> int:
        """Counts one connection. Returns for how many milliseconds there should be no other."""
        if now_ms - self._starts[self._last] >= WINDOW_MS:
            self._last = (self._last + 1) % WINDOWS  # that one is over: windows begin a second apart at least
            self._starts[self._last] = now_ms
            self._counts[self._last] = 0
        self._counts[self._last] += 1
        self.throttle_ms = self._throttle_ms(now_ms)
        return self.throttle_ms

    def rate(self, now_ms: int) -> float:
        recent = [at for at, start_ms in enumerate(self._starts) if now_ms - start_ms < WINDOWS * WINDOW_MS]
        if not recent:
            return 0.0
        span_ms = max(now_ms - min(self._starts[at] for at in recent), (WINDOWS - 1) * WINDOW_MS)
        return sum(self._counts[at] for at in recent) * 1000 / span_ms

    def is_idle(self, now_ms: int) -> bool:
        return not self.rate(now_ms)

    def _throttle_ms(self, now_ms: int) -> int:
        if self.limit >= UNLIMITED:
            return 0
        rate = self.rate(now_ms)
        if rate <= self.limit:
            return 0
        span_ms = WINDOWS * WINDOW_MS
        return min(span_ms, round((rate - self.limit) / max(self.limit, 0.001) * span_ms))


class ConnectionQuotas:
    __slots__ = (
        "_by_address",
        "_by_listener",
        "_mono_ms",
        "_rates_by_address",
        "_rates_by_listener",
        "_waiting",
        "address_rate_limit",
        "address_rate_overrides",
        "listener_max",
        "max_connections",
        "max_per_address",
        "per_address_overrides",
        "protected_listener",
        "rate",
        "total",
    )

    def __init__(self, mono_ms: Callable[[], int], protected_listener: str) -> None:
        self._mono_ms = mono_ms
        self.protected_listener = protected_listener
        self.max_connections = UNLIMITED
        self.max_per_address = UNLIMITED
        self.per_address_overrides: dict[str, int] = {}
        self.listener_max: dict[str, int] = {}
        self.rate = ConnectionRate()
        self.address_rate_limit = UNLIMITED
        self.address_rate_overrides: dict[str, int] = {}
        self.total = 0
        self._by_listener: dict[str, int] = {}
        self._by_address: dict[str, int] = {}
        self._rates_by_listener: dict[str, ConnectionRate] = {}
        self._rates_by_address: dict[str, ConnectionRate] = {}
        self._waiting: list[Callable[[], object]] = []

    # Listeners

    def add_listener(self, listener: str) -> None:
        self._by_listener.setdefault(listener, 0)
        self._rates_by_listener.setdefault(listener, ConnectionRate())

    def listener_rate(self, listener: str) -> ConnectionRate:
        return self._rates_by_listener[listener]

    def is_protected(self, listener: str) -> bool:
        """Whether connections of other listeners make room for those of this one; the only listener has no others."""
        return listener == self.protected_listener and len(self._by_listener) > 1

    # Connections

    def count_of(self, listener: str) -> int:
        return self._by_listener.get(listener, 0)

    def has_slot(self, listener: str) -> bool:
        if self.count_of(listener) >= self.listener_max.get(listener, UNLIMITED):
            return False
        return self.is_protected(listener) or self.total < self.max_connections

    def exceeds_total(self) -> bool:
        """Whether there are more connections than the broker may have: that does not hold a protected listener back."""
        return self.total > self.max_connections

    def when_slot(self, callback: Callable[[], object]) -> None:
        """Calls back once, when a connection has closed or a limit was raised."""
        self._waiting.append(callback)

    def record_rate(self, listener: str) -> int:
        """Counts one that was accepted. Returns for how many milliseconds no other should be."""
        now_ms = self._mono_ms()
        own_ms = self._rates_by_listener[listener].record(now_ms)
        broker_ms = self.rate.record(now_ms)
        return own_ms if self.is_protected(listener) else max(own_ms, broker_ms)

    def add(self, listener: str, address: str) -> None:
        """Counts a new connection, or raises if it must not stay; then it is not counted."""
        self._check_address_rate(address)
        count = self._by_address.get(address, 0)
        if count >= self.per_address_overrides.get(address, self.max_per_address):
            raise TooManyConnections(f"{address} has {count} connections already")
        self._by_address[address] = count + 1
        self._by_listener[listener] = self._by_listener.get(listener, 0) + 1
        self.total += 1

    def remove(self, listener: str, address: str) -> None:
        self.total -= 1
        if listener in self._by_listener:
            self._by_listener[listener] -= 1
        left = self._by_address[address] - 1
        if left:
            self._by_address[address] = left
        else:
            del self._by_address[address]
        self.tell_waiting()

    def tell_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()

    def _check_address_rate(self, address: str) -> None:
        limit = self.address_rate_overrides.get(address, self.address_rate_limit)
        if limit >= UNLIMITED:
            return
        now_ms = self._mono_ms()
        rate = self._rates_by_address.get(address)
        if rate is None:
            self._forget_idle_addresses(now_ms)
            rate = self._rates_by_address[address] = ConnectionRate()
        rate.limit = limit
        throttle_ms = rate.record(now_ms)
        if throttle_ms:
            raise ConnectionThrottled(throttle_ms)

    def _forget_idle_addresses(self, now_ms: int) -> None:
        """Drops addresses that have no connection: the table must not grow with every address that ever came."""
        if len(self._rates_by_address) >= 1024 and not len(self._rates_by_address) & 1023:
            idle = [address for address, rate in self._rates_by_address.items() if rate.is_idle(now_ms)]
            for address in idle:
                del self._rates_by_address[address]
