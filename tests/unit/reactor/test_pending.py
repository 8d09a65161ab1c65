from collections import deque

import pytest

from odradek.reactor.coroutine_task import Task
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled


@pytest.fixture
def queue():
    return deque()


def drain(queue):
    while queue:
        callback, argument = queue.popleft()
        callback(argument)


def test_callbacks_are_queued_and_never_nested(queue):
    seen = []
    pending = Pending(queue)
    pending.when_done(lambda done: seen.append(done.value()))
    assert pending.resolve(5)
    assert seen == []
    drain(queue)
    assert seen == [5]


def test_who_comes_late_is_called_too(queue):
    pending, seen = Pending(queue), []
    pending.resolve("value")
    pending.when_done(lambda done: seen.append(done.value()))
    drain(queue)
    assert seen == ["value"]


def test_the_first_value_stays(queue):
    pending = Pending(queue)
    assert pending.resolve(1)
    assert not pending.resolve(2)
    assert not pending.fail(OSError("late"))
    assert not pending.cancel()
    assert pending.value() == 1
    assert pending.error is None


def test_one_that_follows_another_gets_its_value_or_its_error(queue):
    values, errors = (Pending(queue), Pending(queue)), (Pending(queue), Pending(queue))
    for first, second in (values, errors):
        second.follow(first)
        assert first.is_observed
    values[0].resolve(7)
    errors[0].fail(OSError("gone"))
    assert not values[1].is_done, "whoever waits is never called from inside the call that delivers"
    drain(queue)
    assert values[1].value() == 7
    with pytest.raises(OSError, match="gone"):
        errors[1].value()


def test_one_that_follows_keeps_what_it_has(queue):
    first, second = Pending(queue), Pending(queue)
    second.follow(first)
    second.cancel()
    first.resolve(7)
    drain(queue)
    with pytest.raises(Cancelled):
        second.value()


def test_an_error_is_raised_to_who_asks(queue):
    pending = Pending(queue)
    pending.fail(OSError("gone"))
    with pytest.raises(OSError, match="gone"):
        pending.value()


def test_a_cancelled_wait(queue):
    pending = Pending(queue)
    pending.cancel()
    with pytest.raises(Cancelled):
        pending.value()


def unseen_never(task):
    raise AssertionError(f"{task} failed and nobody saw")


def test_a_task_runs_to_its_first_wait_at_once(queue):
    pending, seen = Pending(queue), []

    async def work():
        seen.append("began")
        seen.append(await pending)
        return "end"

    task = Task(queue, work(), unseen_never)
    assert seen == ["began"]
    pending.resolve("value")
    assert seen == ["began"], "not inside resolve"
    drain(queue)
    assert seen == ["began", "value"]
    assert task.value() == "end"


def test_a_value_that_is_there_costs_no_wait(queue):
    pending = Pending(queue)
    pending.resolve(1)

    async def work():
        return await pending + 1

    assert Task(queue, work(), unseen_never).value() == 2


def test_errors_travel_through_awaits(queue):
    pending = Pending(queue)

    async def inner():
        await pending

    async def outer():
        try:
            await Task(queue, inner(), unseen_never)
        except OSError as error:
            return f"caught {error}"

    task = Task(queue, outer(), unseen_never)
    pending.fail(OSError("broken"))
    drain(queue)
    assert task.value() == "caught broken"


def test_a_failure_that_nobody_waits_for_is_told(queue):
    unseen = []

    async def fails():
        raise ValueError("lost")

    task = Task(queue, fails(), unseen.append)
    assert unseen == []
    drain(queue)
    assert unseen == [task]


def test_a_failure_that_somebody_waits_for_is_not(queue):
    async def fails():
        raise ValueError("seen")

    task = Task(queue, fails(), unseen_never)
    task.when_done(lambda done: None)
    drain(queue)


def test_cancelling_a_task_raises_where_it_waits_and_lets_it_clean_up(queue):
    pending, cleaning, seen = Pending(queue), Pending(queue), []

    async def work():
        try:
            await pending
        finally:
            seen.append(await cleaning)

    task = Task(queue, work(), unseen_never)
    assert task.cancel()
    drain(queue)
    pending.resolve("too late")
    drain(queue)
    assert not task.is_done
    cleaning.resolve("clean")
    drain(queue)
    assert seen == ["clean"]
    assert isinstance(task.error, Cancelled)
    assert not task.cancel()


def test_a_value_that_comes_with_the_cancellation_does_not_resume_twice(queue):
    pending, seen = Pending(queue), []

    async def work():
        try:
            seen.append(await pending)
        except Cancelled:
            seen.append("cancelled")

    task = Task(queue, work(), unseen_never)
    pending.resolve("value")
    task.cancel()
    drain(queue)
    assert seen == ["cancelled"]
    assert task.is_done
