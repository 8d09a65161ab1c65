def test_the_monotonic_clock_never_goes_back(ports):
    shown = [ports.clock.mono_ms() for _ in range(100)]
    assert shown == sorted(shown)


def test_both_clocks_advance_by_the_same_time(outside):
    clock = outside.ports.clock
    mono, wall = clock.mono_ms(), clock.wall_ms()
    poller = outside.ports.network.poller()
    poller.poll(30)
    poller.close()
    assert clock.mono_ms() - mono >= 30
    assert abs((clock.wall_ms() - wall) - (clock.mono_ms() - mono)) <= 2


def test_the_wall_clock_shows_milliseconds_of_this_century(ports):
    assert 1_600_000_000_000 < ports.clock.wall_ms() < 4_100_000_000_000


def test_microseconds_are_of_the_same_monotonic_clock(ports):
    shown = [ports.clock.mono_us() for _ in range(100)]
    assert shown == sorted(shown)
    before, micros, after = ports.clock.mono_ms(), ports.clock.mono_us(), ports.clock.mono_ms()
    assert before <= micros // 1000 <= after
