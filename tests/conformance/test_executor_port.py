import pytest

from odradek.reactor.ports import Cancelled


class Ends:
    """Collects the ends of jobs."""

    def __init__(self):
        self.seen = []

    def of(self, name):
        return lambda value, error: self.seen.append((name, value, type(error)))


@pytest.fixture
def ends():
    return Ends()


@pytest.fixture
def executor(ports):
    return ports.executor


def steps(count, result=None):
    for _ in range(count):
        yield 1
    return result


def test_a_job_runs_to_its_end_and_returns_its_value(outside, executor, ends):
    executor.submit(steps(3, "value"), ends.of("job"))
    assert ends.seen == [], "it must not end inside submit"
    outside.until(lambda: ends.seen)
    assert ends.seen == [("job", "value", type(None))]


def test_a_failed_job_hands_over_its_error(outside, executor, ends):
    def failing():
        yield 1
        raise OSError("disk on fire")

    executor.submit(failing(), ends.of("job"))
    outside.until(lambda: ends.seen)
    assert ends.seen == [("job", None, OSError)]


def test_a_job_without_a_single_yield_is_a_job(outside, executor, ends):
    def at_once():
        return 5
        yield

    executor.submit(at_once(), ends.of("job"))
    outside.until(lambda: ends.seen)
    assert ends.seen == [("job", 5, type(None))]


def test_a_cancelled_job_ends_at_a_yield_and_may_clean_up(outside, executor, ends):
    cleaned = []

    def endless():
        try:
            while True:
                yield 1
        finally:
            cleaned.append(True)

    handle = executor.submit(endless(), ends.of("job"))
    executor.submit(steps(1), ends.of("other"))
    outside.until(lambda: ends.seen)  # by then the first has begun
    handle.cancel()
    outside.until(lambda: len(ends.seen) == 2)
    assert ends.seen[1] == ("job", None, Cancelled)
    assert cleaned == [True]


def test_a_job_is_told_that_it_is_cancelled(outside, executor, ends):
    def halves():
        try:
            while True:
                yield 1
        except Cancelled:
            return "half of it"

    handle = executor.submit(halves(), ends.of("job"))
    executor.submit(steps(1), ends.of("other"))
    outside.until(lambda: ends.seen)
    handle.cancel()
    outside.until(lambda: len(ends.seen) == 2)
    assert ends.seen[1] == ("job", "half of it", type(None))


def test_a_job_that_refuses_to_be_cancelled_is_ended(outside, executor, ends):
    def stubborn():
        while True:
            try:
                yield 1
            except Cancelled:
                yield 2

    handle = executor.submit(stubborn(), ends.of("job"))
    executor.submit(steps(1), ends.of("other"))
    outside.until(lambda: ends.seen)
    handle.cancel()
    outside.until(lambda: len(ends.seen) == 2)
    assert ends.seen[1] == ("job", None, Cancelled)


def test_jobs_do_not_wait_for_each_other(outside, executor, ends):
    finish = []

    def waiting():
        while not finish:
            yield 0

    executor.submit(waiting(), ends.of("waiting"))
    executor.submit(steps(2), ends.of("short"))
    outside.until(lambda: ends.seen)
    assert ends.seen == [("short", None, type(None))]
    finish.append(True)
    outside.until(lambda: len(ends.seen) == 2)


def test_many_jobs_all_end_once(outside, executor, ends):
    for number in range(50):
        executor.submit(steps(number % 4, number), ends.of(number))
    outside.until(lambda: len(ends.seen) == 50)
    assert sorted(value for _, value, _ in ends.seen) == list(range(50))


def test_the_end_of_a_job_wakes_a_poll(outside, executor, ends):
    poller = outside.ports.network.poller()
    executor.notify(poller.wake)
    executor.submit(steps(3), ends.of("job"))
    assert poller.poll(5000) == []
    assert executor.drain() == 1
    assert ends.seen
    executor.notify(lambda: None)
    poller.close()


def test_close_cancels_and_tells(outside, executor, ends):
    began = []

    def endless():
        while True:
            began.append(1)
            yield 1

    for number in range(20):
        executor.submit(endless(), ends.of(number))
    outside.until(lambda: began)
    executor.close()
    assert sorted(name for name, _, _ in ends.seen) == list(range(20))
    assert {error for _, _, error in ends.seen} == {Cancelled}


def test_with_one_worker_jobs_run_one_after_the_other_and_with_more_side_by_side(outside, executor, ends):
    running, most = set(), []

    def watched(name):
        running.add(name)
        for _ in range(20):
            most.append(len(running))
            yield 1
        running.discard(name)

    executor.resize(1)
    for name in range(4):
        executor.submit(watched(name), ends.of(name))
    outside.until(lambda: len(ends.seen) == 4)
    assert max(most) == 1
    executor.resize(3)
    for name in range(4):
        executor.submit(steps(2, name), ends.of(name))
    outside.until(lambda: len(ends.seen) == 8)
