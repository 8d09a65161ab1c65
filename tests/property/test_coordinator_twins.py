"""What coordinators do in two ways, for the sake of speed, comes to the same: the short way is held to the long one.

`test_offsets_loading.py` holds the loading of offsets by position to the codec.
"""

from hypothesis import given
from hypothesis import strategies as st
from message_strategies import messages

from odradek.coordinator.group.records import OffsetRecords, offset_value
from odradek.coordinator.now import Now
from odradek.coordinator.transaction import states
from odradek.coordinator.transaction.core import CoreConfig, TransactionCore
from odradek.coordinator.transaction.transaction import Transaction
from odradek.protocol import registry
from odradek.protocol.errors import CoordinatorNotAvailable, NotCoordinator
from odradek.protocol.frames import OFFSETS, SHARE_STATE, TRANSACTIONS
from odradek.protocol.messages.consumer_offsets import OffsetCommitKey, OffsetCommitValue
from odradek.protocol.messages.transaction_state import TransactionLogKey
from odradek.protocol.releases import RELEASE_3_3, RELEASE_4_3
from odradek.replicated.decision import Decision
from odradek.replicated.log_record import LogRecord
from odradek.replicated.record_decoder import RecordDecoder
from odradek.replicated.runtime import Runtime
from odradek.sim.world import World

names = st.text(st.characters(codec="utf-8"), max_size=8)
int16s = st.integers(-(1 << 15), (1 << 15) - 1)
int32s = st.integers(-(1 << 31), (1 << 31) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
uuids = st.binary(min_size=16, max_size=16)

# A commit: structs made without their constructor


@given(
    release=st.sampled_from([RELEASE_3_3, RELEASE_4_3]),
    place=st.tuples(names, names, int32s),
    fields=st.tuples(int64s, int32s, names, int64s, st.just(-1) | int64s, uuids),
    producer=st.tuples(int64s, int16s),
)
def test_a_commit_made_without_constructors_is_the_same_record(release, place, fields, producer):
    group, topic, partition = place
    offset, leader_epoch, metadata, commit_ms, expire_ms, topic_id = fields
    plain_key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    plain_value = OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_timestamp=commit_ms,
        expire_timestamp=expire_ms,
        topic_id=topic_id,
    )
    made, version = OffsetRecords(release).record(*place, offset_value(*fields), *producer)
    assert made == LogRecord(plain_key, plain_value, *producer)
    assert version == (1 if expire_ms != -1 else release.record_versions["OffsetCommitValue"])
    assert OFFSETS.encode_key(made.key) == OFFSETS.encode_key(plain_key)
    assert OFFSETS.encode_value(made.value, version) == OFFSETS.encode_value(plain_value, version)


# A transaction: its own record brings the value along, a record of the log is taken apart

EPOCHS = st.integers(0, (1 << 15) - 1)


@st.composite
def transactions(draw):
    """In a state that the log may hold; an open transaction has partitions, an idle one none."""
    state = draw(st.sampled_from([*states.IDLE, *states.PREPARED, states.ONGOING]))
    parts = st.frozensets(st.tuples(names, st.integers(0, 9)), min_size=int(state == states.ONGOING), max_size=4)
    return Transaction(
        "id",
        draw(st.integers(0, 99)),
        draw(EPOCHS),
        draw(st.integers(1, 9999)),
        state,
        frozenset() if state in states.IDLE else draw(parts),
        draw(int64s),
        draw(int64s),
        draw(int64s),
        draw(int64s) if state in states.PREPARED else -1,
        draw(EPOCHS),
        draw(st.integers(0, 2)),
    )


def new_core():
    return TransactionCore(CoreConfig(lambda: 2, 1000, 1000, 1000))


def logged(record, version):
    """The record as a coordinator finds it that loads the log."""
    key, value = TRANSACTIONS.encode_key(record.key), TRANSACTIONS.encode_value(record.value, version)
    return RecordDecoder(TRANSACTIONS).decode(key, value, 0, (-1, -1))


@given(transactions())
def test_a_transaction_replayed_from_its_own_record_is_what_the_log_says(txn):
    """But for the epoch before its own, which no record holds."""
    own, loaded = new_core(), new_core()
    own.replay(txn.record(1), 0)
    loaded.replay(logged(txn.record(1), 1), 0)
    own.validate()
    loaded.validate()
    assert own.transactions["id"] == txn
    assert loaded.transactions["id"] == txn._replace(last_producer_epoch=-1)
    assert (own._ongoing, own._prepared) == (loaded._ongoing, loaded._prepared)


