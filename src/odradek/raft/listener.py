"""What a component that follows the metadata log is told, and in which order.

First a snapshot, if the log no longer begins where the listener stands; then every committed batch, each once and in
order. A leader change is told as soon as it is known, but our own leadership only when the listener has been handed
everything up to the first record of our epoch: a controller that begins to decide has seen all that was decided before.

A handler may return a Pending: nothing else is told before that is done.
"""

from typing import NamedTuple, Protocol

from odradek.protocol.declare import Message
from odradek.reactor.pending import Pending


class CommittedBatch(NamedTuple):
    """`records` is empty for a batch of control records: those move the offset and nothing else."""

    base_offset: int
    last_offset: int
    epoch: int
    append_ms: int
    records: list[Message]


class SnapshotReader(NamedTuple):
    """The state of everything before `offset`, as records in the batches in which they were written."""

    offset: int
    epoch: int
    batches: list[list[Message]]
    last_contained_log_timestamp: int = -1


class RaftListener(Protocol):
    def handle_commit(self, batch: CommittedBatch) -> Pending[None] | None: ...
    def handle_load_snapshot(self, snapshot: SnapshotReader) -> Pending[None] | None: ...
    def handle_leader_change(self, leader_id: int | None, epoch: int) -> Pending[None] | None: ...
