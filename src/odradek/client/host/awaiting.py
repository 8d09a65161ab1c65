"""How a program of asyncio waits for something that is told by a callback, in its own loop or in another thread."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any


def until_told(subscribe: Callable[[Callable[[Any], object]], object]) -> Generator[Any, None, None]:
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
