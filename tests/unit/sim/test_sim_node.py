import errno
import gc
import sys

import pytest

from odradek.reactor.jobs import JobQueue
from odradek.sim.clock import SimClock
from odradek.sim.crash import KEEP_ALL, KILLED, LOSE_ALL, SimCrash, drawn_profile
from odradek.sim.rng import SimRng
from odradek.sim.world import World


@pytest.fixture
def world():
    return World(seed=2)


# Clocks


class Time:
    us = 0

    def __call__(self):
        return self.us


def test_a_jump_moves_the_wall_clock_only():
    time = Time()
    clock = SimClock(time)
    mono, wall = clock.mono_ms(), clock.wall_ms()
    clock.jump(-5000)
    assert (clock.mono_ms(), clock.wall_ms()) == (mono, wall - 5000)


def test_a_drifting_clock_runs_fast_or_slow_and_never_back():
    time = Time()
    clock = SimClock(time)
    time.us = 10_000_000
    clock.drift(100_000)
    assert clock.mono_ms() == 10_000
    time.us = 20_000_000
    assert clock.mono_ms() == 21_000
    clock.drift(-500_000)
    time.us = 30_000_000
    assert clock.mono_ms() == 26_000
    with pytest.raises(ValueError, match="stand still"):
        clock.drift(-1_000_000)


@pytest.mark.parametrize("drift", [0, 7, 999_999, -999_999, 123_457])
def test_a_deadline_is_reached_exactly_when_the_world_says(drift):
    time = Time()
    clock = SimClock(time, base_us=12_345)
    clock.drift(drift)
    for mono_ms in (13, 14, 1000, 77_777):
        time.us = clock.world_us_at(mono_ms)
        assert clock.mono_ms() >= mono_ms
        time.us -= 1
        assert clock.mono_ms() < mono_ms


def test_skew_is_the_nodes_own(world):
    node = world.node("a")
    node.crash()
    node.skew_ms = 3_600_000
    node.boot()
    assert abs(node.clock.wall_ms() - world.node("b").clock.wall_ms() - 3_600_000) <= 1
    assert node.clock.mono_ms() != world.node("b").clock.mono_ms()


# The loop of a node


def test_timers_of_a_node_come_on_time_by_its_own_clock(world):
    node, seen = world.node("a"), []
    loop = node.boot()
    node.clock.drift(500_000)
    loop.after(3000, lambda: seen.append(world.now_us))
    world.run_for(10_000)
    assert 1_999_000 <= seen[0] <= 2_001_000


def test_a_world_without_anything_to_do_stands_still(world):
    world.node("a").boot()
    world.run_for(60_000)
    assert world.trace.count < 10


