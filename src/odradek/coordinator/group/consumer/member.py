"""A member of a consumer group, as a value: an event works out the next one, a record makes it so."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.coordinator.group.classic.member import Protocols
from odradek.coordinator.group.epochs.group import JOINING

STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS = 0, 1, 2  # as in the record of a current assignment


Target = Mapping[bytes, frozenset[int]]  # partitions by topic id
Assigned = Mapping[bytes, Mapping[int, int]]  # by topic id, partitions with the epoch in which each was assigned

NOTHING_ASSIGNED: Assigned = {}
NO_TARGET: Target = {}


class ClassicJoin(NamedTuple):
    """What a member that speaks the classic protocol said in its JoinGroup, and the other protocol has no field for."""

    session_timeout_ms: int
    protocols: Protocols


class ConsumerMember(NamedTuple):
    """`assigned` is what it may have; `pending_revocation` what it had and has not given back yet."""

    member_id: str
    epoch: int = JOINING
    previous_epoch: int = JOINING
    state: int = STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()  # sorted
    regex: str = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicJoin | None = None
    assigned: Assigned = NOTHING_ASSIGNED
    pending_revocation: Assigned = NOTHING_ASSIGNED

    @property
    def is_classic(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state == STABLE and self.epoch == target_epoch

    def subscription(self) -> "ConsumerMember":
        """Returns the member without its assignment: what the record of a member holds."""
        return self._replace(
            epoch=JOINING, previous_epoch=JOINING, state=STABLE, assigned=NOTHING_ASSIGNED, pending_revocation={}
        )

    def held(self) -> dict[bytes, dict[int, int]]:
        """Everything that nobody else may have: assigned and not given back."""
        return union(self.assigned, self.pending_revocation)

    def assignment_epoch(self, topic_id: bytes, partition: int) -> int | None:
        """Since when it has the partition."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        return self.pending_revocation.get(topic_id, {}).get(partition) if epoch is None else epoch


def union(first: Assigned, second: Assigned) -> dict[bytes, dict[int, int]]:
    joined = {topic_id: dict(partitions) for topic_id, partitions in first.items()}
    for topic_id, partitions in second.items():
        joined.setdefault(topic_id, {}).update(partitions)
    return joined


def places(partitions: Assigned | Target) -> Iterable[tuple[bytes, int]]:
    return ((topic_id, partition) for topic_id, of_topic in partitions.items() for partition in of_topic)


def is_subset(owned: Target, assigned: Assigned) -> bool:
    return all(partition in assigned.get(topic_id, ()) for topic_id, partition in places(owned))
