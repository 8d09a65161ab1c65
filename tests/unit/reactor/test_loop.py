"""The loop's rules, in simulated time: there a stall is a number and not a sleep."""

from itertools import pairwise

import pytest

from odradek.reactor.loop import FULL_POLL_MS, FULL_POLL_MS_MAX, Loop
from odradek.reactor.ports import READABLE, WRITABLE
from odradek.reactor.source import HEAVY_CALLS
from odradek.sim.world import World


class Source:
    """Something that is ready when told so."""

    def __init__(self, number):
        self.number = number

    def fileno(self):
        return self.number


class ScriptedPoller:
    """Ready as the test says; a poll that may wait moves the clock."""

    def __init__(self, clock):
        self.clock = clock
        self.ready = []
        self.timeouts = []

    def fileno(self):
        return 99

    def watch(self, source, interest, *, once=False):
        pass

    def unwatch(self, source):
        pass

    def poll(self, timeout_ms, events_max=0):
        self.timeouts.append(timeout_ms)
        ready, self.ready = self.ready, []
        if not ready and timeout_ms:
            self.clock.now += timeout_ms
        return ready

    def wake(self):
        pass

    def close(self):
        pass


class ScriptedClock:
    now = 1000
    works = True

    def mono_ms(self):
        return self.now

    def mono_us(self):
        return self.now * 1000

    def cpu_us(self):
        return self.now * 1000 if self.works else 0

    def wall_ms(self):
        return self.now


class ScriptedPorts:
    def __init__(self):
        node = World(1).node("n")
        self.clock = ScriptedClock()
        self.poller_made = ScriptedPoller(self.clock)
        self.executor = node.executor
        self.network = self

    def poller(self):
        return self.poller_made


@pytest.fixture
def ports():
    return ScriptedPorts()


@pytest.fixture
def loop(ports):
    return Loop(ports)


@pytest.mark.contract("E21")
def test_a_turn_serves_input_then_timers(loop, ports):
    seen = []
    loop.register(Source(3), READABLE, lambda readiness: seen.append(("input", readiness)))
    loop.after(0, lambda: seen.append("timer"))
    ports.poller_made.ready = [(3, READABLE)]
    loop.turn()
    assert seen == [("input", READABLE), "timer"]


@pytest.mark.contract("C6")
def test_a_poll_waits_for_the_next_timer_and_not_longer(loop, ports):
    loop.after(30, lambda: None)
    loop.turn()
    loop.turn(5)
    assert ports.poller_made.timeouts == [30, 0]
    loop.turn(7)
    loop.turn()
    assert ports.poller_made.timeouts[2:] == [7, None]


@pytest.mark.contract("C30")
def test_a_negative_timeout_is_a_mistake_of_the_caller(loop):
    with pytest.raises(ValueError, match="-1"):
        loop.turn(-1)


@pytest.mark.contract("C36")
def test_our_own_stall_expires_nobody(loop, ports):
    """A heartbeat arrives while a handler is busy for ten seconds: the session that it keeps alive must not expire."""
    seen = []
    session = loop.after(6000, lambda: seen.append("session expired"))

    def stalls(_):
        ports.clock.now += 10_000
        ports.poller_made.ready = [(4, READABLE)]

    def heartbeat(_):
        session.cancel()
        seen.append("heartbeat")

    loop.register(Source(3), READABLE, stalls)
    loop.register(Source(4), READABLE, heartbeat)
    ports.poller_made.ready = [(3, READABLE)]
    loop.turn()
    assert seen == []
    loop.turn()
    assert seen == ["heartbeat"]


def test_input_left_over_holds_back_the_timers_that_it_might_concern(loop, ports):
    seen = []

    def slow(name):
        def handler(_):
            seen.append(name)
            ports.clock.now += 5

        return handler

    for number in (3, 4, 5):
        loop.register(Source(number), READABLE, slow(number))
    loop.after(3, lambda: seen.append("timer"))
    ports.poller_made.ready = [(3, READABLE), (4, READABLE), (5, READABLE)]
    loop.turn()
    assert seen == [3], "the time for input was used up"
    loop.turn()
    loop.turn()
    assert seen == [3, 4, 5, "timer"], "the timer was due all the while"