def test_a_paused_node_does_everything_later(world):
    node, seen = world.node("a"), []
    loop = node.boot()
    loop.after(1000, lambda: seen.append(world.now_us // 1000))
    node.pause()
    world.run_for(5000)
    assert seen == []
    node.resume()
    world.run_for(1000)
    assert seen == [5000]


def test_a_crashed_node_forgets_what_it_planned(world):
    node, seen = world.node("a"), []
    loop = node.boot()
    loop.after(1000, lambda: seen.append("old life"))
    node.crash()
    node.boot().after(2000, lambda: seen.append("new life"))
    world.run_for(10_000)
    assert seen == ["new life"]


def test_what_a_former_life_had_scheduled_does_not_happen(world):
    node, seen = world.node("a"), []
    node.boot()
    node.after(1_000_000, lambda: seen.append("old life"))
    node.crash()
    node.boot()
    node.after(1_000_000, lambda: seen.append("new life"))
    world.run_for(10_000)
    assert seen == ["new life"]


def test_a_slow_disk_stalls_the_thread_that_calls_it(world):
    node, seen = world.node("a"), []
    loop = node.boot()
    file = node.ports.disk.open("/0.log", create=True)
    node.disk.slow("write", 100_000)

    def write():
        before = node.clock.mono_ms()
        file.append([b"x"])
        seen.append(node.clock.mono_ms() - before)

    loop.after(10, write)
    loop.after(11, lambda: seen.append("late"))
    world.run_for(10)
    world.run_for(1)
    assert len(seen) == 1
    assert seen[0] > 0
    assert loop.slow_turns == (1 if seen[0] > 50 else 0)
    world.run_for(300)
    assert seen[1] == "late"


# Jobs


def copy(disk, name, log):
    file = disk.open(name, create=True)
    try:
        for number in range(5):
            file.append([bytes((number,))])
            log.append(name)
            yield 1
        file.fsync()
    finally:
        file.close()
        disk.fsync_dir("/")


def interleaving(seed):
    world, log = World(seed), []
    loop = world.node("a").boot()
    for name in ("/x", "/y", "/z"):
        loop.submit(copy(loop.ports.disk, name, log))
    world.run_for(1000)
    assert len(log) == 15
    return tuple(log)


def test_the_seed_decides_how_jobs_interleave():
    assert interleaving(1) == interleaving(1)
    assert len({interleaving(seed) for seed in range(20)}) == 20


def test_a_slow_disk_makes_jobs_take_longer(world):
    node = world.node("a")
    loop = node.boot()
    node.disk.slow("fsync", 1_000_000)
    pending = loop.submit(copy(node.ports.disk, "/x", []))
    world.run_for(15)
    assert not pending.is_done
    world.run_for(2100)
    assert pending.is_done


def test_each_step_of_a_job_takes_as_long_as_its_disk_calls(world):
    node, log, times = world.node("a"), [], []
    loop = node.boot()
    node.disk.slow("write", 1_000_000)
    loop.submit(copy(node.ports.disk, "/x", log))
    for count in range(1, 6):
        world.run_until(lambda count=count: len(log) == count)
        times.append(world.now_us)
    assert times[-1] - times[0] > 1_000_000


def test_a_crash_drops_jobs_and_their_cleaning_up_reaches_nothing(world):
    node, log = world.node("a"), []
    loop = node.boot()
    disk = loop.ports.disk
    loop.submit(copy(disk, "/x", log))
    world.run_until(lambda: log)
    node.crash(LOSE_ALL)
    assert node.disk.snapshot() == {}, "the job's fsync_dir came after the crash"
    world.run_for(1000)
    assert log == ["/x"]
    with pytest.raises(SimCrash):
        disk.list("/")


async def serve(listener, loop):
    """The sockets are known to this coroutine alone, and it closes them whatever happens."""
    sockets = []
    try:
        while True:
            try:
                sockets.append(listener.accept())
            except BlockingIOError:
                await loop.sleep(1)
    finally:
        for socket in sockets:
            socket.close()


def crashed_server(world, on_call):
    server = world.node("server")
    loop = server.boot()
    loop.spawn(serve(server.ports.network.listen("", 9092), loop))
    for number in range(4):
        world.node(f"client-{number}").boot().ports.network.connect(server.address, 9092)
    world.run_for(100)
    loop = None
    sys.setprofile(on_call)
    try:
        server.crash(KILLED, silent=False)
    finally:
        sys.setprofile(None)
    world.run_for(100)
    return world.trace.digest()


def test_the_tasks_of_a_crashed_node_are_not_heard_of_whenever_they_are_collected():
    gc.freeze()  # what other tests have left need not be looked through at every call
    try:
        collected_at_every_call = crashed_server(World(seed=3), lambda *_: gc.collect())
    finally:
        gc.unfreeze()
    assert collected_at_every_call == crashed_server(World(seed=3), None)


def test_a_disk_that_goes_down_takes_its_node_along(world):
    node, log = world.node("a"), []
    loop = node.boot()
    node.disk.crash_at(3)
    loop.submit(copy(node.ports.disk, "/x", log))
    other = world.node("b").boot()
    alive = []
    other.after(500, lambda: alive.append(True))
    world.run_for(1000)
    assert not node.is_up
    assert node.loop is None
    assert len(log) == 1
    assert alive == [True]
    node.boot()
    assert node.is_up
    assert node.disk is node.ports.disk
    assert not node.disk.is_down


def test_job_queues_work_in_the_simulator(world):
    node, log = world.node("a"), []
    jobs = JobQueue(node.boot())
    for _ in range(3):
        jobs.submit("log", copy(node.ports.disk, "/x", log))
    world.run_for(1000)
    assert node.disk.read("/x") == bytes(range(5)) * 3


def test_errors_of_the_disk_reach_the_job(world):
    node = world.node("a")
    loop = node.boot()
    node.disk.fail("write", errno.EIO, nth=3)
    pending = loop.submit(copy(node.ports.disk, "/x", []))
    pending.when_done(lambda done: None)
    world.run_for(1000)
    assert pending.error.errno == errno.EIO


# Chance and trace


def test_streams_do_not_disturb_each_other():
    rng = SimRng(7)
    alone = rng.stream("one").bytes(32)
    one, two = rng.stream("one"), rng.stream("two")
    mixed = b""
    for _ in range(4):
        two.bytes(3)
        mixed += one.bytes(8)
    assert mixed == alone
    assert SimRng(8).stream("one").bytes(32) != alone
    assert rng.scoped("node").stream("one").bytes(32) != alone


def test_draws_are_the_same_for_ever():
    """A changed generator would make every recorded seed worthless."""
    stream = SimRng(7).stream("one")
    assert [stream.below(1000) for _ in range(5)] == [914, 108, 921, 456, 112]


def test_certain_chances_draw_nothing():
    stream, same = SimRng(1).stream("x"), SimRng(1).stream("x")
    assert [stream.chance(0), stream.chance(100)] == [False, True]
    assert stream.bytes(8) == same.bytes(8)
    assert 20 < sum(stream.chance(30) for _ in range(100)) < 40


def test_drawn_profiles_cover_the_certain_ones():
    stream = SimRng(1).stream("x")
    drawn = [drawn_profile(stream) for _ in range(50)]
    assert KEEP_ALL in drawn
    assert KILLED in drawn
    assert LOSE_ALL in drawn
    assert any(0 < profile.keep_percent < 100 for profile in drawn)


def test_the_trace_tells_one_history_from_another(world):
    other = World(seed=2)
    world.note("a")
    other.note("a")
    assert world.trace.digest() == other.trace.digest()
    other.note("b")
    assert world.trace.digest() != other.trace.digest()
    assert list(other.trace.lines) == ["0 a", "0 b"]
