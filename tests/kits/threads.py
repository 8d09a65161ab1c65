"""The end of a thread that a test has started."""

SECONDS_MAX = 60


def joined(thread, seconds=SECONDS_MAX):
    thread.join(seconds)
    assert not thread.is_alive(), f"{thread.name} hangs"
