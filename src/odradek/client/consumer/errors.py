"""What goes wrong between a program and its consumer. No broker answers any of these: they have no codes."""
# ruff: noqa: N818 -- the names are those of Kafka's exceptions, few of which end in "error"

from odradek.protocol.errors import KafkaError, RetriableError


class CommitFailed(KafkaError):
    """The offsets cannot be committed any more: the member was removed from its group, and others may have been given
    its partitions. What was read since the last commit comes again, here or there.
    """

    message = (
        "The offsets were not committed: the consumer is no member of its group any more. That happens when too much "
        "time passes between two polls: raise max.poll.interval.ms, or have max.poll.records bring fewer at a time."
    )


class RetriableCommitFailed(RetriableError):
    """An asynchronous commit has failed by something that passes. It is not tried again: that could overtake a later
    one. Commit again if the offsets are still the ones to commit.
    """

    message = "The offsets were not committed, for a reason that passes: commit the latest ones again."


class ConcurrentAccess(RuntimeError):
    """A second thread has called the consumer while a first one was in it, or a callback has called `poll`. Only
    `wakeup` and `state` may be used at any time.
    """


class Wakeup(Exception):
    """Another thread has called `wakeup`: the call that waited has ended without a result."""
