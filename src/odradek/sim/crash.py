"""What a crash does to what was not synced, in chances out of a hundred."""

from odradek.sim.rng import SimStream


class SimCrash(BaseException):
    """The machine is gone, in the middle of what it did. Not an Exception: no handler of an error may survive it."""


class CrashProfile:
    __slots__ = ("keep_percent", "name_percent", "tear_percent")

    def __init__(self, keep_percent: int, tear_percent: int, name_percent: int) -> None:
        self.keep_percent = keep_percent  # that all writes to a page have landed; if not, some of them or none
        self.tear_percent = tear_percent  # that one of the writes to a page has landed in part
        self.name_percent = name_percent  # that a created, renamed or unlinked name has landed

    def landed_of(self, count: int, stream: SimStream) -> int:
        """How many of `count` changes, which land in order, have landed."""
        if self.keep_percent <= 0 or not count:
            return 0
        return count if stream.chance(self.keep_percent) else stream.below(count)

    def __repr__(self) -> str:
        return f"CrashProfile(keep={self.keep_percent}, tear={self.tear_percent}, name={self.name_percent})"


KEEP_ALL = CrashProfile(100, 0, 100)  # the power goes, and everything had been written back
KILLED = CrashProfile(100, 0, 100)  # the process is killed: the page cache survives, with all that is not synced
LOSE_ALL = CrashProfile(0, 0, 0)  # the power goes, and nothing had been written back
MIXED = CrashProfile(50, 25, 50)  # the power goes at some point of the write-back
MIXED_WHOLE_PAGES = CrashProfile(50, 0, 50)


def drawn_profile(stream: SimStream) -> CrashProfile:
    """Any of them, the certain ones often enough."""
    kind = stream.below(5)
    if kind == 0:
        return LOSE_ALL
    if kind == 1:
        return KEEP_ALL
    if kind == 2:
        return KILLED
    return CrashProfile(stream.between(0, 100), stream.between(0, 50), stream.between(0, 100))
