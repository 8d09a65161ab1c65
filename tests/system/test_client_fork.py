"""A client in programs that fork: servers with workers, multiprocessing, threads that are in the middle of a call."""

import pytest

from client_programs import runs_well
from odradek.testing import Broker


@pytest.fixture(scope="module")
def bootstrap():
    with Broker() as broker:
        broker.create_topic("orders")
        yield broker.bootstrap


def test_a_client_that_was_made_before_the_fork_works_in_the_children(bootstrap):
    runs_well(
        """
admin = client()

def work():
    assert "orders" in admin.list_topics()
    assert len(io_threads()) == 1
    admin.close()
    assert io_threads() == []

assert io_threads() == []
ended_well(*[in_child(work) for _ in range(4)])
assert "orders" in admin.list_topics()
admin.close()
""",
        bootstrap,
    )


def test_a_client_that_was_used_begins_anew_in_the_child_and_its_parent_does_not_notice(bootstrap):
    runs_well(
        """
admin = client()
before = held()
parents = settled(admin)
assert parents[0] > before[0], "it has a connection"

def work():
    assert io_threads() == [], "a thread does not come along"
    assert held() == before, "what came along is closed"
    for _ in range(3):
        assert "orders" in admin.list_topics()
    assert len(io_threads()) == 1
    assert not held()[0] & parents[0], "the connection is its own"
    admin.close()
    assert held() == before

for _ in range(5):
    ended_well(in_child(work))
    assert "orders" in admin.list_topics()
    assert held() == parents, "the same connection"
    assert len(io_threads()) == 1
admin.close()
assert held() == before
""",
        bootstrap,
    )


def test_a_child_may_leave_its_client_unused_or_close_it(bootstrap):
    runs_well(
        """
admin = client()
parents = settled(admin)
ended_well(in_child(lambda: None), in_child(admin.close))

child = os.fork()
if not child:
    sys.exit(0)  # with all that a program does at its end
ended_well(child)

child = os.fork()
if not child:
    admin.list_topics()
    sys.exit(0)
ended_well(child)
assert "orders" in admin.list_topics()
assert held() == parents
""",
        bootstrap,
    )


def test_a_child_of_a_child(bootstrap):
    runs_well(
        """
admin = client()
admin.list_topics()

def work():
    mine = settled(admin)
    def deeper():
        assert "orders" in admin.list_topics()
        assert not held()[0] & mine[0]
    ended_well(in_child(deeper))
    assert "orders" in admin.list_topics()
    assert held() == mine

ended_well(in_child(work))
""",
        bootstrap,
    )


def test_a_client_that_cannot_be_in_two_processes_says_so_in_the_child(bootstrap):
    runs_well(
        """
from odradek.client.host.errors import ForkedClientError
from odradek.client.host.thread_host import ThreadHost

class Member:
    def __init__(self, loop):
        pass
    async def close(self, timeout_ms):
        pass
    async def name(self):
        return "me"

host = ThreadHost("member", Member, is_one_process=True)
unused = ThreadHost("unused", Member, is_one_process=True)
assert host.run(lambda member: member.name()) == "me"

def work():
    for _ in range(2):
        try:
            host.run(lambda member: member.name())
        except ForkedClientError:
            continue
        raise AssertionError("it was used in two processes")
    assert unused.run(lambda member: member.name()) == "me", "it is in one process only"
    host.close(1000)

ended_well(in_child(work))
assert host.run(lambda member: member.name()) == "me"
host.close(1000)
""",
        bootstrap,
    )


def test_four_processes_of_multiprocessing_at_once(bootstrap):
    runs_well(
        """
import multiprocessing

admin = client()
parents = settled(admin)

def work(number):
    admin.create_topic(f"from-{os.getppid()}-{number}")

fork = multiprocessing.get_context("fork")
workers = [fork.Process(target=work, args=(number,)) for number in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
    assert worker.exitcode == 0
assert {f"from-{os.getpid()}-{number}" for number in range(4)} <= set(admin.list_topics())
assert held() == parents
""",
        bootstrap,
    )


def test_a_fork_while_other_threads_are_in_a_call(bootstrap):
    runs_well(
        """
admin = client()
parents = settled(admin)
stopped = threading.Event()
failures = []

def call():
    try:
        while not stopped.is_set():
            admin.list_topics()
    except BaseException as error:
        failures.append(error)

def work():
    assert not held()[0] & parents[0], "what came along is closed"
    assert "orders" in admin.list_topics()
    admin.close()

callers = [threading.Thread(target=call) for _ in range(3)]
for caller in callers:
    caller.start()
for _ in range(15):
    ended_well(in_child(work))
stopped.set()
for caller in callers:
    caller.join()
assert failures == []
assert held() == parents
""",
        bootstrap,
    )


def test_a_fork_while_another_thread_closes_leaves_nothing_open_in_the_child(bootstrap):
    runs_well(
        """
from odradek.client.host.thread_host import ThreadHost

class Slow:
    def __init__(self, loop):
        self.loop = loop
    async def close(self, timeout_ms):
        await self.loop.sleep(1000)
    async def name(self):
        return "me"

before = held()
host = ThreadHost("slow", Slow)
host.run(lambda slow: slow.name())
closing = threading.Thread(target=host.close, args=(5000,))
closing.start()
time.sleep(0.2)

def work():
    assert held() == before
    host.close(5000)

ended_well(in_child(work))
closing.join()
assert held() == before
""",
        bootstrap,
    )


def test_a_client_of_asyncio_stays_with_the_parent(bootstrap):
    runs_well(
        """
import asyncio
from odradek.client.admin.asyncio_admin_client import AdminClient as AsyncioAdminClient
from odradek.client.host.errors import ForkedClientError

async def story():
    before = held()
    admin = AsyncioAdminClient(bootstrap_servers=BOOTSTRAP)
    for _ in range(10):
        assert "orders" in await admin.list_topics()
        await asyncio.sleep(0.02)
    parents = held()

    def work():
        assert held() == before, "what came along is closed"
        try:
            asyncio.run(admin.list_topics())
        except ForkedClientError:
            asyncio.run(admin.close())
        else:
            raise AssertionError("it was used in two processes")

    ended_well(in_child(work))
    assert "orders" in await admin.list_topics()
    assert held() == parents
    await admin.close()
    assert held() == before

asyncio.run(story())
""",
        bootstrap,
    )
