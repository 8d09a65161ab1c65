"""How the admin client asks: about several items at once, each with an outcome of its own, until its time is up.

An attempt asks about all items that have no final outcome yet. It routes them itself: to the controller, to the leaders
of partitions, to the coordinators of groups; where an item belongs is found out anew in each attempt, because that it
has moved is what most attempts fail for. Errors that may pass are waited out; at the end of the time an item is told
what its last attempt has failed with.
"""

from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from typing import TypeVar

from odradek.channel.backoff import Backoff
from odradek.channel.channel import Channel
from odradek.channel.core import ByVersion, Destination
from odradek.client.admin.results import Results
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import (
    KafkaError,
    NetworkException,
    RequestTimedOut,
    UnknownServerError,
    UnknownTopicOrPartition,
    by_code,
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
R = TypeVar("R", bound=Response)

UNKNOWN_TOPIC_TRIES = 5  # a new topic is told of everywhere within a second; one with a typing error never is

Passing = tuple[type[KafkaError], ...]


class Asker:
    __slots__ = ("_backoff", "_mono_ms", "_request_timeout_ms", "_retries", "_timeout_ms", "channel", "loop")

    def __init__(self, channel: Channel, *, timeout_ms: int, retries: int) -> None:
        """`timeout_ms` is default.api.timeout.ms."""
        config = channel.client.config
        self.channel = channel
        self.loop = channel.loop
        self._mono_ms = channel.loop.ports.clock.mono_ms
        self._backoff = Backoff(
            config.retry_backoff_ms, config.retry_backoff_max_ms, channel.loop.ports.rng.stream("admin")
        )
        self._request_timeout_ms = config.request_timeout_ms
        self._timeout_ms = timeout_ms
        self._retries = retries

    async def close(self, timeout_ms: int) -> None:
        self.channel.close()

    async def each(
        self,
        items: Iterable[K],
        attempt: Callable[[list[K], int], Coroutine[object, None, Mapping[K, V | KafkaError]]],
        *,
        timeout: float | None = None,
        passing: Passing = (),
    ) -> Results[K, V]:
        """`attempt(items, timeout_ms)` gives the outcome of each; a KafkaError that it raises is that of all of them.

        `passing` are the errors that are tried again, besides those of the network.
        """
        timeout_ms = self._timeout_ms if timeout is None else int(timeout * 1000)
        deadline_ms = self._mono_ms() + timeout_ms
        waiting = list(dict.fromkeys(items))
        outcomes: dict[K, V | KafkaError] = dict.fromkeys(waiting, _forgotten())
        failures = 0
        while waiting:
            left_ms = max(0, deadline_ms - self._mono_ms())
            found = await _tried(attempt, waiting, min(left_ms, self._request_timeout_ms))
            outcomes.update((item, found[item]) for item in waiting if item in found)
            failures += 1
            waiting = [item for item in waiting if self._may_pass(outcomes[item], passing, failures)]
            wait_ms = self._backoff.after(failures)
            if waiting and self._mono_ms() + wait_ms >= deadline_ms:
                outcomes.update((item, _too_late(outcomes[item], timeout_ms)) for item in waiting)
                break
            if waiting:
                self.channel.metadata.request_update(resets_backoff=False)
                await self.loop.sleep(wait_ms)
        return Results(outcomes)

    async def one(
        self,
        attempt: Callable[[int], Coroutine[object, None, T]],
        *,
        timeout: float | None = None,
        passing: Passing = (),
    ) -> T:
        """What one question gives, asked again as `each` does."""

        async def only(_: list[str], timeout_ms: int) -> dict[str, T | KafkaError]:
            return {"": await attempt(timeout_ms)}

        return (await self.each([""], only, timeout=timeout, passing=passing))[""]

    async def send(self, where: Destination, request: Request | ByVersion, response: type[R], timeout_ms: int) -> R:
        """One request; `response` is what its answer is."""
        answer: R = await self.channel.send(where, request, timeout_ms=timeout_ms)
        return answer

    async def spread(
        self,
        places: Mapping[K, Destination | KafkaError],
        ask: Callable[[Destination, list[K]], Coroutine[object, None, Mapping[K, V | KafkaError]]],
    ) -> dict[K, V | KafkaError]:
        """Asks every place about its items, all at the same time. An item without a place keeps why it has none."""
        outcomes: dict[K, V | KafkaError] = {}
        by_place: dict[Destination, list[K]] = {}
        for item, place in places.items():
            if isinstance(place, KafkaError):
                outcomes[item] = place
            else:
                by_place.setdefault(place, []).append(item)
        asked = [(items, self.loop.spawn(ask(place, items))) for place, items in by_place.items()]
        try:
            for items, answered in asked:
                try:
                    outcomes.update(await answered)
                except KafkaError as error:
                    outcomes.update(dict.fromkeys(items, error))
        finally:
            for _, answered in asked:  # whoever asked may have been cancelled
                answered.cancel()
        return outcomes

    def _may_pass(self, outcome: object, passing: Passing, failures: int) -> bool:
        if failures > self._retries:
            return False
        if isinstance(outcome, UnknownTopicOrPartition) and failures >= UNKNOWN_TOPIC_TRIES:
            return False
        return isinstance(outcome, (NetworkException, *passing))


async def _tried(
    attempt: Callable[[list[K], int], Coroutine[object, None, Mapping[K, V | KafkaError]]],
    items: list[K],
    timeout_ms: int,
) -> Mapping[K, V | KafkaError]:
    try:
        return await attempt(items, timeout_ms)
    except KafkaError as error:
        return dict.fromkeys(items, error)


def outcome(code: int, message: str | None, value: V) -> V | KafkaError:
    """What an error code and its message stand for: the value if there is no error."""
    return by_code(code)(message or None) if code else value


def _forgotten() -> KafkaError:
    return UnknownServerError("The broker's answer does not mention it.")


def _too_late(last: object, timeout_ms: int) -> KafkaError:
    why = last.message if isinstance(last, KafkaError) else ""
    return RequestTimedOut(f"It was not done within {timeout_ms / 1000:g} s. The last attempt failed: {why}")
