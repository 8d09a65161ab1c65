"""Mistakes that a broker must not make, each put into the code on purpose. `MUTANTS[name](patch)` makes one."""

from odradek.broker.producer_ids import ProducerIds
from odradek.log import flush as log_flush
from odradek.log import read as log_read
from odradek.log.producers.producer_entry import ProducerEntry
from odradek.log.producers.producer_state import ProducerState
from odradek.metadata.partition import PartitionRegistration
from odradek.raft.metadata_log import MetadataLog
from odradek.replica import apply as replica_apply
from odradek.replica import produce as replica_produce
from odradek.replica.leader import Leader
from odradek.replicated.runtime import Runtime, _finish


def acknowledge_before_the_flush(patch):
    """flush.messages=1, and the answer does not wait for it."""

    async def after_flush(replicas, leader, info, flushed, request):
        return info

    patch.setattr(replica_produce, "_after_flush", after_flush)


def acknowledge_a_repeated_batch_before_the_flush(patch):
    """Whoever sends a batch again while it is being flushed is answered at once."""
    before = replica_produce._after_flush

    async def after_flush(replicas, leader, info, flushed, request):
        return info if info.is_duplicate else await before(replicas, leader, info, flushed, request)

    patch.setattr(replica_produce, "_after_flush", after_flush)


def show_what_is_not_flushed(patch):
    """The high watermark follows the end of the log, not of what is on disk."""

    def advance_high_watermark(self):
        if self.log.high_watermark >= self.log.log_end_offset:
            return False
        self.log.advance_high_watermark_to_end()
        self.partition.wake()
        return True

    patch.setattr(Leader, "advance_high_watermark", advance_high_watermark)


def forget_the_names_of_a_flush(patch):
    """The files are synced, the directory that names them is not."""
    patch.setattr(log_flush, "sync_dir_if_there", lambda disk, directory: None)


def keep_the_leader_epoch_over_a_restart(patch):
    changed = PartitionRegistration.changed

    def same_epoch(self, record):
        return changed(self, record)._replace(leader_epoch=self.leader_epoch)

    patch.setattr(PartitionRegistration, "changed", same_epoch)


def tell_no_divergence(patch):
    """A fetch does not look at the epoch of what was fetched last."""
    patch.setattr(Leader, "divergence", lambda self, entry: None)


def keep_no_batches_of_producers(patch):
    """A batch that comes again is not known any more."""
    patch.setattr(ProducerEntry, "duplicate_of", lambda self, epoch, first_sequence, last_sequence: None)


def check_no_sequences(patch):
    keep_no_batches_of_producers(patch)
    patch.setattr(ProducerState, "_check_sequence", lambda self, entry, batch: None)


def take_older_producer_epochs(patch):
    patch.setattr(ProducerState, "_check_epoch", lambda self, entry, epoch: None)


def use_a_block_of_producer_ids_again(patch):
    """The block belongs to the node, not to its incarnation."""

    async def _allocate(self):
        return range(1000, 2000)

    patch.setattr(ProducerIds, "_allocate", _allocate)


def answer_metadata_before_the_commit(patch):
    patch.setattr(
        Runtime, "_answer_when_committed", lambda self, pending, response, error: _finish(pending, response, error)
    )


def commit_metadata_before_the_fsync(patch):
    async def _run_flush(self, plan):
        self.log.flushed(plan)

    patch.setattr(MetadataLog, "_run_flush", _run_flush)


def keep_a_view_of_the_request(patch):
    """A parked request still points into the receive buffer."""
    patch.setattr(
        replica_produce,
        "bytearray",
        lambda data: data if isinstance(data, memoryview) else bytearray(data),
        raising=False,
    )


def show_more_than_is_committed(patch):
    """Consumers are served to the end of the log."""
    patch.setattr(log_read, "_limit", lambda log, isolation: log.log_end_offset)


def keep_the_files_of_a_deleted_topic(patch):
    async def _delete(replicas, name, index):
        return None

    patch.setattr(replica_apply, "_delete", _delete)


MUTANTS = {
    mutant.__name__: mutant
    for mutant in (
        acknowledge_before_the_flush,
        acknowledge_a_repeated_batch_before_the_flush,
        show_what_is_not_flushed,
        forget_the_names_of_a_flush,
        keep_the_leader_epoch_over_a_restart,
        tell_no_divergence,
        keep_no_batches_of_producers,
        check_no_sequences,
        take_older_producer_epochs,
        use_a_block_of_producer_ids_again,
        answer_metadata_before_the_commit,
        commit_metadata_before_the_fsync,
        keep_a_view_of_the_request,
        show_more_than_is_committed,
        keep_the_files_of_a_deleted_topic,
    )
}
