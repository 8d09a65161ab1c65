"""A client inside of asyncio: no thread, awaits that may be cancelled, and nobody left waiting at its end."""

import asyncio
import random
import socket
import threading
import time

import pytest
from host_kit import Talk, open_files

from odradek.channel.errors import ClientClosed
from odradek.client.host.asyncio_host import AsyncioHost


def echo(host, value, after_ms=0):
    return host.run(lambda talk: talk.echo(value, after_ms))


def itself(host):
    return host.run(lambda talk: talk.itself())


def never(host):
    return host.run(lambda talk: talk.never())


def within(story, seconds=60):
    """Runs it to its end, with a host that is closed behind it."""

    async def told():
        host = AsyncioHost(Talk)
        try:
            return await asyncio.wait_for(story(host), seconds)
        finally:
            await host.close(1000)

    return asyncio.run(told())


def test_there_is_nothing_before_the_first_use_and_nothing_after_close_and_never_a_thread():
    async def story(host):
        before = threading.enumerate(), open_files()
        assert await echo(host, 1) == 1
        assert threading.enumerate() == before[0]
        assert open_files() > before[1]
        await host.close(1000)
        await host.close(1000)
        assert open_files() == before[1]
        with pytest.raises(ClientClosed, match="was closed"):
            await echo(host, 1)

    within(story)


def test_many_await_at_the_same_time():
    async def story(host):
        assert await asyncio.gather(*(echo(host, number, number % 7) for number in range(500))) == list(range(500))

    within(story)


def test_an_error_is_raised_where_it_is_awaited():
    async def story(host):
        with pytest.raises(KeyError, match="no such thing"):
            await host.run(lambda talk: talk.fail(KeyError("no such thing")))
        assert await echo(host, 1) == 1

    within(story)


def test_an_await_may_be_cancelled_at_any_moment():
    chance = random.Random(5)

    async def story(host):
        cancelled = 0
        for number in range(300):
            try:
                async with asyncio.timeout(chance.random() / 300):
                    assert await echo(host, number, chance.randrange(4)) == number
            except TimeoutError:
                cancelled += 1
        assert 0 < cancelled < 300
        assert await echo(host, "still there") == "still there"

    within(story)


def test_what_was_cancelled_is_cancelled_in_the_client():
    async def waits(talk):
        try:
            await talk.never()
        finally:
            cleaned.set_result(True)

    async def story(host):
        nonlocal cleaned
        cleaned = asyncio.get_running_loop().create_future()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(host.run(waits), 0.05)
        assert await asyncio.wait_for(cleaned, 5)

    cleaned = None
    within(story)


def test_a_close_lets_go_who_awaits():
    async def story(host):
        waiting = [asyncio.ensure_future(never(host)) for _ in range(3)]
        await echo(host, 1)
        await host.close(1000)
        for one in waiting:
            with pytest.raises(ClientClosed, match="under way"):
                await asyncio.wait_for(one, 5)

    within(story)


def test_a_session_that_does_not_come_to_an_end_is_ended_with_its_connections(caplog):
    async def story(host):
        with socket.create_server(("127.0.0.1", 0)) as server:
            before = open_files()
            await host.run(lambda talk: talk.connect(*server.getsockname()))
            (await itself(host)).close_takes_ms = 60_000
            began = time.monotonic()
            await host.close(50)
            assert time.monotonic() - began < 10
            assert open_files() == before

    within(story)
    assert "could not be closed in an orderly way within 50 ms" in caplog.text


def test_a_session_that_cannot_begin_leaves_nothing_open_and_may_be_tried_again():
    tries = []

    def begin(loop):
        tries.append(loop)
        if len(tries) == 1:
            raise OSError("not yet")
        return Talk(loop)

    async def story(_):
        host = AsyncioHost(begin)
        before = open_files()
        with pytest.raises(OSError, match="not yet"):
            await echo(host, 1)
        assert open_files() == before
        assert await echo(host, 2) == 2
        await host.close(1000)

    within(story)


def test_it_belongs_to_one_loop():
    async def story(host):
        await echo(host, 1)

        def elsewhere(call):
            with pytest.raises(RuntimeError, match="another asyncio loop"):
                asyncio.run(call)

        await asyncio.to_thread(elsewhere, echo(host, 2))
        await asyncio.to_thread(elsewhere, host.close(1000))
        assert await echo(host, 3) == 3

    within(story)


def test_it_may_be_closed_when_its_loop_is_no_more():
    before = open_files()
    host = AsyncioHost(Talk)
    asyncio.run(echo(host, 1))
    with pytest.raises(RuntimeError, match="another asyncio loop"):
        asyncio.run(echo(host, 2))
    asyncio.run(host.close(1000))
    assert open_files() == before


def test_a_program_that_blocks_its_loop_goes_on_well_afterwards():
    async def story(host):
        waiting = [asyncio.ensure_future(echo(host, number, 100)) for number in range(10)]
        await asyncio.sleep(0)
        time.sleep(1)
        assert await asyncio.gather(*waiting) == list(range(10))
        began = time.monotonic()
        assert await echo(host, 1, 50) == 1
        assert time.monotonic() - began < 5

    within(story)


def test_a_handler_that_raises_is_logged_and_the_client_goes_on(caplog):
    async def schedule(talk):
        talk.loop.after(0, lambda: 1 // 0)

    async def story(host):
        await host.run(schedule)
        assert await echo(host, 1, 50) == 1

    within(story)
    assert "ZeroDivisionError" in caplog.text


def test_if_the_loop_ends_all_the_same_nobody_waits_in_vain(caplog):
    async def break_the_loop(talk):
        talk.loop._on_error = talk.loop  # not callable: the turn itself fails
        talk.loop.after(10, lambda: 1 // 0)

    async def story(host):
        waiting = [asyncio.ensure_future(never(host)) for _ in range(3)]
        await host.run(break_the_loop)
        for one in waiting:
            with pytest.raises(ClientClosed, match="not callable"):
                await asyncio.wait_for(one, 5)
        with pytest.raises(ClientClosed, match="not callable"):
            await echo(host, 1)

    within(story)
    assert "has ended" in caplog.text


def test_an_idle_client_hardly_turns():
    async def story(host):
        with socket.create_server(("127.0.0.1", 0)) as server:
            await host.run(lambda talk: talk.connect(*server.getsockname()))
            loop = (await itself(host)).loop
            await asyncio.sleep(0.2)
            before = loop.turns
            await asyncio.sleep(2)
            assert loop.turns - before < 10

    within(story)
