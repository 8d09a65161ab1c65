"""What this broker is to a partition that the metadata gives it: one class per role, each with only its own fields.

Which event leads from one role to another is told in partition.py. The leader has a file of its own, leader.py.
"""

from odradek.log.log import Log


class Role:
    """A role without an open log has None for it."""

    __slots__ = ()

    log: Log | None = None

    def __repr__(self) -> str:
        return type(self).__name__


class Opening(Role):
    """The metadata names us as a replica, and the log is still to be opened or made."""

    __slots__ = ()


class Online(Role):
    """The log is open. Another log may take its place: a copy in another log dir that has caught up."""

    __slots__ = ("log",)

    log: Log

    def __init__(self, log: Log) -> None:
        self.log = log

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.log})"


class Follower(Online):
    """Another broker leads the partition, or nobody does."""

    __slots__ = ()


class Offline(Role):
    """There is a log, and it cannot be used. `reason` is told to clients: it names no paths."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.reason})"


class Damaged(Offline):
    """The log itself is damaged and was set aside; the other logs of its dir are served."""

    __slots__ = ()


class Removed(Role):
    """Deleted, given to other brokers, or left behind by a broker that stops. Nothing comes after it."""

    __slots__ = ()


OPENING = Opening()
DIR_FAILED = Offline("its log dir has failed")
DAMAGED = Damaged("its log is damaged and was set aside; the broker's log tells where")
REMOVED = Removed()
