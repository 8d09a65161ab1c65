import pytest

from odradek.reactor.adapters import system_ports
from odradek.reactor.jobs import JobQueue, Throttle
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Cancelled
from odradek.sim.world import World


@pytest.fixture(params=["real", "sim"])
def loop(request):
    ports = system_ports(threads=4) if request.param == "real" else World(seed=3).node("n").ports
    made = Loop(ports)
    yield made
    ports.executor.close()
    made.close()


@pytest.fixture
def jobs(loop):
    return JobQueue(loop)


def job(log, name, count=3, moved_bytes=0):
    log.append(f"{name} begins")
    for _ in range(count):
        yield moved_bytes
    log.append(f"{name} ends")
    return name


def wait_all(loop, *pendings):
    return [loop.run_until(pending) for pending in pendings]


def test_jobs_of_one_key_run_one_after_the_other(loop, jobs):
    log = []
    results = wait_all(loop, *[jobs.submit("log", job(log, name)) for name in "abc"])
    assert results == ["a", "b", "c"]
    assert log == ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]
    assert not jobs.is_busy("log")


def test_keys_do_not_wait_for_each_other(loop, jobs):
    finish = []

    def endless():
        while not finish:
            yield 0

    held = jobs.submit("one", endless())
    assert loop.run_until(jobs.submit("two", job([], "other"))) == "other"
    assert not held.is_done
    finish.append(True)
    loop.run_until(held)


def test_a_failed_job_does_not_hold_up_the_next(loop, jobs):
    def fails():
        yield 0
        raise OSError("bad disk")

    first, second = jobs.submit("log", fails()), jobs.submit("log", job([], "second"))
    with pytest.raises(OSError, match="bad disk"):
        loop.run_until(first)
    assert loop.run_until(second) == "second"


def test_cancel_stops_the_running_and_drops_the_waiting(loop, jobs):
    log = []

    def endless():
        try:
            while True:
                log.append("step")
                yield 0
        finally:
            log.append("cleaned")

    running, waiting = jobs.submit("log", endless()), jobs.submit("log", job(log, "waiting"))
    other = jobs.submit("other", job([], "other"))
    loop.run_until(other)
    jobs.cancel("log")
    after = jobs.submit("log", job(log, "after"))
    assert loop.run_until(after) == "after"
    for pending in (running, waiting):
        with pytest.raises(Cancelled):
            loop.run_until(pending)
    assert log[-3:] == ["cleaned", "after begins", "after ends"]
    assert "waiting begins" not in log
    jobs.cancel("nobody")


def test_a_throttled_job_keeps_its_rate(loop, jobs):
    clock = loop.ports.clock
    before = clock.mono_ms()
    throttle = Throttle(1_000_000)
    assert loop.run_until(jobs.submit("log", job([], "copy", 30, 10_000), throttle)) == "copy"
    assert 180 <= clock.mono_ms() - before <= 1500, "300 KB at 1 MB/s, of which 100 ms were saved up"


def test_a_throttle_is_shared(loop, jobs):
    clock = loop.ports.clock
    before = clock.mono_ms()
    throttle = Throttle(1_000_000)
    both = [jobs.submit(key, job([], key, 20, 10_000), throttle) for key in ("one", "two")]
    wait_all(loop, *both)
    assert 280 <= clock.mono_ms() - before <= 1500


def test_a_throttled_job_that_waits_is_cancelled_and_cleans_up(loop, jobs):
    log = []

    def copy():
        try:
            while True:
                yield 1_000_000
        finally:
            log.append("cleaned")

    pending = jobs.submit("log", copy(), Throttle(1000))
    loop.run_until(loop.sleep(20))
    assert not pending.is_done
    jobs.cancel("log")
    with pytest.raises(Cancelled):
        loop.run_until(pending)
    assert log == ["cleaned"]
    assert loop.run_until(jobs.submit("log", job([], "next"))) == "next"


def test_a_throttled_job_that_fails_tells(loop, jobs):
    def fails():
        yield 10
        raise OSError("bad disk")

    with pytest.raises(OSError, match="bad disk"):
        loop.run_until(jobs.submit("log", fails(), Throttle(1000)))


def test_a_throttle_saves_up_only_a_little():
    throttle = Throttle(1000)
    assert throttle.allowance_bytes(0) == 100
    throttle.spend(100)
    assert throttle.allowance_bytes(0) == 0
    assert throttle.wait_ms(0) == 1
    assert throttle.allowance_bytes(50) == 50
    assert throttle.allowance_bytes(1_000_000) == 100
    throttle.spend(600)
    assert throttle.wait_ms(1_000_000) == 501
    assert throttle.allowance_bytes(1_000_501) == 1


def test_a_throttle_needs_a_rate():
    with pytest.raises(ValueError, match="positive"):
        Throttle(0)
