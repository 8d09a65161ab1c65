"""What a replica of the quorum is told before its log is read."""

from typing import NamedTuple

from odradek.raft.config import RaftConfig
from odradek.raft.core.voters import VoterSet
from odradek.raft.keys import ReplicaKey


class RaftSettings(NamedTuple):
    """`has_pre_vote` and `fetch_version` are what the oldest release in the quorum understands."""

    directory: str  # the one called __cluster_metadata-0
    me: ReplicaKey
    cluster_id: str | None
    voters: VoterSet | None  # from the configs: those of the log, if it names any, go first
    config: RaftConfig
    has_pre_vote: bool = True
    fetch_version: int = 18
