"""Mistakes that a transaction coordinator must not make, each put into the code on purpose, and the test that notices.

A test that stays green with its mutant would prove nothing.
"""

import importlib.util
from pathlib import Path

import pytest
import test_transaction_sim as sim

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator import shard as shards
from odradek.coordinator.transaction import core as cores
from odradek.coordinator.transaction import ending, initializing, marker_sender
from odradek.coordinator.transaction.core import TransactionCore
from odradek.coordinator.transaction.transaction import Transaction
from odradek.handlers import k27_write_txn_markers as k27
from odradek.handlers import k28_txn_offset_commit as k28
from odradek.log.producers.producer_state import ProducerState
from odradek.log.producers.transaction_verification import Verifications
from odradek.replica import transactions as produce_path
from transaction_kit import retold

UNIT = Path(__file__).parent.parent / "unit"
STORIES = UNIT / "coordinator" / "transaction" / "transaction_stories"


def story(name):
    def run():
        text = (STORIES / f"{name}.txt").read_text()
        assert retold(text) == text

    return run


def unit(path, name, *arguments):
    """A test of another directory."""

    def run():
        spec = importlib.util.spec_from_file_location(Path(path).stem, UNIT / path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        getattr(module, name)(*arguments)

    return run


def on_a_broker(test, *arguments):
    def run():
        test(sim.started(3), *arguments)

    return run


GATE = "coordinator/transaction/test_transaction_gate.py"


# The coordinator


def keep_the_epoch_at_the_end(patch):
    def prepared(self, is_commit, now_ms, client_version, *, last_epoch, next_producer_id):
        return self.prepared(is_commit, now_ms, client_version)

    patch.setattr(Transaction, "prepared_in_next_epoch", prepared)


def end_with_any_epoch(patch):
    patch.setattr(ending, "_may_answer", lambda state, is_current, is_repeated: True)


def add_with_any_epoch(patch):
    patch.setattr(TransactionCore, "_current", lambda self, transactional_id, producer: self._known(transactional_id))


def complete_whatever_is_prepared(patch):
    def to_send(self, wanted):
        return self.transactions.get(wanted.transactional_id)

    def complete(self, now, wanted):
        return self._write(self.transactions[wanted.transactional_id].completed(now.wall_ms), True)

    patch.setattr(TransactionCore, "to_send", to_send)
    patch.setattr(TransactionCore, "complete", complete)


def let_the_next_begin_before_the_markers(patch):
    patch.setattr(cores.states, "PREPARED", frozenset())


def remember_the_epoch_of_a_predecessor(patch):
    before = initializing.next_epoch

    def next_epoch(txn, expected):
        epoch, last_epoch = before(txn, expected)
        return epoch, txn.producer_epoch if expected is None else last_epoch

    patch.setattr(initializing, "next_epoch", next_epoch)


def let_an_unknown_producer_go_on(patch):
    patch.setattr(initializing, "check_known", lambda txn, expected: None)


def use_the_last_epoch_up(patch):
    patch.setattr(Transaction, "is_epoch_exhausted", property(lambda self: self.producer_epoch >= 2**15 - 1))


def never_time_out(patch):
    patch.setattr(cores, "_is_overdue", lambda txn, now: False)


def forget_what_is_open(patch):
    patch.setattr(cores.states, "IDLE", frozenset(range(6)))


def forget_what_was_decided_before(patch):
    patch.setattr(TransactionCore, "follow_up", lambda self, now: None)


def read_a_commit_as_an_abort(patch):
    before = Transaction.of

    def of(transactional_id, value):
        txn = before(transactional_id, value)
        return txn._replace(state=3) if txn.state == 2 else txn

    patch.setattr(Transaction, "of", staticmethod(of))


# Markers


def send_markers_before_the_decision_is_committed(patch):
    def run(self, event):
        effects = []

        def decide(core):
            decision = event(core)
            effects.extend(getattr(decision, "effects", ()))
            return decision

        pending = self.runtime.run(decide)
        for effect in effects:
            self._perform(self, effect)
        return pending

    patch.setattr(shards.Shard, "_run", run)


def send_markers_once(patch):
    patch.setattr(marker_sender, "_DONE_CODES", frozenset(range(-1, 200)))


def complete_after_the_first_answer(patch):
    async def bring_once(self, shard, wanted):
        txn = shard.core.to_send(wanted)
        await self._attempt(shard.epoch, txn, set(txn.partitions))
        return True

    patch.setattr(marker_sender.MarkerSender, "_bring_to_all", bring_once)


def mark_every_end_as_a_commit(patch):
    before = marker_sender._marker

    def marker(*arguments):
        made = before(*arguments)
        made.transaction_result = True
        return made

    patch.setattr(marker_sender, "_marker", marker)


def take_any_epoch_of_a_marker(patch):
    patch.setattr(ProducerState, "check_marker_epoch", lambda self, producer_id, epoch, version: None)


def forget_the_group_coordinator(patch):
    patch.setattr(k27, "OFFSETS_TOPIC", "another topic")


# The leaders


def take_the_producer_at_its_word(patch):
    from odradek.handlers import k00_produce

    patch.setattr(k00_produce, "check_transaction", lambda replicas, partition, records, version: False)


def take_the_word_for_offsets(patch):
    async def brought_in(call, request, partition):
        return None

    patch.setattr(k28, "_brought_in", brought_in)


def keep_the_permission_over_a_marker(patch):
    patch.setattr(Verifications, "end", lambda self, producer_id: None)


def ask_only_once(patch):
    patch.setattr(produce_path, "ASKED_MAX", 1)


def let_any_batch_be_the_first(patch):
    def check(self, producer_id, sequence, guard, *, is_first):
        return None

    patch.setattr(Verifications, "check", check)


def all_seeds():
    for seed in range(20):
        sim.test_transactions_are_whole_whatever_happens(seed)


def log_test(name):
    def run():
        path = UNIT / "log" / "producers" / "test_transaction_verification.py"
        spec = importlib.util.spec_from_file_location("test_transaction_verification", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        log = module.Partition(module.SimDisk(module.SimRng(1).stream("disk")), module.config()).log
        getattr(module, name)(log)

    return run


KILLED_BY = {
    keep_the_epoch_at_the_end: story("a_transaction_of_version_2"),
    end_with_any_epoch: story("nothing_late_touches_the_next_transaction"),
    add_with_any_epoch: story("who_may_not"),
    complete_whatever_is_prepared: story("nothing_late_touches_the_next_transaction"),
    let_the_next_begin_before_the_markers: story("a_transaction_of_version_2"),
    remember_the_epoch_of_a_predecessor: story("a_zombie_names_itself"),
    let_an_unknown_producer_go_on: story("going_on_after_an_error"),
    use_the_last_epoch_up: story("the_last_epoch"),
    never_time_out: story("timeouts"),
    forget_what_is_open: story("unused_ids_are_forgotten"),
    forget_what_was_decided_before: story("a_coordinator_takes_over"),
    read_a_commit_as_an_abort: story("a_coordinator_takes_over"),
    send_markers_before_the_decision_is_committed: unit(
        GATE, "test_the_decision_is_answered_and_the_markers_are_sent_when_it_is_committed"
    ),
    send_markers_once: unit(GATE, "test_an_answer_that_never_comes_back"),
    complete_after_the_first_answer: unit(GATE, "test_an_answer_that_never_comes_back"),
    mark_every_end_as_a_commit: on_a_broker(sim.test_what_is_committed_is_seen_and_what_is_aborted_is_not, 2),
    take_any_epoch_of_a_marker: on_a_broker(sim.test_nothing_late_of_one_transaction_touches_the_next),
    forget_the_group_coordinator: on_a_broker(sim.test_offsets_move_with_the_transaction, 2),
    take_the_producer_at_its_word: on_a_broker(sim.test_a_record_that_was_never_added_is_refused),
    take_the_word_for_offsets: on_a_broker(sim.test_a_zombie_can_neither_write_nor_end, 2),
    keep_the_permission_over_a_marker: log_test("test_a_marker_takes_the_permission_away"),
    ask_only_once: all_seeds,
    let_any_batch_be_the_first: log_test("test_a_producer_of_version_2_begins_with_0"),
}


@pytest.mark.parametrize("mutant", KILLED_BY, ids=lambda mutant: mutant.__name__)
def test_mutant_is_noticed(mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, BrokenRuleError, pytest.fail.Exception, TypeError)):
        KILLED_BY[mutant]()


@pytest.mark.parametrize("mutant", KILLED_BY, ids=lambda mutant: mutant.__name__)
def test_without_the_mutant_it_is_green(mutant):
    if KILLED_BY[mutant] is not all_seeds:  # which runs by itself
        KILLED_BY[mutant]()
