"""Whoever waits for the logs of a new topic goes on when they are open, and not when its time is over."""

import pytest

from replica_kit import SimPlane

PATIENCE_MS = 60_000


@pytest.fixture
def plane():
    return SimPlane(dirs=("data/a", "data/b"))


def waited_ms(plane, pending):
    began_us = plane.world.now_us
    assert plane.world.run_until(lambda: pending.is_done, 10 * PATIENCE_MS)
    return (plane.world.now_us - began_us) // 1000


def test_the_wait_ends_with_the_last_log(plane):
    waiting = plane.replicas.unopened_topics.until_opened("t", PATIENCE_MS)
    plane.create_topic("t", partitions=20)
    assert waited_ms(plane, waiting) < PATIENCE_MS / 10
    assert all(plane.partition("t", index).leader is not None for index in range(20))


def test_a_topic_that_never_comes_is_waited_for_as_long_as_was_said(plane):
    waiting = plane.replicas.unopened_topics.until_opened("t", PATIENCE_MS)
    assert PATIENCE_MS - 1 <= waited_ms(plane, waiting) <= PATIENCE_MS + 1, "to the millisecond of the loop's clock"


def test_another_topic_ends_no_wait(plane):
    waiting = plane.replicas.unopened_topics.until_opened("t", PATIENCE_MS)
    plane.create_topic("u")
    assert not waiting.is_done
