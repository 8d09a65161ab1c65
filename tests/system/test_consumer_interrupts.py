"""Ctrl-C at any moment of a program that consumes: it comes at once, the consumer goes on or closes at once, its group
is empty then, and nothing was committed that the program had not finished.
"""

import pytest
from test_client_interrupts import STRIKES

from client_programs import runs_well
from odradek import AdminClient, KafkaProducer, TopicPartition, errors
from odradek.testing import Broker

PLACE = TopicPartition("orders", 0)
RECORDS = 20_000

CONSUMER = """
from odradek import KafkaConsumer

def consumer(group, **configs):
    given = dict(auto_offset_reset="earliest", auto_commit_interval_ms=20, max_poll_records=50)
    return KafkaConsumer("orders", bootstrap_servers=BOOTSTRAP, group_id=group, **{**given, **configs})
"""


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        broker.create_topic("orders", partitions=1)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send_many("orders", [b"%d" % number for number in range(RECORDS)]).result(60)
        yield broker


def left_behind(broker, group):
    """How many members the group has, and what it has committed."""
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        found = admin.describe_groups([group])
        if isinstance(found.errors.get(group), errors.GroupIdNotFound):
            return 0, 0  # the program was struck before it had joined
        committed = admin.list_group_offsets(group)[group]
        return len(found[group].members), committed[PLACE].offset if committed else 0


@pytest.mark.contract("B94")
def test_a_thousand_interrupts_of_polls_and_commits(broker):
    told = runs_well(
        STRIKES
        + CONSUMER
        + """
reader = consumer("struck")
reader.poll(10)
threading.Thread(target=strike, args=(1000, 0.006), daemon=True).start()
waits = []
while len(waits) < 1000:
    try:
        while True:
            reader.poll(0.005)
            reader.commit_sync()
            reader.commit_async()
    except KeyboardInterrupt:
        waits.append(heard())
time.sleep(0.1)
assert max(waits) < SOON, max(waits)
assert reader.state == "stable"
position = reader.position(next(iter(reader.assignment())))
began = time.monotonic()
reader.close()
assert time.monotonic() - began < SOON
assert io_threads() == []
print(position)
""",
        broker.bootstrap,
    )
    assert left_behind(broker, "struck") == (0, int(told))


@pytest.mark.parametrize("how", ["poll", "iterate"])
def test_an_interrupted_program_has_committed_what_it_has_finished_and_no_more(broker, how):
    """Ten times over: the program ends by an interrupt, and the next one goes on where it ended."""
    group = f"ended-{how}"
    before = 0
    for _ in range(10):
        told = runs_well(
            STRIKES
            + CONSUMER
            + f"""
HOW, GROUP = {how!r}, {group!r}
"""
            + """
first, finished = None, 0
reader = consumer(GROUP)
try:
    try:
        threading.Thread(target=strike, args=(1, 0.3), daemon=True).start()
        if HOW == "poll":
            while True:
                records = reader.poll(0.01)
                for record in records:
                    first = record.offset if first is None else first
                    time.sleep(0.00005)
                if records:
                    finished = records[-1].offset + 1
        else:
            for record in reader:
                first = record.offset if first is None else first
                time.sleep(0.00005)
                finished = record.offset + 1
    finally:
        began = time.monotonic()
        reader.close()
        assert time.monotonic() - began < SOON
except KeyboardInterrupt:
    heard()
print(-1 if first is None else first, finished)
""",
            broker.bootstrap,
        )
        first, finished = map(int, told.split())
        count, committed = left_behind(broker, group)
        assert count == 0
        assert first in (-1, before), "it begins where the last one was known to have ended"
        assert committed <= max(finished, before)
        before = committed
    assert before > 0
