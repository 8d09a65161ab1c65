"""Repair judges with code of its own, and must come to what the broker says of the same log: they may not disagree.

Where repair found less, a partition would stay set aside after it was mended; where it found more, it would take sound
records away.
"""

from hypothesis import given
from hypothesis import strategies as st

from odradek.inspection import epoch_history
from odradek.inspection.file_names import segment_file
from odradek.inspection.missing_segments import missing_segments
from odradek.inspection.salvage import empty_batch
from odradek.log import names
from odradek.log.batches.batch_check import EpochWitness
from odradek.log.batches.batch_search import DamagedSegment
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.loading.lost_segments import lost_segments
from odradek.records import writer
from odradek.records.batch import RecordBatch

OFFSETS = st.integers(0, 30)
EPOCHS = st.integers(-1, 6)
SUFFIXES = st.sets(st.sampled_from(["log", "index", "timeindex", "txnindex"]), min_size=1)


@given(st.dictionaries(OFFSETS, SUFFIXES), st.lists(OFFSETS, unique=True), st.booleans(), OFFSETS, OFFSETS)
def test_the_same_segments_are_missing(suffixes, starts, is_clean, recovery_point, log_start_offset):
    starts.sort()
    kinds = {base: [f".{suffix}" for suffix in present] for base, present in suffixes.items()}
    offsets = {"recovery_point": recovery_point, "log_start_offset": log_start_offset}
    by_broker = lost_segments(kinds, starts, is_clean=is_clean, **offsets)
    by_repair = missing_segments(
        suffixes, first_epoch_start=starts[0] if starts else None, is_clean=is_clean, **offsets
    )
    assert [tuple(each) for each in by_repair] == [tuple(each) for each in by_broker]
    assert [(each.file, each.reason) for each in by_repair] == [(each.file, each.reason) for each in by_broker]


def rising(entries):
    return LeaderEpochs(entries).entries


@given(st.lists(st.tuples(EPOCHS, OFFSETS)), st.lists(st.tuples(EPOCHS, OFFSETS), max_size=12))
def test_the_same_batch_has_a_wrong_epoch(entries, batches):
    """Batches in the order of their offsets, as a segment has them."""
    known = rising(entries)
    witness, doubts = EpochWitness(LeaderEpochs(known)), epoch_history.EpochDoubts(known)
    for position, (epoch, base_offset) in enumerate(sorted(batches, key=lambda each: each[1])):
        doubt = doubts.see(epoch, base_offset, position)
        try:
            witness.see(epoch, base_offset, position)
        except DamagedSegment as damage:
            assert doubt == (damage.position, damage.reason)
            return
        assert doubt is None


@given(st.lists(st.tuples(EPOCHS, OFFSETS)))
def test_the_same_epochs_are_learnt_from_batches(batches):
    by_broker, by_repair = LeaderEpochs(), []
    for epoch, base_offset in sorted(batches, key=lambda each: each[1]):
        by_broker.learn(epoch, base_offset)
        epoch_history.learn(by_repair, epoch, base_offset)
    # A batch of magic 2 has a position of its own: only there is an epoch without any offset between it and the next.
    if len({base_offset for _, base_offset in batches}) == len(batches):
        assert by_repair == by_broker.entries


@given(st.lists(st.tuples(EPOCHS, st.integers(-1, 30))))
def test_the_same_files_of_epochs_are_refused(entries):
    assert epoch_history.is_rising(entries) == (rising(entries) == entries)


@given(OFFSETS, OFFSETS, EPOCHS)
def test_an_empty_batch_is_what_the_cleaner_leaves(first, count, epoch):
    made = empty_batch(first, first + count + 1, epoch)
    assert made == writer.empty_batch(writer.BatchFields(partition_leader_epoch=epoch), first, first + count, -1)
    RecordBatch(made).ensure_valid()


@given(st.integers(0, 2**63 - 1))
def test_files_have_the_same_names(base_offset):
    assert segment_file(base_offset, "log") == names.file_name(base_offset, names.LOG)
