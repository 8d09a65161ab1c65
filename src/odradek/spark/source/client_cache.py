"""The consumers of a worker process, kept from one task to the next: a micro-batch of a few rows would otherwise spend
its time on connections.

A task borrows one and gives it back when it has ended well. One that a task has failed with is closed, and so are those
that lie here when a task is tried again: what made it fail may be in them. One that nobody has used for five minutes is
closed by the next task.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from odradek.client.consumer.range_reading import RangeConsumer, range_consumer

_IDLE_MAX = 4  # of one configuration; a worker runs one task at a time, so one is the rule
_IDLE_S_MAX = 300.0

_Key = tuple[int, tuple[tuple[str, str], ...]]
_idle: dict[_Key, list[tuple[RangeConsumer, float]]] = {}  # with the time at which it was given back


@contextmanager
def borrowed(configs: Mapping[str, str], *, is_retry: bool) -> Iterator[RangeConsumer]:
    key = (os.getpid(), tuple(sorted(configs.items())))  # a fork must not use what its parent has opened
    _close_old(key if is_retry else None)
    idle = _idle.get(key)
    consumer = idle.pop()[0] if idle else range_consumer(configs)
    try:
        yield consumer
    except BaseException:
        consumer.close(0)
        raise
    _keep(key, consumer)


def _close_old(doubted: _Key | None) -> None:
    """Those that were idle too long, and all of the doubted configuration."""
    since = time.monotonic() - _IDLE_S_MAX
    for key, idle in [(key, idle) for key, idle in _idle.items() if key[0] == os.getpid()]:
        old = [each for each in idle if key == doubted or each[1] < since]
        _idle[key] = [each for each in idle if each not in old]
        for consumer, _ in old:
            consumer.close(0)


def _keep(key: _Key, consumer: RangeConsumer) -> None:
    idle = _idle.setdefault(key, [])
    if len(idle) < _IDLE_MAX:
        idle.append((consumer, time.monotonic()))
    else:
        consumer.close(0)
