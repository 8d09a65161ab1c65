"""A producer in programs that fork, end without closing it, and are interrupted: nothing is lost in silence."""

import pytest
from test_client_interrupts import STRIKES

from client_programs import run_program, runs_well, seconds_to_end
from odradek import AdminClient, KafkaConsumer, TopicPartition
from odradek.testing import Broker
from patience import Patience

SOON_SECONDS = 3
EXIT_SECONDS_MAX = 6  # five to deliver, and one to end

PRELUDE = """
import logging
from odradek import KafkaProducer, errors
from odradek.client.host.errors import ForkedClientError

def producer(**configs):
    return KafkaProducer(bootstrap_servers=BOOTSTRAP, **configs)
"""


@pytest.fixture(scope="module")
def bootstrap():
    with Broker() as broker:
        yield broker.bootstrap


@pytest.fixture
def topic(bootstrap, request):
    name = f"topic-{abs(hash(request.node.name))}"
    with AdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topic(name, partitions=1, replication=1)
    return name


def read(bootstrap, topic):
    """The values that stand in the topic, in their order."""
    place = TopicPartition(topic, 0)
    found = []
    with KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False) as consumer:
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        end = consumer.end_offsets([place])[place]
        in_time = Patience()
        while in_time() and consumer.position(place) < end:
            found += [record.value for record in consumer.poll(1.0)]
    return found


class TestFork:
    @pytest.mark.contract("A134")
    def test_children_send_by_themselves_and_the_parent_goes_on(self, bootstrap, topic):
        """As servers with workers do: made and used before the fork, then used by all at once."""
        runs_well(
            PRELUDE
            + f"""
sender = producer(linger_ms=20)
sender.send({topic!r}, b"first").result(20)
for number in range(50):
    sender.send({topic!r}, b"parent-%d" % number)

def work(name):
    def run():
        for number in range(50):
            future = sender.send({topic!r}, b"%s-%d" % (name, number))
        sender.close(20)
        assert future.done()
    return run

children = [in_child(work(b"child%d" % number)) for number in range(4)]
for number in range(50, 100):
    sender.send({topic!r}, b"parent-%d" % number)
ended_well(*children)
sender.close(20)
""",
            bootstrap,
        )
        found = read(bootstrap, topic)
        wanted = {b"first"} | {b"parent-%d" % number for number in range(100)}
        wanted |= {b"child%d-%d" % (child, number) for child in range(4) for number in range(50)}
        assert len(found) == len(set(found))
        assert set(found) == wanted

    def test_a_future_of_the_parent_is_no_future_of_the_child(self, bootstrap, topic):
        runs_well(
            PRELUDE
            + f"""
sender = producer(linger_ms=2000)
sender.partitions_for({topic!r})
future = sender.send({topic!r}, b"v")

def work():
    try:
        future.result(5)
    except ForkedClientError:
        return
    raise AssertionError("it waited for its parent")

ended_well(in_child(work))
future.result(20)
sender.close(5)
""",
            bootstrap,
        )

    def test_a_transaction_cannot_be_in_two_processes(self, bootstrap, topic):
        runs_well(
            PRELUDE
            + f"""
sender = producer(transactional_id="forked")
sender.init_transactions(20)
sender.begin_transaction()
sender.send({topic!r}, b"v").result(20)

def work():
    for call in (lambda: sender.send({topic!r}, b"w"), sender.commit_transaction):
        try:
            call()
        except ForkedClientError:
            continue
        raise AssertionError("it was taken")

ended_well(in_child(work))
sender.commit_transaction(20)
sender.close(5)
""",
            bootstrap,
        )


class TestExit:
    ENDINGS = {
        "without close": ("", 0, ""),
        "with a status": ("sys.exit(3)", 3, ""),
        "by an exception": ("1 / 0", 1, "ZeroDivisionError: division by zero"),
    }

    @pytest.mark.contract("A135")
    @pytest.mark.parametrize("ending", ENDINGS)
    def test_what_was_sent_is_delivered(self, bootstrap, topic, ending):
        line, status, said = self.ENDINGS[ending]
        text = f"""
sender = producer(linger_ms=2000)
for number in range(500):
    sender.send({topic!r}, b"%d" % number)
print(time.monotonic(), flush=True)
{line}
"""
        done, seconds = seconds_to_end(PRELUDE + text, bootstrap)
        assert done.returncode == status
        assert done.stderr.rstrip().endswith(said)
        assert "not delivered" not in done.stderr
        assert seconds < SOON_SECONDS
        assert read(bootstrap, topic) == [b"%d" % number for number in range(500)]

    def test_what_cannot_be_delivered_is_counted_in_one_line(self):
        with Broker() as broker:
            text = f"""
sender = producer(linger_ms=100_000, delivery_timeout_ms=200_000)
sender.send("orders", b"v")
sender.flush(20)
for number in range(7):
    sender.send("orders", b"%d" % number)
os.kill({broker.pid}, signal.SIGKILL)
print(time.monotonic(), flush=True)
"""
            done, seconds = seconds_to_end(PRELUDE + text, broker.bootstrap)
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        counted = [line for line in lines if not line.endswith("; it is tried again")]  # what it waits for is said, too
        assert len(counted) == 1, done.stderr
        assert counted[0].startswith("7 records were not delivered")
        assert seconds < EXIT_SECONDS_MAX + 3

    def test_a_producer_that_never_reached_a_broker_ends_soon(self):
        text = """
sender = KafkaProducer(bootstrap_servers="127.0.0.1:1", max_block_ms=300)
try:
    sender.send("orders", b"v")
except errors.KafkaError as error:
    assert "127.0.0.1:1" in str(error), error
print(time.monotonic(), flush=True)
"""
        done, seconds = seconds_to_end(PRELUDE + text, "unused:1")
        assert (done.returncode, done.stderr) == (0, "")
        assert seconds < SOON_SECONDS

    def test_a_dropped_producer_delivers_and_warns(self, bootstrap, topic):
        text = f"""
sender = producer(linger_ms=2000)
sender.send({topic!r}, b"v")
del sender
deadline = time.monotonic() + 20
while any("network-thread" in thread.name for thread in threading.enumerate()):
    assert time.monotonic() < deadline
    time.sleep(0.01)
"""
        done = run_program(PRELUDE + text, bootstrap, "-W", "always::ResourceWarning")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("dropped without close()") == 1
        assert read(bootstrap, topic) == [b"v"]


def test_interrupts_of_send_flush_and_result(bootstrap, topic):
    """Each record that `send` has returned for is there once; one that was interrupted in it once, or not at all."""
    told = runs_well(
        STRIKES
        + PRELUDE
        + f"""
sender = producer(linger_ms=1, buffer_memory=50_000, batch_size=2000)
sender.send({topic!r}, b"first").result(20)
threading.Thread(target=strike, args=(300, 0.01), daemon=True).start()
waits, sent, number = [], [], 0
while len(waits) < 300:
    try:
        while True:
            number += 1
            future = sender.send({topic!r}, b"%0100d" % number)
            sent.append(number)
            if number % 50 == 0:
                future.result(20)
            if number % 70 == 0:
                sender.flush(20)
    except KeyboardInterrupt:
        waits.append(heard())
assert max(waits) < SOON, max(waits)
began = time.monotonic()
sender.close(20)
assert time.monotonic() - began < SOON
print(*sent)
""",
        bootstrap,
    )
    sent = [int(word) for word in told.split()]
    found = [int(value) for value in read(bootstrap, topic) if value != b"first"]
    assert len(found) == len(set(found))
    assert set(sent) <= set(found)
    assert found == sorted(found)