def test_timers_are_served_though_input_never_ends(loop, ports):
    seen = []

    def busy(_):
        ports.clock.now += 3
        ports.poller_made.ready = [(3, READABLE), (4, READABLE)]

    loop.register(Source(3), READABLE, busy)
    loop.register(Source(4), READABLE, busy)
    loop.after(20, lambda: seen.append("timer"))
    ports.poller_made.ready = [(3, READABLE), (4, READABLE)]
    for _ in range(20):
        loop.turn()
    assert seen == ["timer"]


def test_every_ready_source_gets_its_turn(loop, ports):
    served = []

    def busy(number):
        def handler(_):
            served.append(number)
            ports.clock.now += 3

        return handler

    for number in (3, 4, 5):
        loop.register(Source(number), READABLE, busy(number))
    for _ in range(6):
        ports.poller_made.ready = [(3, READABLE), (4, READABLE), (5, READABLE)]
        loop.turn()
    assert served[:2] == [3, 4], "first come, first served"
    assert all(served.count(number) >= 2 for number in (3, 4, 5)), served


def test_who_is_quick_does_not_wait_for_all_that_are_slow(loop, ports):
    """Three hundred peers that are always ready and take long, and one that asks now and then."""
    served = []

    def handler(number, milliseconds):
        def handle(_):
            served.append(number)
            ports.clock.now += milliseconds

        return handle

    crowd = range(10, 310)
    for number in crowd:
        loop.register(Source(number), READABLE, handler(number, 1))
    loop.register(Source(3), READABLE, handler(3, 0))
    for _ in range(HEAVY_CALLS):  # each has shown what it is: once may have been chance
        ports.poller_made.ready = [(number, READABLE) for number in crowd]
        for _ in range(300):
            loop.turn()
    slow = []
    for _ in range(300):
        served.clear()
        ports.poller_made.ready = [(number, READABLE) for number in (*crowd, 3)]
        loop.turn()
        assert served[0] == 3
        slow += served[1:]
    assert sorted(slow) == list(crowd), "who is slow is served as well, one after the other"


def test_one_long_call_makes_nobody_slow(loop, ports):
    """It may have been the machine: who is held up once must not wait behind all that are always slow."""
    served = []
    delays = [1] * (HEAVY_CALLS - 1)

    def handler(number):
        def handle(_):
            served.append(number)
            ports.clock.now += delays.pop() if number == 3 and delays else 0

        return handle

    for number in (3, 4):
        loop.register(Source(number), READABLE, handler(number))
    for _ in range(HEAVY_CALLS + 2):
        ports.poller_made.ready = [(3, READABLE), (4, READABLE)]
        loop.turn()
    assert served == [3, 4] * (HEAVY_CALLS + 2)


def test_in_a_crowd_who_had_to_wait_for_the_machine_is_not_slow(loop, ports):
    served = []

    def handler(number):
        def handle(_):
            served.append(number)
            ports.clock.now += 1

        return handle

    ports.clock.works = False  # all that passes is time of others
    numbers = list(range(10, 40))
    for number in numbers:
        loop.register(Source(number), READABLE, handler(number))
    for _ in range(HEAVY_CALLS + 1):
        served.clear()
        ports.poller_made.ready = [(number, READABLE) for number in numbers]
        while len(served) < len(numbers):
            loop.turn(0)
        assert served == numbers, "first come, first served"


@pytest.mark.contract("E22")
def test_who_is_new_waits_for_who_is_known(loop, ports):
    served = []

    def handler(number):
        def handle(_):
            served.append(number)
            ports.clock.now += 1

        return handle

    for number in range(10, 40):
        loop.register_new(Source(number), handler(number))
    assert loop.newcomers == 30
    loop.register(Source(3), READABLE, handler(3))
    loop.turn(0)
    assert len(served) == 1, "nothing else was there"
    for _ in range(3):
        ports.poller_made.ready = [(3, READABLE), (39, READABLE)]
        loop.turn(0)
    assert served[1::2] == [3, 3, 3]
    assert served[0::2] == [10, 11, 12, 13], "one of them a turn, in order"
    loop.known(Source(39), READABLE, handler(39))
    loop.unregister(Source(39))
    while loop.newcomers:
        loop.turn(0)
    assert 39 not in served


