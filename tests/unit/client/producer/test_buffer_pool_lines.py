"""Rare turns of the pool, beside the stories of test_buffer_pool.py: leftovers, who comes too late, odd sizes."""

import pytest

from accumulator_kit import accumulator, executors, parts_of
from odradek.client.producer.buffer_pool import BufferPool

SIZE = 100  # of a pooled buffer


class Line:
    """Those who wait, by name; `woken` is the order in which they were."""

    def __init__(self, pool):
        self.pool = pool
        self.woken = []

    def wait(self, name, size):
        return self.pool.wait(size, lambda: self.woken.append(name))


@pytest.mark.contract("A80")
@pytest.mark.parametrize(("size", "left"), [(901, (7, 99)), (1000, (7, 0)), (1550, (1, 50)), (1700, (0, 0))])
def test_pooled_buffers_are_given_up_for_a_batch_of_another_size_as_many_as_it_takes(size, left):
    pool = BufferPool(1700, SIZE)
    for _ in range(8):
        assert pool.take(SIZE)
    for _ in range(8):
        pool.give_back(SIZE)
    assert parts_of(pool) == (8, 900)
    assert pool.take(size)
    assert parts_of(pool) == left
    assert pool.available_bytes == 1700 - size


@pytest.mark.contract("A82")
def test_who_has_gathered_something_takes_of_a_free_buffer_what_is_missing():
    pool = BufferPool(130, SIZE)
    line = Line(pool)
    assert pool.take(SIZE)
    waiter = line.wait("begun", SIZE)
    assert waiter.gathered_bytes == 30
    pool.give_back(SIZE)
    assert line.woken == ["begun"]
    assert parts_of(pool) == (0, 30), "the rest of the buffer is memory of no size again"


@pytest.mark.contract("A83")
def test_who_was_served_when_his_time_was_up_gives_all_of_it_back():
    pool = BufferPool(300, SIZE)
    waiter = Line(pool).wait("late", 200)
    assert waiter.is_served
    pool.leave(waiter)
    assert (waiter.is_served, pool.available_bytes) == (False, 300)


@pytest.mark.contract("A84", "A86")
def test_whoever_is_served_lets_the_next_one_have_what_is_left():
    pool = BufferPool(300, SIZE)
    line = Line(pool)
    assert pool.take(300)
    for name in ("first", "second", "third"):
        line.wait(name, 120)
    pool.give_back(300)
    assert line.woken == ["first", "second"]
    assert pool.waiting == 1


@pytest.mark.contract("A76")
def test_after_close_nobody_gets_any_and_who_waits_is_woken_empty_handed():
    pool = BufferPool(300, SIZE)
    line = Line(pool)
    assert pool.take(300)
    early = line.wait("early", SIZE)
    pool.close()
    assert (line.woken, early.is_served) == (["early"], False)
    assert not pool.take(1)
    pool.give_back(300)
    assert not pool.take(1)
    late = line.wait("late", SIZE)
    assert (line.woken, late.is_served, pool.waiting) == (["early", "late"], False, 0)


@pytest.mark.contract("A96")
@pytest.mark.parametrize("executor", executors())
def test_memory_that_was_waited_for_and_is_not_needed_goes_back(executor):
    made = accumulator(executor, total_bytes=3000)
    topic = made.topics["t"]
    assert made.append(topic, 0, 5, None, b"v", b"\0") is not None
    for opens, partition in ((True, 0), (True, 7), (False, 7)):
        assert made.pool.take(1000)
        made.append(topic, partition, 5, None, b"v", b"\0", 1000, None, opens)
        assert made.pool.available_bytes == 2000
