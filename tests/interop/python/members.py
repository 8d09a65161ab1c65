"""A process with members of groups and copiers in it, told what to do on standard input, a line at a time.

    join NAME group=... topic=... [assignor=...] [protocol=consumer] [instance=...] [session_ms=...]
    leave NAME
    copy NAME id=... group=... source=... partitions=... target=... records=... [stall=...]
    go NAME
    read NAME topic=... partitions=...

with tabs between the words. What happens is said on standard output in the same way: `NAME assigned TOPIC:PARTITION
...` when the group was rebalanced, `NAME read TOPIC:PARTITION:OFFSET`, `NAME left`; `NAME open` when a transaction is
held open until `go`, `NAME committed`, `NAME aborted`, `NAME done`; `NAME values VALUE ...`; and `NAME failed WHY`. The
program in Java takes and says the same. An adapter says how a client does each thing.
"""

import os
import sys
import threading
import traceback

ABORTED_EVERY = 3
POLLED_MAX = 5  # records of one transaction


class Task:
    """One member or copier, in a thread of its own."""

    _writing = threading.Lock()

    def __init__(self, name):
        self.name = name
        self._told = threading.Event()
        self._rebalances = self._seen = 0

    def say(self, *words):
        with self._writing:
            sys.stdout.write("\t".join([self.name, *map(str, words)]) + "\n")
            sys.stdout.flush()

    def tell(self):
        self._told.set()

    def is_told(self):
        return self._told.is_set()

    def wait(self):
        self._told.wait()

    def rebalanced(self, *_):
        self._rebalances += 1

    def has_rebalanced(self):
        before, self._seen = self._seen, self._rebalances
        return before != self._seen


def run(client):
    """Until standard input ends: whoever started this is gone then."""
    tasks = {}
    works = {"join": _join, "copy": _copy, "read": _read}
    for line in sys.stdin:
        verb, name, *pairs = line.rstrip("\n").split("\t")
        if verb in works:
            tasks[name] = Task(name)
            options = dict(pair.split("=", 1) for pair in pairs)
            threading.Thread(target=_work, args=(works[verb], client, tasks[name], options), daemon=True).start()
        else:
            tasks[name].tell()
    os._exit(0)


def _work(work, client, task, options):
    try:
        work(client, task, options)
    except BaseException as error:  # noqa: BLE001 - whatever this client raises, the others go on
        traceback.print_exc()
        task.say("failed", f"{type(error).__name__}: {error}".replace("\n", " ").replace("\t", " "))


def _join(client, task, options):
    member = client.member(options, task.rebalanced)
    while not task.is_told():
        read = member.poll()
        for place in read:
            task.say("read", place)
        if task.has_rebalanced():
            task.say("assigned", *sorted(member.assignment()))
    member.close()
    task.say("left")


def _copy(client, task, options):
    """Until the group has committed all records; every third transaction is aborted and done again."""
    copier = client.copier(options)
    number = 0
    while copier.committed() < int(options["records"]):
        values = copier.poll()
        if not values:
            continue
        number += 1
        copier.begin()
        for value in values:
            copier.send(value)
        if number == int(options.get("stall", 0)):
            copier.flush()
            task.say("open")
            task.wait()
            copier.send(b"from a zombie")
        if number % ABORTED_EVERY:
            copier.commit()
            task.say("committed")
        else:
            copier.abort()
            copier.rewind()
            task.say("aborted")
    copier.close()
    task.say("done")


def _read(client, task, options):
    values = client.read_committed(options["topic"], int(options["partitions"]))
    task.say("values", *(value.decode() for value in values))
