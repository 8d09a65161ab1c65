"""Ctrl-C at any moment: it comes at once, the client works afterwards, and close() has nothing to wait for."""

import pytest

from client_programs import runs_well
from odradek.testing import Broker

# Strikes the main thread at random moments, each time when the last one has been heard.
STRIKES = """
SOON = 2  # on a machine that does much else
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs this in the background has it ignored
struck = threading.Event()
sent_at = 0.0

def strike(times, pause):
    global sent_at
    for _ in range(times):
        time.sleep(random.random() * pause)
        struck.clear()
        sent_at = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)
        if not struck.wait(30):
            print("an interrupt was not heard", file=sys.stderr, flush=True)
            os._exit(1)

def heard():
    seconds = time.monotonic() - sent_at
    struck.set()
    return seconds
"""


@pytest.fixture(scope="module")
def bootstrap():
    with Broker() as broker:
        broker.create_topic("orders")
        yield broker.bootstrap


def test_two_hundred_interrupts_of_calls(bootstrap):
    runs_well(
        STRIKES
        + """
admin = client()
before = settled(admin)
threading.Thread(target=strike, args=(200, 0.02), daemon=True).start()
waits = []
while len(waits) < 200:
    try:
        while True:
            admin.list_topics()
    except KeyboardInterrupt:
        waits.append(heard())
time.sleep(0.1)
assert max(waits) < SOON, max(waits)
assert "orders" in admin.list_topics()
assert held() == before, "the connection was never torn"
assert not admin._host._thread._waiting, "nothing is left of the calls"
began = time.monotonic()
admin.close()
assert time.monotonic() - began < SOON
assert io_threads() == []
""",
        bootstrap,
    )


def test_interrupts_of_the_first_call(bootstrap):
    runs_well(
        STRIKES
        + """
before = held()
for number in range(40):
    admin = client()
    striker = threading.Thread(target=strike, args=(1, 0.01), daemon=True)
    try:
        striker.start()
        while True:
            admin.list_topics()
    except KeyboardInterrupt:
        assert heard() < SOON
    striker.join()
    assert "orders" in admin.list_topics()
    began = time.monotonic()
    admin.close()
    assert time.monotonic() - began < SOON
    while io_threads():  # a second one, which leaves at once, may be about to begin
        assert time.monotonic() - began < 30
        time.sleep(0.001)
    del admin
import gc
gc.collect()
assert held() == before
""",
        bootstrap,
    )
