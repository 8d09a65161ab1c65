"""A broker whose jobs move only when a test says so, and what a log with compaction and transactions has to keep."""

from manager_kit import SimBroker
from odradek.sim.executor import SimExecutor

PLAIN, WRITE, COMMIT, ABORT = "plain", "write", "commit", "abort"
OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"


class SteppedExecutor(SimExecutor):
    """Jobs stand still until `step`; while `is_free` they run by themselves, for a start or a stop."""

    def __init__(self, node, stream):
        super().__init__(node, stream)
        self.node = node
        self.is_free = True
        self.standing = []

    def _step_later(self, run, busy_us):
        if self.is_free:
            super()._step_later(run, busy_us)
        else:
            self.standing.append(run)

    def step(self, number):
        run = self.standing.pop(number % len(self.standing))
        self.node.after(0, lambda: self._step(run))

    def set_free(self):
        self.is_free = True
        standing, self.standing = self.standing, []
        for run in standing:
            self._step_later(run, 0)


class SteppedBroker(SimBroker):
    def boot(self, dirs=None, **options):
        self.node.boot()  # for its ports; the loop that is used is made with the executor in its place
        self.executor = SteppedExecutor(self.node, self.world.rng.stream("executor"))
        self.node.executor = self.node.ports.executor = self.executor
        return super().boot(dirs, **options)


class Transactions:
    """What the entries say: how each write ended, and which writes each marker ended."""

    def __init__(self, entries):
        self.outcomes = {}
        self.ended = {}
        opened = {}
        for offset, entry in enumerate(entries):
            if entry is None:
                continue
            _, _, producer, kind = entry
            if kind == WRITE:
                opened.setdefault(producer, []).append(offset)
            elif kind in (COMMIT, ABORT):
                self.ended[offset] = writes = opened.pop(producer, [])
                self.outcomes.update(dict.fromkeys(writes, COMMITTED if kind == COMMIT else ABORTED))
        self.first_open = {producer: writes[0] for producer, writes in opened.items()}
        self.outcomes.update({offset: OPEN for writes in opened.values() for offset in writes})

    def outcome(self, offset):
        return self.outcomes.get(offset, COMMITTED)


def unexplained(entries, found, start):
    """The offsets that are missing though compaction has to keep them, or the keys that it brought back (L8)."""
    transactions = Transactions(entries)
    newest = {}
    for offset, entry in enumerate(entries):
        if entry is not None and entry[3] in (PLAIN, WRITE) and transactions.outcome(offset) == COMMITTED:
            newest[entry[0]] = offset
    missing = [offset for offset in range(start, len(entries)) if entries[offset] is not None and offset not in found]
    return [offset for offset in missing if not _may_go(offset, entries, found, transactions, newest)]


def _may_go(offset, entries, found, transactions, newest):
    key, _, _, kind = entries[offset]
    if kind in (COMMIT, ABORT):
        return not any(write in found for write in transactions.ended[offset])
    if transactions.outcome(offset) != COMMITTED:
        return transactions.outcome(offset) == ABORTED
    last = newest[key]
    if last in found:
        return offset != last
    # The last one is a tombstone that has gone: then so has everything before it.
    is_alone = not any(
        found[each][0] == key and found[each][3] in (PLAIN, WRITE) and transactions.outcome(each) == COMMITTED
        for each in found
    )
    return entries[last][1] is None and is_alone


def entry_of(one, record):
    key, value = bytes(record.key), None if record.value is None else bytes(record.value)
    if one.is_control:
        return key, value, one.producer_id, COMMIT if key[3] == 1 else ABORT
    return key, value, one.producer_id, WRITE if one.is_transactional else PLAIN
