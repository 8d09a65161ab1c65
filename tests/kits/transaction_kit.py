"""The core of a transaction coordinator with a log in memory, told in stories.

What the core decides is encoded with the real codec, decoded again and replayed; `reload` loads a new core from that. A
story is text: a command, a line of dashes, what it comes to.

    end a 1@0 commit v2          EndTxn of the producer id 1 in epoch 0, by a client of transaction version 2
    ----
    1@1                          the answer, or the name of the error
    a PrepareCommit 1@1 t-0      the record
    markers for a 1@1            the effect

Commands: init ID [PID@EPOCH] [timeout MS]; add ID PID@EPOCH PARTITION... v1|v2; verify ID PID@EPOCH PARTITION...;
end ID PID@EPOCH commit|abort v1|v2; complete ID PID@EPOCH; wait MS; reload; show [ID]; raise ID EPOCH (as if so many
transactions had been); fail (the next append).
"""

from odradek.coordinator.now import Now
from odradek.coordinator.transaction import states
from odradek.coordinator.transaction.core import CoreConfig, TransactionCore
from odradek.coordinator.transaction.effects import AbortOverdue, SendMarkers
from odradek.coordinator.transaction.transaction import NO_PRODUCER, ProducerIdAndEpoch
from odradek.protocol.errors import CoordinatorNotAvailable, KafkaError
from odradek.protocol.frames import TRANSACTIONS
from odradek.replicated.log_record import LogRecord

WALL_MS = 1_700_000_000_000
TIMEOUT_MS = 60_000
ABORT_INTERVAL_MS = 10_000
DAY_MS = 86_400_000


def producer(text):
    return ProducerIdAndEpoch(*map(int, text.split("@")))


def written(pair):
    return "nobody" if pair == NO_PRODUCER else f"{pair[0]}@{pair[1]}"


