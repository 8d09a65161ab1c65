"""Mistakes that our clients must not make, each put into their code on purpose.

`MUTANTS[name](patch)` makes one; `STORY[name]` is the story that finds it.
"""

from functools import partial

from client_copy_story import Copiers
from client_group_story import GroupOfClients
from client_member import AUTO
from client_producer_story import Producers
from client_share_story import ShareGroupOfClients
from client_stalled_story import StalledRequest

from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.caller import ALL, AsynchronousCommit, Caller
from odradek.client.consumer.commit_calls import CommitCall
from odradek.client.consumer.commits import OffsetCommits
from odradek.client.consumer.errors import Wakeup
from odradek.client.consumer.in_hand import InHand
from odradek.client.producer.record_sender import RecordSender
from odradek.client.producer.sent_batch import SentBatch
from odradek.client.producer.sequencer import Sequencer
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.share_consumer.deliveries import Deliveries
from odradek.client.share_consumer.share_fetch_session import ShareFetchSession
from odradek.client.share_consumer.share_fetcher import ShareFetcher

# The consumer


def commit_the_live_position(patch):
    """And not what the program has come back from."""
    patch.setattr(Caller, "_finished", lambda self, session: session.state.positions())


def commit_all_when_the_program_has_failed(patch):
    leave = Caller.leave
    patch.setattr(Caller, "leave", lambda self, timeout_ms, commits: leave(self, timeout_ms, ALL))


def keep_what_was_fetched_before_a_seek(patch):
    """The generation is not raised, and nothing is dropped."""
    patch.setattr(AssignedPartition, "drop_buffered", lambda self: None)


def forget_who_asked_for_a_commit(patch):
    """A call that fails is not told."""
    fail = CommitCall.fail

    def forgetful(self, error):
        self.callback = None
        fail(self, error)

    patch.setattr(AsynchronousCommit, "fail", forgetful, raising=False)


def hand_out_after_a_revoke(patch):
    """What an iterator has kept is not dropped with its partition."""
    patch.setattr(InHand, "drop", lambda self, places: None)


def hand_out_what_is_paused(patch):
    hold = AssignedPartition.hold

    def never(self, *, is_paused=None, is_revoking=None):
        hold(self, is_paused=False, is_revoking=is_revoking)

    patch.setattr(AssignedPartition, "hold", never)


def strike_when_records_were_taken(patch):
    """A wakeup comes between the buffer and the program, and what was taken is forgotten."""
    taken, before = Caller._taken, Caller._before_records

    async def deaf(self, session):
        wakes = list(self.settings.wakes)
        self.settings.wakes.clear()
        await before(self, session)
        self.settings.wakes.extend(wakes)

    def struck(self, session, count_max):
        records = taken(self, session, count_max)
        if records and self.settings.wakes:
            self.settings.wakes.clear()
            session.buffer.taken = None
            raise Wakeup
        return records

    patch.setattr(Caller, "_before_records", deaf)
    patch.setattr(Caller, "_taken", struck)


# The producer


def number_a_batch_anew_when_it_goes_again(patch):
    again = RecordSender._again

    def renumbered(self, batch, error, now_ms):
        if self.manager is not None:
            self.manager.sequencer.sequences(batch.queue.place).ended(batch)
            batch.base_sequence = -1
        again(self, batch, error, now_ms)

    patch.setattr(RecordSender, "_again", renumbered)


def give_memory_back_at_completion(patch):
    """And once more when the last view is gone."""
    complete = SentBatch.complete

    def generous(self, *outcome):
        self.queue.accumulator.pool.give_back(self.queue.accumulator.batch_bytes)
        return complete(self, *outcome)

    patch.setattr(SentBatch, "complete", generous)


