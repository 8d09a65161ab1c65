"""Single lines of what Kafka's RecordAccumulator does, beside the stories of test_accumulator.py; both executors."""

import pytest

from accumulator_kit import accumulator, executors, records_of

pytestmark = pytest.mark.parametrize("executor", executors())

NO_HEADERS = b"\0"


def put(made, value=b"v", partition=0, **options):
    return made.append(made.topics["t"], partition, 5, None, value, NO_HEADERS, **options)


def queues(made):
    return made.topics["t"].queues


@pytest.mark.contract("A67")
def test_a_record_without_a_time_gets_the_time_of_now(executor):
    made = accumulator(executor, clock=iter((70, 80)).__next__)
    assert [made.send("t", b"v").timestamp, made.send("t", b"v", timestamp_ms=3).timestamp] == [70, 3]
    assert made.send("t", b"v").timestamp == 80


@pytest.mark.contract("A98")
def test_the_first_record_of_a_batch_always_fits(executor):
    made = accumulator(executor, batch_bytes=1)
    assert put(made, b"x" * 500) is not None
    assert put(made, b"x" * 500).index == 0


@pytest.mark.contract("A112")
def test_full_is_several_batches_or_one_without_room(executor):
    made = accumulator(executor)
    queue = queues(made)[0]
    assert not queue.has_full()
    put(made)
    assert not queue.has_full()
    put(made, b"x" * 990)
    assert queue.has_full()
    queue.take()
    assert queue.has_full(), "the second one is as large as its record"
    queue.take()
    assert not queue.has_full()


@pytest.mark.contract("A70", "A97")
def test_an_append_that_must_not_begin_a_batch_says_so_and_changes_nothing(executor):
    made = accumulator(executor)
    assert put(made, opens=False) is None
    assert (len(queues(made)[0].batches), made.pool.available_bytes) == (0, 1 << 20)
    first = put(made)
    assert put(made, opens=False).batch is first.batch
    assert put(made, b"x" * 990, opens=False) is None
    assert len(queues(made)[0].batches) == 1


@pytest.mark.contract("A93")
def test_memory_that_was_waited_for_is_what_the_new_batch_has(executor):
    made = accumulator(executor, total_bytes=1000)
    assert made.pool.take(1000)
    assert put(made) is None, "there is none"
    assert put(made, taken_bytes=1000) is not None
    assert made.pool.available_bytes == 0


@pytest.mark.contract("A90")
def test_no_headers_are_no_headers(executor):
    made = accumulator(executor)
    made.slow_send = lambda *asked: asked
    assert made.send("t", b"v", headers=()).index == 0
    assert made.send("t", b"v", headers=None) == ("t", b"v", None, None, None, None, None), "its front end decides"
    assert [headers for _, _, _, headers in records_of(queues(made)[0].take())] == [()]


@pytest.mark.contract("A104", "A89")
def test_after_close_nothing_is_appended_and_memory_goes_back(executor):
    made = accumulator(executor, total_bytes=3000)
    put(made)
    made.is_closed = True
    assert put(made) is None, "not even where a batch has room"
    made.slow_send = lambda *_: "asked elsewhere"
    assert made.send("t", b"v") == "asked elsewhere"
    assert made.append_many(made.topics["t"], [b"v"], None, 0, 0, 5, []) == 0
    assert made.pool.take(1000)
    assert put(made, taken_bytes=1000) is None
    assert made.pool.available_bytes == 2000
    assert [batch.record_count for batch in queues(made)[0].batches] == [1]


@pytest.mark.contract("A65")
def test_a_record_above_max_request_size_is_not_taken(executor):
    made = accumulator(executor, request_bytes_max=2000)
    fits = 2000 - 61 - 9
    assert put(made, b"x" * fits) is not None
    assert put(made, b"x" * (fits + 1)) is None


def test_a_batch_that_goes_again_stands_where_it_belongs(executor):
    made = accumulator(executor)
    queue = queues(made)[0]
    for number in range(3):
        put(made, bytes([number]) * 900)
    first, second = queue.take(), queue.take()
    made.put_back(queue, second)
    made.put_back(queue, first)
    assert [records_of(batch)[0][2][0] for batch in queue.batches] == [0, 1, 2]