class TransactionStory:
    """`log` is what was appended: decoded records with their offset."""

    def __init__(self, transaction_version=2):
        self.transaction_version = transaction_version
        self.config = CoreConfig(lambda: self.transaction_version, ABORT_INTERVAL_MS, 7 * DAY_MS, 3_600_000)
        self.mono_ms = 0
        self.wall_ms = WALL_MS
        self.next_id = 1
        self.log = []
        self.effects = []
        self.told = []
        self.fails = False
        self.core = TransactionCore(self.config)
        self.core.loaded(self.now)

    @property
    def now(self):
        return Now(self.mono_ms, self.wall_ms)

    # Running events, as a shard and a coordinator do

    def run(self, event):
        decision = event(self.core)
        if decision.records and self.fails:
            self.fails = False
            raise CoordinatorNotAvailable
        for record, version in decision.records:
            key = TRANSACTIONS.decode_key(TRANSACTIONS.encode_key(record.key))
            value = None
            if record.value is not None:
                value = TRANSACTIONS.decode_value(key, TRANSACTIONS.encode_value(record.value, version))
            self.log.append((LogRecord(key, value), len(self.log)))
            self.core.replay(record, len(self.log) - 1)
            self.told.append(self.record_text(key, value))
        for effect in decision.effects:
            self.effects.append(effect)
            self.told.append(effect_text(effect))
        self.core.validate()
        return decision.response

    def run_needy(self, event):
        response = self.run(lambda core: event(core, None))
        if response is None:
            fresh_id, self.next_id = self.next_id, self.next_id + 1
            response = self.run(lambda core: event(core, fresh_id))
        return response

    def follow_up(self):
        while (decision := self.core.follow_up(self.now)) is not None:
            self.run(lambda core, decided=decision: decided)

    def reload(self):
        """The same state, but for what no record holds."""
        before = self.core.transactions
        self.core = TransactionCore(self.config)
        for record, offset in self.log:
            self.core.replay(record, offset)
        self.core.validate()
        assert self.core.transactions.keys() == before.keys()
        for transactional_id, txn in before.items():
            kept = txn._replace(last_producer_epoch=-1)
            if self.transaction_version == 0:
                kept = kept._replace(previous_producer_id=-1, client_version=0)
            assert self.core.transactions[transactional_id] == kept
        self.core.loaded(self.now)
        self.follow_up()

    # Events

    def init(self, transactional_id, expected=None, timeout_ms=TIMEOUT_MS):
        return self.run_needy(
            lambda core, fresh: core.init_producer_id(self.now, transactional_id, timeout_ms, expected, fresh)
        )

    def add(self, transactional_id, pair, partitions, version=2):
        return self.run(lambda core: core.add_partitions(self.now, transactional_id, pair, partitions, version))

    def verify(self, transactional_id, pair, partitions):
        return self.run(lambda core: core.missing_partitions(transactional_id, pair, partitions))

    def end(self, transactional_id, pair, is_commit, version=2):
        return self.run_needy(lambda core, fresh: core.end(self.now, transactional_id, pair, is_commit, version, fresh))

    def complete(self, transactional_id, pair):
        return self.run(lambda core: core.complete(self.now, SendMarkers(transactional_id, pair)))

    def wait(self, ms):
        """Lets the time go on, from deadline to deadline."""
        until_ms = self.mono_ms + ms
        while (deadline_ms := self.core.next_deadline_ms()) is not None and deadline_ms <= until_ms:
            self._advance(max(0, deadline_ms - self.mono_ms))
            while (decision := self.core.expire(self.now)) is not None:
                at = len(self.effects)
                self.run(lambda core, decided=decision: decided)
                for overdue in self.effects[at:]:
                    self.run_needy(lambda core, fresh, one=overdue: core.abort_overdue(self.now, one, fresh))
        self._advance(until_ms - self.mono_ms)

    def _advance(self, ms):
        self.mono_ms += ms
        self.wall_ms += ms

    def raise_epoch(self, transactional_id, epoch):
        """As if there had been as many transactions."""
        txn = self.core.transactions[transactional_id]
        raised = txn._replace(producer_epoch=epoch, last_producer_epoch=-1)
        self.run(lambda core: core._write(raised, None))

    def state(self, transactional_id):
        return states.NAMES[self.core.transactions[transactional_id].state]

    # Text

    def record_text(self, key, value):
        if value is None:
            return f"{key.transactional_id} forgotten"
        partitions = [
            f"{each.topic}-{index}" for each in value.transaction_partitions or () for index in each.partition_ids
        ]
        state = states.NAMES[value.transaction_status]
        pair = written((value.producer_id, value.producer_epoch))
        following = f"then {value.next_producer_id}@0" if value.next_producer_id >= 0 else ""
        return " ".join(filter(None, (key.transactional_id, state, pair, following, *partitions)))

    def tell(self, command):
        """One command; the lines that it comes to."""
        self.told = []
        words = command.split()
        try:
            response = getattr(self, f"_tell_{words[0]}")(*words[1:])
        except KafkaError as error:
            response = error.name
        return [response, *self.told] if response else self.told

    def _tell_init(self, transactional_id, *rest):
        words = list(rest)
        expected = producer(words.pop(0)) if words and "@" in words[0] else None
        timeout_ms = int(words[1]) if words else TIMEOUT_MS
        return written(self.init(transactional_id, expected, timeout_ms))

    def _tell_add(self, transactional_id, pair, *words):
        self.add(transactional_id, producer(pair), partitions_of(words[:-1]), int(words[-1][1:]))
        return "ok"

    def _tell_verify(self, transactional_id, pair, *words):
        missing = self.verify(transactional_id, producer(pair), partitions_of(words))
        return "missing " + " ".join(f"{topic}-{index}" for topic, index in sorted(missing)) if missing else "ok"

    def _tell_end(self, transactional_id, pair, how, version):
        return written(self.end(transactional_id, producer(pair), how == "commit", int(version[1:])))

    def _tell_complete(self, transactional_id, pair):
        return "ok" if self.complete(transactional_id, producer(pair)) else "nothing to complete"

    def _tell_wait(self, ms):
        self.wait(int(ms))

    def _tell_reload(self):
        self.reload()

    def _tell_raise(self, transactional_id, epoch):
        self.raise_epoch(transactional_id, int(epoch))

    def _tell_fail(self):
        self.fails = True

    def _tell_show(self, *wanted):
        for transactional_id, txn in sorted(self.core.transactions.items()):
            if not wanted or transactional_id in wanted:
                self.told.append(f"{transactional_id} {states.NAMES[txn.state]} {written(txn.producer)}")


def partitions_of(words):
    return [(topic, int(index)) for topic, _, index in (word.rpartition("-") for word in words)]


def effect_text(effect):
    what = "overdue:" if type(effect) is AbortOverdue else "markers for"
    return f"{what} {effect.transactional_id} {written(effect.producer)}"


def retold(text):
    """The story as it goes now. Lines with # are its title; `# version N` sets transaction.version."""
    lines = text.splitlines()
    version = next((int(line.split()[-1]) for line in lines if line.startswith("# version")), 2)
    story = TransactionStory(version)
    out, block = [], []
    for line in [*lines, ""]:
        if line.startswith("#"):
            out.append(line)
        elif line.strip():
            block.append(line)
        elif block:
            out += ["", block[0], "----", *story.tell(block[0])]
            block = []
    return "\n".join(out) + "\n"
