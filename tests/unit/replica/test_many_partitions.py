"""Deltas of more partitions than one turn takes: roles in slices and in order, files behind them."""

import pytest

from odradek.metadata.delta import MetadataDelta
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.metadata_topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from odradek.replica.apply import ROLES_PER_TURN
from odradek.replica.leader import Leader
from replica_kit import NODE, SimPlane

MANY = 2 * ROLES_PER_TURN + 10


@pytest.fixture
def plane():
    return SimPlane(dirs=("data/a", "data/b"))


def begin(plane, *records):
    """Hands a delta in, as the publisher does, and waits for nothing."""
    delta = MetadataDelta(plane.image)
    for record in records:
        delta.replay(record)
    plane.image = delta.apply(plane.image.offset + len(records), 1)
    return plane.spawn(plane.replicas.apply(delta, plane.image))


def made(name, topic_id, partitions):
    yield TopicRecord(name=name, topic_id=topic_id)
    for index in range(partitions):
        yield PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[NODE], isr=[NODE], leader=NODE)


def ids(first):
    return (Uuid(number.to_bytes(16, "big")) for number in range(first, first + 1000))


def settled(plane, *tasks):
    assert plane.world.run_until(lambda: all(task.is_done for task in tasks))
    for task in tasks:
        task.value()


def test_a_large_topic_takes_several_turns_and_is_all_led_in_the_end(plane):
    (topic_id,) = list(ids(1))[:1]
    task = begin(plane, *made("t", topic_id, MANY))
    assert len(list(plane.replicas.partitions())) == ROLES_PER_TURN
    assert "t" in plane.replicas.unopened_topics, "whoever waits for the topic must not take it for open"
    settled(plane, task)
    assert [partition.leader is not None for partition in plane.replicas.partitions()] == [True] * MANY
    assert "t" not in plane.replicas.unopened_topics


def test_the_next_delta_waits_for_the_roles_of_the_one_before(plane):
    (topic_id,) = list(ids(1))[:1]
    making = begin(plane, *made("t", topic_id, MANY))
    ending = begin(plane, RemoveTopicRecord(topic_id=topic_id))
    settled(plane, making, ending)
    assert plane.replicas.topics == {}
    assert plane.logs.current == {}
    left = [name for path in ("data/a", "data/b") for name in plane.disk.list(path) if name.startswith("t-")]
    assert all(name.endswith("-delete") for name in left)


def test_topics_that_are_deleted_and_made_again_under_their_names(plane):
    """The new ones must not meet the logs of the old ones, however many of those are still to be put out."""
    names = [f"t{number}" for number in range(MANY)]
    old, new = dict(zip(names, ids(1), strict=False)), dict(zip(names, ids(5000), strict=False))
    settled(plane, begin(plane, *(record for name in names for record in made(name, old[name], 1))))
    assert plane.produce("of the old one", topic=names[-1]).error_code == 0
    deleting = begin(plane, *(RemoveTopicRecord(topic_id=old[name]) for name in names))
    making = begin(plane, *(record for name in reversed(names) for record in made(name, new[name], 1)))
    settled(plane, deleting, making)
    assert {type(partition.role) for partition in plane.replicas.partitions()} == {Leader}
    assert {plane.logs.topic_id(plane.log(name)) for name in names} == {bytes(topic_id) for topic_id in new.values()}
    assert plane.log(names[-1]).log_end_offset == 0
