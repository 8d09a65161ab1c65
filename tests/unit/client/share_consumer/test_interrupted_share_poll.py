"""An exception at every line of the program's side of a share consumer, as a signal may raise it: no record is accepted
that the program has not seen, nothing is stuck, and the next poll goes on.
"""

import sys
import time
from pathlib import Path

import pytest

from odradek import AdminClient, KafkaProducer, ShareConsumer
from odradek.admin import ConfigChange, ConfigResource
from odradek.client import share_consumer
from odradek.consumer import AcknowledgeType
from odradek.testing import Broker

SECONDS_MAX = 60
RECORDS = 2000
LINES = 250  # more than a poll has that finds something
FOLDER = str(Path(share_consumer.__file__).parent)
STRUCK = tuple(f"{FOLDER}/{name}.py" for name in ("share_calls", "share_buffer", "share_chunk", "deliveries"))
CONFIGS = {
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.heartbeat.interval.ms": 200,
    "group.share.min.assignment.interval.ms": 0,
    "group.share.assignment.interval.ms": 0,
}


@pytest.fixture(scope="module")
def broker():
    with Broker(config=CONFIGS) as broker:
        broker.create_topic("t", partitions=1)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send_many("t", [b"%d" % number for number in range(RECORDS)]).result()
        yield broker


@pytest.fixture(params=["implicit", "explicit"])
def consumer(broker, request):
    group = f"struck-{request.param}"
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        resource = ConfigResource.group(group)
        admin.incremental_alter_configs({resource: [ConfigChange("share.auto.offset.reset", "earliest")]})[resource]
    with ShareConsumer(
        "t",
        bootstrap_servers=broker.bootstrap,
        group_id=group,
        share_acknowledgement_mode=request.param,
        share_acquire_mode="record_limit",
        max_poll_records=2,
        fetch_max_wait_ms=50,
    ) as consumer:
        consumer.is_explicit = request.param == "explicit"
        yield consumer


def struck_at(nth, call):
    """What the call returns, or None if it was struck: at the nth line, counted over the files above."""
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename not in STRUCK:
            return None
        if event == "line":
            lines += 1
            if lines == nth:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        return call()
    except KeyboardInterrupt:
        return None
    finally:
        sys.settrace(None)


def test_no_line_loses_anything(consumer):
    seen = set()
    deadline = time.monotonic() + SECONDS_MAX

    def poll(nth=None):
        assert time.monotonic() < deadline, (len(seen), consumer.state)
        records = struck_at(nth, lambda: consumer.poll(1.0)) if nth else consumer.poll(1.0)
        for record in records or ():
            seen.add(record.offset)
            if consumer.is_explicit:
                # Some are renewed: what is under way when the strike comes must not keep polls waiting.
                consumer.acknowledge(record, AcknowledgeType.RENEW if record.offset % 5 == 0 and nth else 1)
        return records

    while not poll():
        pass
    nth = 0
    while nth < LINES:
        nth += 1
        poll(nth)
        poll()
    top = max(seen)
    while max(seen) < top + 5 or not seen >= set(range(top)):
        poll()
    assert seen >= set(range(top + 1))
