"""What can happen to a replica of the quorum. `token` is whoever waits for the answer; the core only hands it back."""

from typing import NamedTuple

from odradek.raft.keys import OffsetAndEpoch, ReplicaKey


class TimePassed(NamedTuple):
    """A deadline may be over."""


class VoteRequested(NamedTuple):
    token: object
    candidate: ReplicaKey
    epoch: int
    last: OffsetAndEpoch
    is_pre_vote: bool
    voter: ReplicaKey | None = None  # whom the candidate takes us for


class VoteAnswered(NamedTuple):
    voter_id: int
    asked_epoch: int
    is_pre_vote: bool
    error_code: int
    leader_id: int | None
    epoch: int
    is_granted: bool


class BeginQuorumEpochRequested(NamedTuple):
    token: object
    leader_id: int
    epoch: int
    voter: ReplicaKey | None = None


class EndQuorumEpochRequested(NamedTuple):
    token: object
    leader_id: int
    epoch: int
    preferred_successors: tuple[int, ...]


class QuorumEpochAnswered(NamedTuple):
    """The answer of a voter to BeginQuorumEpoch or EndQuorumEpoch."""

    voter_id: int
    asked_epoch: int
    error_code: int
    leader_id: int | None
    epoch: int


class FetchRequested(NamedTuple):
    token: object
    replica: ReplicaKey
    epoch: int
    offset: int
    last_epoch: int


class FetchAnswered(NamedTuple):
    fetch_id: int
    error_code: int
    leader_id: int | None
    epoch: int
    high_watermark: int
    diverging: OffsetAndEpoch | None
    snapshot_id: OffsetAndEpoch | None
    records: bytes


class SnapshotRequested(NamedTuple):
    token: object
    replica: ReplicaKey
    epoch: int


class SnapshotPieceArrived(NamedTuple):
    """A piece of the snapshot that is being fetched came from the leader: it is alive."""

    leader_id: int
    asked_epoch: int


class SnapshotInstalled(NamedTuple):
    """The log begins at it now, durably."""

    snapshot_id: OffsetAndEpoch


class SnapshotFailed(NamedTuple):
    """It could not be fetched: begin again with a Fetch. What the answer told of the leader comes along."""

    asked_epoch: int
    leader_id: int | None = None
    epoch: int = -1


class LogFlushed(NamedTuple):
    """More of the log is durable, or it was truncated, or what a Fetch brought was refused by it."""


class RequestFailed(NamedTuple):
    """A request was lost or refused, and the pause before the next try is over."""

    node_id: int
    asked_epoch: int
    kind: str
    fetch_id: int = 0


class Resign(NamedTuple):
    """Give up leadership, if this epoch is still ours."""

    epoch: int


Event = (
    TimePassed
    | VoteRequested
    | VoteAnswered
    | BeginQuorumEpochRequested
    | EndQuorumEpochRequested
    | QuorumEpochAnswered
    | FetchRequested
    | FetchAnswered
    | SnapshotRequested
    | SnapshotPieceArrived
    | SnapshotInstalled
    | SnapshotFailed
    | LogFlushed
    | RequestFailed
    | Resign
)

VOTE, BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, FETCH = "Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch"
