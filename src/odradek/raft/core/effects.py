"""What a step of the core asks for, in this order. Nothing after a `Persist` may happen before it is durable."""

from typing import NamedTuple

from odradek.raft.election_state import ElectionState
from odradek.raft.keys import OffsetAndEpoch


class Persist(NamedTuple):
    state: ElectionState


class Answer(NamedTuple):
    """To Vote, BeginQuorumEpoch and EndQuorumEpoch, and to a Fetch that gets no records."""

    token: object
    error_code: int
    leader_id: int | None
    epoch: int
    is_granted: bool = False
    diverging: OffsetAndEpoch | None = None
    snapshot_id: OffsetAndEpoch | None = None


class Serve(NamedTuple):
    """The request is sound and we lead: records, or a piece of a snapshot."""

    token: object


class SendVote(NamedTuple):
    to: int
    epoch: int
    last: OffsetAndEpoch
    is_pre_vote: bool


class SendBeginQuorumEpoch(NamedTuple):
    to: int
    epoch: int


class SendEndQuorumEpoch(NamedTuple):
    to: int
    epoch: int
    preferred_successors: tuple[int, ...]


class SendFetch(NamedTuple):
    to: int
    epoch: int
    offset: int
    last_epoch: int
    high_watermark: int
    fetch_id: int


class AppendLeaderChange(NamedTuple):
    """The first record of our epoch."""

    epoch: int
    granting_voters: tuple[int, ...]


class AppendRecords(NamedTuple):
    records: bytes


class TruncateTo(NamedTuple):
    offset: int


class FetchSnapshot(NamedTuple):
    """All pieces of it, from the leader; then install it in the place of the log."""

    leader_id: int
    epoch: int
    snapshot_id: OffsetAndEpoch


class MoveHighWatermark(NamedTuple):
    offset: int


class LeaderChanged(NamedTuple):
    leader_id: int | None
    epoch: int


Effect = (
    Persist
    | Answer
    | Serve
    | SendVote
    | SendBeginQuorumEpoch
    | SendEndQuorumEpoch
    | SendFetch
    | AppendLeaderChange
    | AppendRecords
    | TruncateTo
    | FetchSnapshot
    | MoveHighWatermark
    | LeaderChanged
)
