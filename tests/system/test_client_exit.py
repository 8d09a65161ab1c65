"""The end of programs that use a client: unclosed, with a status, by an exception, dropped."""

import pytest

from client_programs import run_program, runs_well, seconds_to_end
from odradek.testing import Broker

SOON_SECONDS = 3  # a client that is waited for in vain takes twice as long


@pytest.fixture(scope="module")
def bootstrap():
    with Broker() as broker:
        yield broker.bootstrap


def test_a_program_that_never_closes_its_client_ends_soon_and_well(bootstrap):
    done, seconds = seconds_to_end("admin = client(); admin.list_topics(); print(time.monotonic())", bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    assert seconds < SOON_SECONDS


def test_a_status_is_kept(bootstrap):
    text = "admin = client(); admin.list_topics(); print(time.monotonic(), flush=True); sys.exit(3)"
    done, seconds = seconds_to_end(text, bootstrap)
    assert (done.returncode, done.stderr) == (3, "")
    assert seconds < SOON_SECONDS


def test_an_exception_ends_a_program_as_ever(bootstrap):
    text = "admin = client(); admin.list_topics(); print(time.monotonic(), flush=True); 1 / 0"
    done, seconds = seconds_to_end(text, bootstrap)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")
    assert done.stderr.count("Traceback") == 1
    assert seconds < SOON_SECONDS


def test_a_program_may_end_while_a_thread_is_in_a_call(bootstrap):
    text = """
admin = client()
def call():
    try:
        while True:
            admin.list_topics()
    except Exception as error:
        print(type(error).__name__, flush=True)
threading.Thread(target=call, daemon=True).start()
time.sleep(0.3)
print(time.monotonic(), flush=True)
"""
    done = run_program(text, bootstrap)
    assert (done.returncode, done.stderr) == (0, "")


def test_several_clients_are_closed_at_the_same_time(bootstrap):
    text = """
from odradek.client.host.thread_host import ThreadHost
class Slow:
    def __init__(self, loop):
        self.loop = loop
    async def close(self, timeout_ms):
        await self.loop.sleep(1000)
        os.write(1, b"%f\\n" % time.monotonic())
    async def name(self):
        return "me"
hosts = [ThreadHost("slow", Slow) for _ in range(8)]
for host in hosts:
    host.run(lambda slow: slow.name())
print(time.monotonic(), flush=True)
"""
    done = run_program(text, bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    ended, *closed = map(float, done.stdout.split())
    assert len(closed) == 8
    assert max(closed) - ended < 5


def test_a_client_at_work_in_a_program_of_asyncio_that_ends(bootstrap):
    text = """
import asyncio
from odradek.client.admin.asyncio_admin_client import AdminClient as AsyncioAdminClient
async def story():
    global admin
    admin = AsyncioAdminClient(bootstrap_servers=BOOTSTRAP)
    await admin.list_topics()
asyncio.run(story())
print(time.monotonic())
"""
    done, seconds = seconds_to_end(text, bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    assert seconds < SOON_SECONDS


def test_who_drops_a_client_is_warned_and_its_thread_ends(bootstrap):
    text = """
admin = client()
admin.list_topics()
del admin
deadline = time.monotonic() + 10
while io_threads():
    assert time.monotonic() < deadline
    time.sleep(0.01)
print("gone")
"""
    done = run_program(text, bootstrap, "-W", "error::ResourceWarning")
    assert (done.returncode, done.stdout) == (0, "gone\n")
    assert "ResourceWarning: a AdminClient was dropped without close()" in done.stderr
    assert runs_well(text, bootstrap) == "gone\n", "a program is not told unless it asks for warnings"
