"""Who votes: a fixed list from the configs (kraft.version 0), or the VotersRecord of the log (kraft.version 1)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from odradek.protocol.messages import control_records
from odradek.raft.keys import NO_DIRECTORY, ReplicaKey


class VoterEndpoint(NamedTuple):
    name: str  # of the listener
    host: str
    port: int


class Voter(NamedTuple):
    id: int
    directory_id: bytes = NO_DIRECTORY
    endpoints: tuple[VoterEndpoint, ...] = ()
    kraft_versions: tuple[int, int] = (0, 1)  # that it supports, from and to

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.id, self.directory_id)


class VoterSet:
    __slots__ = ("_voters",)

    def __init__(self, voters: Iterable[Voter]) -> None:
        self._voters = {voter.id: voter for voter in sorted(voters)}

    def __iter__(self) -> Iterator[Voter]:
        return iter(self._voters.values())

    def __len__(self) -> int:
        return len(self._voters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and other._voters == self._voters

    def __hash__(self) -> int:
        return hash(tuple(self._voters.values()))

    def __repr__(self) -> str:
        return f"VoterSet({', '.join(str(voter) for voter in self._voters)})"

    @property
    def ids(self) -> list[int]:
        return list(self._voters)

    @property
    def majority(self) -> int:
        return len(self._voters) // 2 + 1

    def get(self, node_id: int) -> Voter | None:
        return self._voters.get(node_id)

    def has(self, replica: ReplicaKey) -> bool:
        voter = self._voters.get(replica.id)
        return voter is not None and voter.key.is_same_as(replica)

    def is_sole(self, replica: ReplicaKey) -> bool:
        return len(self._voters) == 1 and self.has(replica)

    def others(self, node_id: int) -> list[int]:
        return [voter_id for voter_id in self._voters if voter_id != node_id]

    def to_record(self) -> control_records.VotersRecord:
        return control_records.VotersRecord(version=0, voters=[_to_struct(voter) for voter in self])

    @classmethod
    def from_record(cls, record: control_records.VotersRecord) -> "VoterSet":
        return cls(_from_struct(voter) for voter in record.voters)


def _to_struct(voter: Voter) -> control_records.VotersRecordVoter:
    low, high = voter.kraft_versions
    return control_records.VotersRecordVoter(
        voter_id=voter.id,
        voter_directory_id=voter.directory_id,
        endpoints=[control_records.Endpoint(name=at.name, host=at.host, port=at.port) for at in voter.endpoints],
        k_raft_version_feature=control_records.KRaftVersionFeature(
            min_supported_version=low, max_supported_version=high
        ),
    )


def _from_struct(struct: control_records.VotersRecordVoter) -> Voter:
    feature = struct.k_raft_version_feature
    return Voter(
        struct.voter_id,
        struct.voter_directory_id,
        tuple(VoterEndpoint(at.name, at.host, at.port) for at in struct.endpoints),
        (feature.min_supported_version, feature.max_supported_version),
    )
