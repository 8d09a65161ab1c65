"""What is kept of a share-partition beyond the life of its leader, and who keeps it."""

from typing import NamedTuple, Protocol

from odradek.protocol.uuids import format_uuid, parse_uuid

UNINITIALIZED_OFFSET = -1  # no start offset yet: the leader finds one by the group's share.auto.offset.reset
UNKNOWN_COUNT = -1

# Delivery states, in the numbers of the records.
AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = 0, 1, 2, 4


class SharePartitionKey(NamedTuple):
    group_id: str
    topic_id: bytes
    partition: int

    def as_coordinator_key(self) -> str:
        """What FindCoordinator and the partition of the state topic go by."""
        return f"{self.group_id}:{format_uuid(self.topic_id)}:{self.partition}"


def parse_coordinator_key(text: str) -> SharePartitionKey:
    """ValueError for what `as_coordinator_key` does not write; a group id may hold colons."""
    group_id, topic_id, partition = text.rsplit(":", 2)
    if not group_id.strip():
        raise ValueError(f"{text!r} has no group id")
    return SharePartitionKey(group_id, parse_uuid(topic_id), int(partition))


class StateBatch(NamedTuple):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class PersistedState(NamedTuple):
    state_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...]


class Persister(Protocol):
    """Raises the share coordinator's error once it has answered, or COORDINATOR_NOT_AVAILABLE if nobody did."""

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> PersistedState: ...

    async def write(
        self,
        key: SharePartitionKey,
        leader_epoch: int,
        state: PersistedState,
        delivery_complete_count: int,
    ) -> None: ...