def test_who_has_little_left_does_not_queue_with_those_that_have_much(loop, ports):
    served = []

    def handler(number, is_little):
        def handle(_):
            served.append(number)
            ports.clock.now += 1
            if served.count(number) < 3:
                loop.again(Source(number), is_little=is_little)

        return handle

    for number in (10, 11, 12):
        loop.register(Source(number), READABLE, handler(number, is_little=False))
    loop.register(Source(3), READABLE, handler(3, is_little=True))
    ports.poller_made.ready = [(number, READABLE) for number in (10, 11, 12, 3)]
    while len(served) < 12:
        loop.turn(0)
    behind = served[served.index(3) :]
    assert behind.count(3) == 3
    assert len(behind) - behind[::-1].index(3) <= 5, "one of the others a turn at most, between two of its calls"


@pytest.mark.contract("C31")
def test_input_left_over_is_served_behind_the_others(loop, ports):
    served = []

    def handler(number, has_more=False):
        def handle(_):
            served.append(number)
            if has_more:
                ports.clock.now += 2
                loop.again(Source(number))

        return handle

    loop.register(Source(3), READABLE, handler(3, has_more=True))
    loop.register(Source(4), READABLE, handler(4))
    ports.poller_made.ready = [(3, READABLE)]
    loop.turn(0)
    served.clear()
    ports.poller_made.ready = [(3, READABLE), (4, READABLE)]
    loop.turn(0)
    assert served == [4, 3]


def test_a_crowd_is_noticed(loop, ports):
    crowds = []

    def handler(_):
        crowds.append(loop.is_crowded)
        ports.clock.now += 1

    for number in range(10, 40):
        loop.register(Source(number), READABLE, handler)
    ports.poller_made.ready = [(number, READABLE) for number in range(10, 40)]
    while ports.poller_made.ready or loop.wait_ms() == 0:
        loop.turn(0)
    assert crowds == [True] * 14 + [False] * 16  # two a turn, until sixteen are left


def test_thousands_are_heard_of_now_and_then_and_not_in_every_turn(loop, ports):
    """However long the loop has slept before they came."""
    numbers, polls = range(10, 2010), []

    def poll(timeout_ms, events_max=0):
        polls.append((ports.clock.now, events_max))
        ports.clock.now += 60_000 if len(polls) == 1 else 0
        return [(number, READABLE) for number in numbers][: events_max or None]

    def handler(_):
        ports.clock.now += 1

    ports.poller_made.poll = poll
    for number in numbers:
        loop.register(Source(number), READABLE, handler)
    while ports.clock.now < 62_000:
        loop.turn()
    full = [at for at, events_max in polls[1:] if events_max == 0]
    gaps = [later - earlier for earlier, later in pairwise(full)]
    assert min(gaps) >= FULL_POLL_MS
    assert max(gaps) <= FULL_POLL_MS_MAX
    assert len(full) < len(polls) / 4


def test_urgent_sources_come_before_all_that_waits(loop, ports):
    served = []

    def slow(_):
        served.append("data")
        ports.clock.now += 3

    for number in (3, 4, 5):
        loop.register(Source(number), READABLE, slow)
    loop.register(Source(6), READABLE, lambda _: served.append("control"), urgent=True)
    ports.poller_made.ready = [(3, READABLE), (4, READABLE), (5, READABLE)]
    loop.turn()
    ports.poller_made.ready = [(6, READABLE)]
    loop.turn()
    assert served == ["data", "control", "data"]


@pytest.mark.contract("E55", "F4")
def test_what_a_handler_satisfies_goes_on_right_behind_it(loop, ports):
    seen = []
    pending = loop.pending()

    async def waiter():
        await pending
        seen.append("waiter")

    def handler(_):
        pending.resolve(None)
        seen.append("handler")

    loop.spawn(waiter())
    loop.register(Source(3), READABLE, handler)
    loop.register(Source(4), READABLE, lambda _: seen.append("next connection"))
    ports.poller_made.ready = [(3, READABLE), (4, READABLE)]
    loop.turn()
    assert seen == ["handler", "waiter", "next connection"]


