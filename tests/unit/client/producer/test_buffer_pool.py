"""How much memory unsent records may take, and who gets it next; the model in tests/property does it at random."""

import gc

import pytest

from accumulator_kit import accumulator, executors, parts_of
from odradek.client.producer.buffer_pool import BufferPool


@pytest.fixture
def pool():
    return BufferPool(1000, 100)


@pytest.fixture
def woken():
    return []


@pytest.mark.contract("A74")
def test_all_memory_is_unpooled_at_first(pool):
    assert (*parts_of(pool), pool.waiting) == (0, 1000, 0)


@pytest.mark.contract("A78", "A86")
def test_a_buffer_of_the_poolable_size_is_kept_when_it_comes_back(pool):
    assert pool.take(100)
    pool.give_back(100)
    assert parts_of(pool) == (1, 900)


@pytest.mark.contract("A77")
def test_a_free_buffer_is_taken_before_other_memory(pool):
    assert pool.take(100)
    pool.give_back(100)
    assert pool.take(100)
    assert parts_of(pool) == (0, 900)


@pytest.mark.contract("A79", "A86")
def test_another_size_leaves_no_buffer_behind(pool):
    assert pool.take(250)
    pool.give_back(250)
    assert parts_of(pool) == (0, 1000)


@pytest.mark.contract("A80")
def test_free_buffers_are_given_up_for_another_size(pool):
    for _ in range(10):
        assert pool.take(100)
    for _ in range(10):
        pool.give_back(100)
    assert pool.take(250)
    assert parts_of(pool) == (7, 50)


@pytest.mark.contract("A75")
def test_more_than_there_ever_is_is_refused_at_once(pool):
    with pytest.raises(ValueError, match=r"buffer\.memory"):
        pool.wait(1001, lambda: None)


@pytest.mark.contract("A81", "A84")
def test_who_came_first_is_served_first_and_gathers_piece_by_piece(pool, woken):
    assert pool.take(1000)
    first = pool.wait(300, lambda: woken.append("first"))
    pool.wait(50, lambda: woken.append("second"))
    pool.give_back(200)
    assert woken == []
    assert first.gathered_bytes == 200
    pool.give_back(200)
    assert woken == ["first", "second"]
    assert pool.available_bytes == 50


def test_who_comes_while_somebody_waits_stands_behind(pool, woken):
    assert pool.take(900)
    pool.wait(300, lambda: woken.append("first"))
    assert not pool.take(10)


@pytest.mark.contract("A82")
def test_a_whole_buffer_is_taken_by_who_has_gathered_nothing(pool, woken):
    for _ in range(10):
        assert pool.take(100)
    pool.wait(100, lambda: woken.append("waiter"))
    pool.give_back(100)
    assert woken == ["waiter"]
    assert pool.available_bytes == 0


@pytest.mark.contract("A83")
def test_who_gives_up_gives_back_what_was_gathered(pool, woken):
    assert pool.take(1000)
    first = pool.wait(300, lambda: woken.append("first"))
    pool.wait(150, lambda: woken.append("second"))
    pool.give_back(200)
    pool.leave(first)
    assert woken == ["second"]
    assert pool.available_bytes == 50


@pytest.mark.contract("A76")
def test_a_closed_pool_gives_nothing_and_lets_those_go_who_wait(pool, woken):
    assert pool.take(1000)
    waiter = pool.wait(300, lambda: woken.append("waiter"))
    pool.close()
    assert woken == ["waiter"]
    assert not waiter.is_served
    pool.give_back(1000)
    assert not pool.take(1)


@pytest.mark.contract("A85")
@pytest.mark.parametrize("executor", executors())
def test_memory_comes_back_with_the_last_view_and_not_before(executor):
    """A request with the batch may still lie in a connection when the batch has its outcome."""
    gathered = accumulator(executor, total_bytes=5000, batch_bytes=1000)
    gathered.send("t", b"payload")
    batch = gathered.topics["t"].queues[0].take()
    view = batch.body()
    batch.complete(-1, -1, None)
    assert gathered.pool.available_bytes == 4000
    assert b"payload" in bytes(view)
    gathered.send("t", b"another")  # the next batch has memory of its own
    assert b"payload" in bytes(view)
    del view
    gc.collect()
    assert gathered.pool.available_bytes == 4000
