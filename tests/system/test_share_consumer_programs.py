"""A share consumer in programs that fork, that end without a word, and that are interrupted at any moment."""

import time

import pytest
from test_client_exit import SOON_SECONDS

from client_programs import runs_well, seconds_to_end
from odradek import AdminClient, KafkaProducer
from odradek.admin import ConfigChange, ConfigResource
from odradek.testing import Broker

RECORDS = 600
CONFIGS = {
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.heartbeat.interval.ms": 200,
    "group.share.min.assignment.interval.ms": 0,
    "group.share.assignment.interval.ms": 0,
}
CONSUMER = """
from odradek import ShareConsumer
from odradek.client.host.errors import ForkedClientError

def consumer(group, **configs):
    return ShareConsumer("jobs", bootstrap_servers=BOOTSTRAP, group_id=group, fetch_max_wait_ms=100, **configs)

def some(reader):
    deadline = time.monotonic() + 60
    while not (found := reader.poll(1.0)):
        assert time.monotonic() < deadline
    return found
"""


@pytest.fixture(scope="module")
def broker():
    with Broker(config=CONFIGS) as broker:
        broker.create_topic("jobs", partitions=1)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send_many("jobs", [b"%d" % number for number in range(RECORDS)]).result()
        yield broker


@pytest.fixture
def group(broker, request):
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        resource = ConfigResource.group(request.node.name)
        admin.incremental_alter_configs({resource: [ConfigChange("share.auto.offset.reset", "earliest")]})[resource]
    return request.node.name


def until_empty(broker, group):
    deadline = time.monotonic() + 100
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        while admin.describe_share_groups([group])[group].members:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_one_that_has_a_place_in_a_group_cannot_be_in_two_processes(broker, group):
    runs_well(
        CONSUMER
        + f"GROUP = {group!r}"
        + """
reader = consumer(GROUP)
some(reader)

def work():
    for call in (reader.poll, reader.commit_sync, reader.unsubscribe):
        try:
            call()
        except ForkedClientError:
            continue
        raise AssertionError(call)

ended_well(in_child(work), in_child(work))
assert list(reader.commit_sync().values()) == [None], "the parent does not notice"
reader.close()
""",
        broker.bootstrap,
    )


def test_a_program_that_never_closes_leaves_its_group_and_gives_back_what_it_has(broker, group):
    text = CONSUMER + f"reader = consumer({group!r}); some(reader); print(time.monotonic(), flush=True)"
    done, seconds = seconds_to_end(text, broker.bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    assert seconds < SOON_SECONDS
    until_empty(broker, group)
    runs_well(CONSUMER + f"assert some(consumer({group!r}))[0].delivery_count == 2", broker.bootstrap)


def test_one_that_was_dropped_is_closed_with_a_warning(broker, group):
    done, _ = seconds_to_end(
        CONSUMER
        + f"GROUP = {group!r}"
        + """
import gc
reader = consumer(GROUP)
some(reader)
del reader
gc.collect()
deadline = time.monotonic() + 100
while io_threads():
    assert time.monotonic() < deadline
    time.sleep(0.01)
print(time.monotonic(), flush=True)
""",
        broker.bootstrap,
        "-X",
        "dev",
    )
    assert done.returncode == 0 and "ResourceWarning" in done.stderr, done.stderr
    until_empty(broker, group)


def test_hundreds_of_interrupts_of_polls_and_commits_lose_no_record(broker, group):
    """A strike within a call takes nothing with it: the next poll gives what the one before has not returned. Between
    two calls the program is left in peace, so that it notes what it was given.
    """
    runs_well(
        CONSUMER
        + f"GROUP, RECORDS = {group!r}, {RECORDS}"
        + """
is_inside, struck = False, 0

def interrupt(*_):
    global struck
    if is_inside:
        struck += 1
        raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)

def strike():
    while True:
        time.sleep(random.random() * 0.004)
        os.kill(os.getpid(), signal.SIGINT)

reader = consumer(GROUP, max_poll_records=1, share_acquire_mode="record_limit")
seen = set()
threading.Thread(target=strike, daemon=True).start()
deadline = time.monotonic() + 100
while len(seen) < RECORDS or struck < 300:
    assert time.monotonic() < deadline, (len(seen), struck)
    records = ()
    try:
        is_inside = True
        records = reader.poll(0.02)
        is_inside = False
    except KeyboardInterrupt:
        is_inside = False
    seen |= {record.offset for record in records}
    if len(seen) % 7 == 0:
        try:
            is_inside = True
            reader.commit_sync()
            is_inside = False
        except KeyboardInterrupt:
            is_inside = False
assert seen == set(range(RECORDS))
reader.close()
assert io_threads() == []
""",
        broker.bootstrap,
    )
    until_empty(broker, group)
