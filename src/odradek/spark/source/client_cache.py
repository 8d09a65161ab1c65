"""The consumers of a worker process, kept from one task to the next: a micro-batch of a few rows would otherwise spend
its time on connections.

A task borrows one and gives it back when it has ended well. One that a task has failed with is closed, and so are those
that lie here when a task is tried again: what made it fail may be in them.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from odradek.client.consumer.range_reading import RangeConsumer, range_consumer

_IDLE_MAX = 4  # of one configuration; a worker runs one task at a time, so one is the rule

_Key = tuple[int, tuple[tuple[str, str], ...]]
_idle: dict[_Key, list[RangeConsumer]] = {}


@contextmanager
def borrowed(configs: Mapping[str, str], *, is_retry: bool) -> Iterator[RangeConsumer]:
    key = (os.getpid(), tuple(sorted(configs.items())))  # a fork must not use what its parent has opened
    if is_retry:
        for consumer in _idle.pop(key, []):
            consumer.close(0)
    consumers = _idle.get(key)
    consumer = consumers.pop() if consumers else range_consumer(configs)
    try:
        yield consumer
    except BaseException:
        consumer.close(0)
        raise
    _keep(key, consumer)


def _keep(key: _Key, consumer: RangeConsumer) -> None:
    idle = _idle.setdefault(key, [])
    if len(idle) < _IDLE_MAX:
        idle.append(consumer)
    else:
        consumer.close(0)
