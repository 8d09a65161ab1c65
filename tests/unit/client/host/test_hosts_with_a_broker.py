"""A real client on each host, at a real broker: its threads, its cancellations, and how little it does when idle."""

import asyncio
import random
import threading
import time

import pytest
from host_kit import Elsewhere, open_files, threads

from odradek.channel.errors import ClientClosed
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.asyncio_admin_client import AdminClient as AsyncioAdminClient
from odradek.testing import Broker

IDLE_SECONDS = 2
TURNS_A_SECOND_MAX = 5


@pytest.fixture(scope="module")
def broker():
    with Broker() as made:
        made.create_topic("orders")
        yield made


def test_no_thread_and_no_connection_before_the_first_use_and_none_after_close(broker):
    before = open_files()
    admin = AdminClient(bootstrap_servers=broker.bootstrap)
    assert (threads("odradek-admin"), open_files()) == ([], before)
    assert "orders" in admin.list_topics()
    assert len(threads("odradek-admin")) == 1
    admin.close()
    admin.close()
    assert (threads("odradek-"), open_files()) == ([], before)
    with pytest.raises(ClientClosed):
        admin.list_topics()


def test_a_close_lets_go_who_waits_for_a_broker(broker):
    with broker.faults.on("Metadata", client_id="waits").delay(60_000):
        admin = AdminClient(bootstrap_servers=broker.bootstrap, client_id="waits")
        calling = Elsewhere(lambda: admin.list_topics(timeout=30))
        time.sleep(0.5)
        began = time.monotonic()
        admin.close()
        assert time.monotonic() - began < 2
        with pytest.raises(ClientClosed):
            calling.outcome()


def test_many_threads_ask_at_the_same_time(broker):
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        asking = [Elsewhere(lambda: ["orders" in admin.list_topics() for _ in range(10)]) for _ in range(8)]
        assert [caller.outcome(60) for caller in asking] == [[True] * 10] * 8
        assert len(threads("odradek-admin")) == 1


def test_in_asyncio_no_thread_is_started(broker):
    async def story():
        before = threading.enumerate()
        async with AsyncioAdminClient(bootstrap_servers=broker.bootstrap) as admin:
            found = await asyncio.gather(*(admin.list_topics() for _ in range(30)))
            assert all("orders" in topics for topics in found)
            assert threading.enumerate() == before

    asyncio.run(story())


def test_in_asyncio_any_moment_may_be_the_one_of_a_cancellation(broker):
    chance = random.Random(3)

    async def story():
        async with AsyncioAdminClient(bootstrap_servers=broker.bootstrap) as admin:
            for _ in range(150):
                try:
                    async with asyncio.timeout(chance.random() / 100):
                        await admin.list_topics()
                except TimeoutError:
                    pass
            assert "orders" in await admin.list_topics()

    asyncio.run(story())


def test_an_idle_client_in_a_thread_hardly_turns(broker):
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        admin.list_topics()
        loop = admin._host._thread._client.loop
        time.sleep(0.5)
        before = loop.turns
        time.sleep(IDLE_SECONDS)
        assert loop.turns - before < IDLE_SECONDS * TURNS_A_SECOND_MAX


def test_an_idle_client_in_asyncio_hardly_turns(broker):
    async def story():
        async with AsyncioAdminClient(bootstrap_servers=broker.bootstrap) as admin:
            await admin.list_topics()
            loop = admin._host._client.loop
            await asyncio.sleep(0.5)
            before = loop.turns
            await asyncio.sleep(IDLE_SECONDS)
            assert loop.turns - before < IDLE_SECONDS * TURNS_A_SECOND_MAX

    asyncio.run(story())
