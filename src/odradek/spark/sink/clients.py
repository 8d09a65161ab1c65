"""The clients that write, kept from one task of a worker process to the next: their connections, and what they know of
the cluster, cost more than a small micro-batch.

At least once, all tasks of a process and a configuration share one producer. Exactly once, each transactional id has
its own, and a few are kept. A client that a task has failed with is closed, and so are those that lie here when a task
is tried again: what made it fail may be in them.
"""

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from odradek import AdminClient, KafkaProducer
from odradek.client.settings import RELEASE
from odradek.config.admin import TABLE as ADMIN_TABLE

Configs = Mapping[str, str]
Producer = KafkaProducer[bytes, bytes]
Client = TypeVar("Client", Producer, AdminClient)

KEPT_MAX = 4  # transactional producers; a worker runs one task at a time, of the same few partitions
CLOSE_SECONDS = 5  # for what is open to be aborted

_Key = tuple[int, tuple[tuple[str, str], ...]]
_producers: dict[_Key, Producer] = {}
_admins: dict[_Key, AdminClient] = {}


def producer(configs: Configs) -> Producer:
    """The one of this process with these configs."""
    return _kept(_producers, configs, lambda: KafkaProducer(configs))


def transactional_producer(configs: Configs, transactional_id: str) -> Producer:
    """The one with this id; it may have prepared a transaction before."""
    named = {**configs, "transactional.id": transactional_id}
    found = _kept(_producers, named, lambda: KafkaProducer(named))
    _producers[_key(named)] = _producers.pop(_key(named))  # the last one used is the last one closed
    kept = [key for key in _producers if key[0] == os.getpid() and "transactional.id" in dict(key[1])]
    for key in kept[:-KEPT_MAX]:
        _producers.pop(key).close(CLOSE_SECONDS)
    return found


def admin(configs: Configs) -> AdminClient:
    known = ADMIN_TABLE.at(RELEASE)
    shared = {name: value for name, value in configs.items() if name in known}
    return _kept(_admins, shared, lambda: AdminClient(shared))


def drop_all() -> None:
    """Closes what is kept. An open transaction is aborted, one that is prepared is left as it is."""
    for producer in _mine(_producers):
        producer.close(CLOSE_SECONDS)
    for client in _mine(_admins):
        client.close(0)


def _kept(kept: dict[_Key, Client], configs: Configs, make: Callable[[], Client]) -> Client:
    key = _key(configs)
    if key not in kept:
        kept[key] = make()
    return kept[key]


def _mine(kept: dict[_Key, Client]) -> list[Client]:
    """Takes out what this process has opened: what its parent has is not its to close."""
    return [kept.pop(key) for key in list(kept) if key[0] == os.getpid()]


def _key(configs: Configs) -> _Key:
    return os.getpid(), tuple(sorted(configs.items()))
