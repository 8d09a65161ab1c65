"""flush.messages=1: nothing is acknowledged and nothing is shown before it is on disk, whoever asks and how often."""

import pytest

from log_kit import batch
from odradek.reactor.pending import Pending
from odradek.sim.crash import KILLED, LOSE_ALL
from replica_kit import SimPlane


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic("f", flush_messages=1)
    return made


def send(plane, *values, acks=1, **fields):
    """Does not wait."""
    records = batch(*values, **fields)
    return plane.on_reactor(lambda: plane.send(plane.produce_request(records, topic="f", acks=acks), 9))


def test_a_later_record_is_not_shown_by_the_flush_of_an_earlier_one(plane):
    first = send(plane, b"one")
    second = send(plane, b"two")
    plane.wait(first)
    log = plane.log("f")
    assert log.high_watermark <= log.recovery_point
    plane.wait(second)
    assert (log.high_watermark, log.recovery_point) == (2, 2)


@pytest.mark.parametrize("acks", [1, -1])
def test_a_batch_that_comes_again_waits_for_the_flush_of_the_first(plane, acks):
    send(plane, b"one", acks=acks, producer=7)
    again = send(plane, b"one", acks=acks, producer=7)
    assert isinstance(again, Pending)
    plane.wait(again)
    assert plane.log("f").recovery_point == 1
    at_once = send(plane, b"one", acks=acks, producer=7)
    assert not isinstance(at_once, Pending), "it has long been on disk"


def test_what_a_kill_has_left_unflushed_is_shown_when_it_is_on_disk():
    plane = SimPlane()
    plane.create_topic("f", flush_messages=1)
    send(plane, b"one")
    topic_ids = plane.topic_ids
    plane.node.crash(KILLED)
    plane.start()
    plane.logs = plane.manager
    plane.logs.update_topic_config("f", {"flush.messages": "1"})
    plane.put_together()
    lead_again(plane, topic_ids["f"])
    log = plane.log("f")
    assert log.log_end_offset == 1, "the page cache has kept it"
    assert log.high_watermark <= log.recovery_point
    assert plane.world.run_until(lambda: log.high_watermark == 1, 5000)
    plane.node.crash(LOSE_ALL)
    assert plane.node.disk.snapshot()["/data/a/f-0/00000000000000000000.log"]


def lead_again(plane, topic_id):
    from odradek.protocol.messages.metadata_topics import PartitionRecord, TopicRecord

    record = PartitionRecord(partition_id=0, topic_id=topic_id, replicas=[1], isr=[1], leader=1, leader_epoch=1)
    plane.apply([TopicRecord(name="f", topic_id=topic_id), record])
