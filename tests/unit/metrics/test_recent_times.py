"""How long things took, of the last minute."""

from odradek.metrics.recent_times import WINDOW_MS, RecentTimes


class Clock:
    now_ms = 0

    def mono_ms(self):
        return self.now_ms


def test_those_of_another_count_as_its_own_for_as_long_as_they_are_recent():
    clock = Clock()
    mine, others = RecentTimes(clock.mono_ms), RecentTimes(clock.mono_ms)
    assert (mine.average_ms(), mine.max_ms()) == (None, None)
    others.add(30)
    clock.now_ms = 10
    mine.add(10)
    mine.take_over(others)
    assert (mine.average_ms(), mine.max_ms()) == (20, 30)
    clock.now_ms = WINDOW_MS + 1
    assert (mine.average_ms(), mine.max_ms()) == (10, 10)
    clock.now_ms = WINDOW_MS + 11
    assert mine.max_ms() is None