@given(st.lists(transactions() | st.none(), max_size=6))
def test_a_transaction_is_what_its_last_record_says(log):
    """So loading leaves out the records before it."""
    key = TransactionLogKey(transactional_id="id")
    records = [LogRecord(key, None) if txn is None else logged(txn.record(1), 1) for txn in log]
    every, last = new_core(), new_core()
    for offset, record in enumerate(records):
        every.replay(record, offset)
    for offset, record in list(enumerate(records))[-1:]:
        last.replay(record, offset)
    for core in (every, last):
        core.loaded(Now(0, 0))
        core.validate()
    assert (every.transactions, every._ongoing, every._unsent) == (last.transactions, last._ongoing, last._unsent)


# Decoding: plans that are looked up once

KINDS = [
    (codec, key, value, version)
    for codec, modules in (
        (OFFSETS, registry.OFFSETS_RECORDS),
        (TRANSACTIONS, registry.TRANSACTION_RECORDS),
        (SHARE_STATE, registry.SHARE_RECORDS),
    )
    for declared in [{name: cls for module in modules for name, cls in registry.messages_of(module).items()}]
    for name, key in declared.items()
    if name.endswith("Key")
    for value in [cls for other, cls in declared.items() if other.endswith("Value") and cls.api_key == key.api_key]
    for version in value.versions
]


@given(st.data())
def test_a_decoder_says_what_the_codec_says_of_records_of_every_kind(data):
    codec = data.draw(st.sampled_from([OFFSETS, TRANSACTIONS, SHARE_STATE]))
    decoder = RecordDecoder(codec)  # one for all records of a log: what it has learned of one must suit the next
    for _, key_class, value_class, version in data.draw(
        st.lists(st.sampled_from([kind for kind in KINDS if kind[0] is codec]), max_size=6)
    ):
        key = codec.encode_key(data.draw(messages(key_class, 0)))
        value = codec.encode_value(data.draw(messages(value_class, version)), version)
        plain = codec.decode_key(key)
        assert decoder.decode(key, value, 7, (5, 1)) == LogRecord(plain, codec.decode_value(plain, value), 5, 1)
        assert decoder.decode(key, None, 7, (5, 1)) == LogRecord(plain, None, 5, 1)


# The runtime: at once, or in steps


class Numbers:
    """A core that keeps what it is told, in order."""

    def __init__(self):
        self.kept = []

    def replay(self, record, offset):
        self.kept.append((record, offset))


class Log:
    def __init__(self):
        self.batches = []
        self.refuses = False

    def append(self, epoch, records):
        return self.append_encoded(epoch, [self.encode(record) for record in records])

    def encode(self, record):
        return bytes(record)

    def append_encoded(self, epoch, encoded):
        if self.refuses:
            raise CoordinatorNotAvailable()
        self.batches.append(list(encoded))
        return sum(map(len, self.batches)) - 1


class Rig:
    """A runtime on a log in memory, which may take encoded records."""

    def __init__(self, *, in_steps):
        self.world = World(1)
        self.node = self.world.node("n")
        self.log = Log()
        log = self.log if in_steps else None
        loop = self.node.boot()
        self.runtime = Runtime(
            loop, self.log, Numbers, refusal=NotCoordinator, on_fault=lambda error: None, encoded_log=log
        )
        self.runtime.attach()
        self.runtime.activate(0)
        self.answers = []

    def run(self, decision, refuses):
        self.log.refuses = refuses
        self.answers.append(self.runtime.run(lambda core: decision(len(core.kept))))
        self.node.attend()
        assert self.world.run_until(lambda: not self.runtime.is_busy, 10_000)

    def told(self):
        self.runtime.commit(self.runtime.appended_offset)
        return [repr(each.error) if each.error is not None else each.value() for each in self.answers]


decisions = st.tuples(
    st.sampled_from([0, 1, 2, 300, 10_001]),  # records: none, few, more than a turn takes, more than a batch may have
    st.booleans(),  # atomic
    st.booleans(),  # handed out one by one
    st.booleans(),  # the log refuses
)


@given(st.lists(decisions, max_size=4))
def test_events_that_run_at_once_and_in_steps_come_to_the_same(events):
    rigs = [Rig(in_steps=False), Rig(in_steps=True)]
    for count, is_atomic, one_by_one, refuses in events:
        for rig in rigs:

            def decision(kept, count=count, is_atomic=is_atomic, one_by_one=one_by_one):
                records = [(number % 256, 0) for number in range(count)]
                return Decision(iter(records) if one_by_one else records, kept, is_atomic=is_atomic)

            rig.run(decision, refuses)
    plain, stepped = rigs
    assert plain.log.batches == stepped.log.batches
    assert plain.runtime.core.kept == stepped.runtime.core.kept
    assert plain.told() == stepped.told()
