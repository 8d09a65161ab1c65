from odradek.reactor.timers import Timers


def expire(timers, now_ms):
    before = timers.sequence
    while (callback := timers.pop_due(now_ms, before)) is not None:
        callback()


def test_timers_expire_by_deadline_then_by_age():
    timers, seen = Timers(), []
    for deadline, name in ((30, "c"), (10, "a"), (20, "b1"), (20, "b2")):
        timers.at(deadline, lambda name=name: seen.append(name))
    assert timers.wait_ms(0) == 10
    expire(timers, 20)
    assert seen == ["a", "b1", "b2"]
    assert timers.wait_ms(0) == 30
    assert len(timers) == 1


def test_whether_a_timer_may_be_due_is_known_without_looking_for_it():
    timers = Timers()
    assert not timers.may_be_due(1000)
    timers.at(10, lambda: None)
    assert [timers.may_be_due(now_ms) for now_ms in (9, 10, 11)] == [False, True, True]


def test_a_cancelled_timer_does_not_expire():
    timers, seen = Timers(), []
    timer = timers.at(10, lambda: seen.append("cancelled"))
    timers.at(20, lambda: seen.append("kept"))
    timer.cancel()
    timer.cancel()
    assert not timer.is_live
    assert timers.wait_ms(0) == 20
    assert len(timers) == 1
    expire(timers, 99)
    assert seen == ["kept"]
    assert timers.wait_ms(0) is None


def test_one_due_timer_cancels_another():
    timers, seen = Timers(), []
    timers.at(10, lambda: second.cancel())
    second = timers.at(10, lambda: seen.append("second"))
    expire(timers, 10)
    assert seen == []
    assert len(timers) == 0


def test_cancelling_an_expired_timer_is_nothing():
    timers = Timers()
    timer = timers.at(1, lambda: None)
    expire(timers, 1)
    timer.cancel()
    assert len(timers) == 0


def test_a_timer_that_sets_itself_again_for_now_waits_for_the_next_round():
    timers, seen = Timers(), []

    def again():
        seen.append(len(seen))
        timers.at(5, again)

    timers.at(5, again)
    expire(timers, 5)
    assert seen == [0]
    expire(timers, 5)
    assert seen == [0, 1]


def test_many_cancelled_timers_do_not_pile_up():
    timers = Timers()
    kept = timers.at(1_000_000, lambda: None)
    for number in range(10_000):
        timers.at(number + 10, lambda: None).cancel()
    assert len(timers) == 1
    assert len(timers._heap) < 200
    assert timers.wait_ms(0) == kept.deadline_ms