def test_a_source_that_was_unregistered_meanwhile_is_not_called(loop, ports):
    called = []
    sources = [Source(3), Source(4), Source(5)]
    loop.register(sources[0], READABLE, lambda _: loop.unregister(sources[1]))
    loop.register(sources[1], READABLE, lambda _: called.append(4))
    loop.register(sources[2], READABLE, lambda _: loop.unregister(sources[0]), urgent=True)
    ports.poller_made.ready = [(5, READABLE), (3, READABLE), (4, READABLE)]
    loop.turn()
    assert called == [4], "the urgent one took the first away, so the second stayed"
    loop.register(sources[0], READABLE, lambda _: loop.unregister(sources[1]))
    ports.poller_made.ready = [(3, READABLE), (4, READABLE)]
    loop.turn()
    assert called == [4]


def test_who_waits_and_becomes_ready_for_more_is_called_once_for_both(loop, ports):
    seen = []

    def stalls(_):
        ports.clock.now += 10
        ports.poller_made.ready = [(4, WRITABLE)]

    loop.register(Source(3), READABLE, stalls)
    loop.register(Source(4), READABLE, seen.append)
    ports.poller_made.ready = [(3, READABLE), (4, READABLE)]
    loop.turn(0)
    assert seen == []
    loop.turn(0)
    loop.turn(0)
    assert seen == [READABLE | WRITABLE]


def test_who_registers_again_while_it_waits_is_called_by_its_new_handler_alone(loop, ports):
    seen = []
    source = Source(4)

    def registers(_):
        loop.register(source, READABLE, lambda _: seen.append("new"))
        ports.poller_made.ready = [(4, READABLE)]

    loop.register(Source(3), READABLE, registers)
    loop.register(source, READABLE, lambda _: seen.append("old"))
    ports.poller_made.ready = [(3, READABLE), (4, READABLE)]
    loop.turn(0)
    loop.turn(0)
    assert seen == ["new"]


def test_endless_completions_end_the_turn_all_the_same(loop, ports):
    def again(_):
        ports.clock.now += 1
        loop.soon(again)

    loop.soon(again)
    loop.turn()
    assert ports.clock.now < 1500
    assert loop.wait_ms() == 0


def test_slow_turns_are_counted_with_the_name_of_the_slowest(ports):
    told = []
    loop = Loop(ports, on_slow_turn=lambda took_ms, what: told.append((took_ms, what.__name__)))

    def slow(_):
        ports.clock.now += 60

    def quick(_):
        ports.clock.now += 1

    loop.register(Source(3), READABLE, slow)
    loop.register(Source(4), READABLE, quick)
    ports.poller_made.ready = [(4, READABLE), (3, READABLE)]
    loop.turn()
    loop.turn(0)
    assert (loop.turns, loop.slow_turns) == (2, 1)
    assert told == [(61, "slow")]


@pytest.mark.contract("C33")
def test_time_in_a_poll_is_idle_time_and_no_slow_turn(loop):
    loop.after(500, lambda: None)
    loop.turn()
    assert loop.idle_ms == 500
    assert loop.slow_turns == 0


@pytest.mark.contract("E24", "E25")
def test_an_error_of_a_handler_goes_to_one_place_and_the_turn_goes_on(ports):
    told, seen = [], []
    loop = Loop(ports, on_error=lambda error, what: told.append(str(error)))

    def fails(_):
        raise ValueError("bad frame")

    async def fails_too():
        await loop.sleep(0)
        raise ValueError("bad task")

    loop.register(Source(3), READABLE, fails)
    loop.register(Source(4), READABLE, seen.append)
    loop.spawn(fails_too())
    ports.poller_made.ready = [(3, READABLE), (4, READABLE)]
    loop.turn()
    assert told == ["bad frame", "bad task"]
    assert seen == [READABLE]


def test_without_a_place_for_errors_they_are_raised(loop):
    loop.after(0, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loop.turn()


def test_run_until_returns_what_the_coroutine_returns(loop):
    async def work():
        await loop.sleep(25)
        return "done"

    assert loop.run_until(loop.spawn(work())) == "done"

    async def fails():
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        loop.run_until(loop.spawn(fails()))
