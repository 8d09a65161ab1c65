"""How a program of asyncio waits for something that is told by a callback, in its own loop or in another thread."""

import asyncio
from collections.abc import Callable, Generator


def until_told(subscribe: Callable[[Callable[[object], object]], object]) -> Generator[object, None, None]:
    """For an `__await__`: `subscribe` takes what is to be called once. A caller that is cancelled waits no more, and
    nothing else happens.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not told.done():
            told.set_result(None)

    def tell_loop(_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell)

    subscribe(tell_loop)
    yield from told


async def told_in_time(subscribe: Callable[[Callable[[object], object]], object], timeout: float) -> bool:
    """Whether it was told within so many seconds."""
    try:
        async with asyncio.timeout(timeout):
            await _Told(subscribe)
    except TimeoutError:
        return False
    return True


class _Told:
    __slots__ = ("_subscribe",)

    def __init__(self, subscribe: Callable[[Callable[[object], object]], object]) -> None:
        self._subscribe = subscribe

    def __await__(self) -> Generator[object, None, None]:
        return until_told(self._subscribe)
