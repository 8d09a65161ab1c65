"""Mistakes that transactions on a bad network bring to light, each put into the broker on purpose.

Some of them are those that unit stories find, too (`test_transaction_mutants.py`).
"""

import test_transaction_mutants as of_units

from odradek.coordinator.group.core import GroupCore
from odradek.coordinator.transaction import initializing
from odradek.log.producers.producer_state import ProducerState
from odradek.records.layout import NO_PRODUCER_EPOCH
from odradek.replica.fetch import at_once, reading
from odradek.replicated.log_record import EndMarker


def take_a_batch_twice(patch):
    patch.setattr(ProducerState, "duplicate_of", lambda self, batch: None)
    patch.setattr(ProducerState, "_check_sequence", lambda self, entry, batch: None)


def take_records_of_any_epoch(patch):
    """A zombie, or what it has left on the way."""
    patch.setattr(ProducerState, "_check_epoch", lambda self, entry, epoch: None)
    of_units.add_with_any_epoch(patch)


def show_what_is_open(patch):
    patch.setattr(ProducerState, "first_unstable_offset", property(lambda self: None))


def tell_of_no_aborted_transaction(patch):
    patch.setattr(reading, "aborted", lambda fetched: [])
    patch.setattr(at_once, "aborted", lambda fetched: [])


def fence_nobody(patch):
    def next_epoch(txn, expected):
        return max(txn.producer_epoch, 0), NO_PRODUCER_EPOCH

    patch.setattr(initializing, "next_epoch", next_epoch)


def count_the_offsets_of_an_aborted_transaction(patch):
    before = GroupCore.replay

    def replay(self, record, offset):
        before(self, record._replace(is_commit=True) if isinstance(record, EndMarker) else record, offset)

    patch.setattr(GroupCore, "replay", replay)


MUTANTS = {  # and the seeds that find it
    count_the_offsets_of_an_aborted_transaction: (1, 2),
    fence_nobody: (9, 37),
    show_what_is_open: (0, 1),
    take_a_batch_twice: (0, 2),
    take_records_of_any_epoch: (0, 1),
    tell_of_no_aborted_transaction: (0, 1),
    of_units.add_with_any_epoch: (11, 33),
    of_units.complete_after_the_first_answer: (0, 1, 2),
    of_units.end_with_any_epoch: (4, 10),
    of_units.forget_the_group_coordinator: (0, 1, 2),
    of_units.forget_what_was_decided_before: (3, 5),
    of_units.keep_the_epoch_at_the_end: (0,),
    of_units.mark_every_end_as_a_commit: (0, 1, 2),
    of_units.read_a_commit_as_an_abort: (10, 18),
    of_units.send_markers_once: (0, 1, 2),
    of_units.take_any_epoch_of_a_marker: (0, 1),
    of_units.take_the_producer_at_its_word: (0, 1, 2),
    of_units.take_the_word_for_offsets: (0, 1, 2),
}