def send_from_memory_that_is_free(patch):
    """A batch that has its outcome gives its bytes to others, and a request may still lie in a connection."""
    encoded, complete, lent = SentBatch.encoded, SentBatch.complete, {}

    def shared(self, attributes):
        copy = bytearray().join(encoded(self, attributes))
        lent.setdefault(id(self), []).append(copy)
        return (memoryview(copy),)

    def poisoned(self, *outcome):
        for copy in lent.pop(id(self), []):
            copy[:] = b"\xdd" * len(copy)
        return complete(self, *outcome)

    patch.setattr(SentBatch, "encoded", shared)
    patch.setattr(SentBatch, "complete", poisoned)


def take_a_lost_answer_for_an_acknowledgement(patch):
    def failed(self, request, error, now_ms):
        for batch, stamp in zip(request.batches, request.stamps, strict=True):
            self._written(batch, stamp, 0, -1)
        self._landed(request, now_ms)

    patch.setattr(RecordSender, "failed", failed)


def expire_in_silence(patch):
    """A batch whose time is up is dropped, and its futures are not told."""

    def dropped(self, batch):
        self.incomplete.pop(batch, None)
        if batch in batch.queue.batches:
            batch.queue.batches.remove(batch)
            batch.queue.close_open()

    patch.setattr(RecordSender, "_expire_one", dropped)


def give_the_number_of_a_lost_batch_to_another(patch):
    gave_up = Sequencer.gave_up

    def reused(self, batch, *, may_be_stored):
        known = self.sequences(batch.partition)
        gave_up(self, batch, may_be_stored=may_be_stored)
        known.is_unresolved = False
        self._to_renumber.pop(batch.partition, None)
        if batch.has_sequence and not known.unacked:
            known.next_sequence = batch.base_sequence

    patch.setattr(Sequencer, "gave_up", reused)


# Transactions


def read_offsets_that_a_transaction_may_still_change(patch):
    made = OffsetCommits.__init__

    def unstable(self, *arguments, **options):
        made(self, *arguments, **{**options, "require_stable": False})

    patch.setattr(OffsetCommits, "__init__", unstable)


def commit_before_all_batches_have_landed(patch):
    patch.setattr(TransactionManager, "_waits_for_batches", lambda self, ask: False)


# The share consumer


def tell_only_of_acknowledgements_that_were_taken(patch):
    told = ShareFetcher._told

    def silent(self, acknowledged, error):
        if error is None:
            told(self, acknowledged, error)

    patch.setattr(ShareFetcher, "_told", silent)


def renew_and_forget(patch):
    """A lock that could not be renewed keeps the polls waiting."""
    outcome = Deliveries.outcome
    patch.setattr(Deliveries, "outcome", lambda self, said: outcome(self, said) if said.error is None else None)


def go_on_with_a_session_that_is_in_doubt(patch):
    patch.setattr(ShareFetchSession, "reset", ShareFetchSession.went_well)


AutoCommitters = partial(GroupOfClients, commits=AUTO)
STORY = {
    commit_the_live_position: AutoCommitters,
    commit_all_when_the_program_has_failed: AutoCommitters,
    keep_what_was_fetched_before_a_seek: GroupOfClients,
    forget_who_asked_for_a_commit: GroupOfClients,
    hand_out_after_a_revoke: GroupOfClients,
    hand_out_what_is_paused: GroupOfClients,
    strike_when_records_were_taken: GroupOfClients,
    number_a_batch_anew_when_it_goes_again: Producers,
    give_memory_back_at_completion: Producers,
    send_from_memory_that_is_free: StalledRequest,
    take_a_lost_answer_for_an_acknowledgement: Producers,
    expire_in_silence: Producers,
    give_the_number_of_a_lost_batch_to_another: Producers,
    read_offsets_that_a_transaction_may_still_change: Copiers,
    commit_before_all_batches_have_landed: Copiers,
    tell_only_of_acknowledgements_that_were_taken: ShareGroupOfClients,
    renew_and_forget: ShareGroupOfClients,
    go_on_with_a_session_that_is_in_doubt: ShareGroupOfClients,
}
MUTANTS = {mutant.__name__: mutant for mutant in STORY}
