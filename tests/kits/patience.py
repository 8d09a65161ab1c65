"""An end for the loops of tests: `while in_time() and not consumer.assignment(): consumer.poll(0.1)`."""

import time

SECONDS_MAX = 60


class Patience:
    """True for so many seconds; then it fails the test."""

    def __init__(self, seconds=SECONDS_MAX):
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def __call__(self):
        assert time.monotonic() < self._until, f"it did not happen within {self._seconds} s"
        return True
