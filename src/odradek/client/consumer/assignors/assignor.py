"""What an assignor is told and what it answers: how the leader of a classic group deals out partitions.

An assignor is a value without state: what a sticky one has to remember travels in the members' subscriptions. Only
range deals partitions to members that are in a rack with a replica of them; Kafka's sticky ones do, too (KIP-881).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from odradek.client.consumer.ownership import Partitions
from odradek.protocol.topic_partition import TopicPartition

Dealt = dict[str, list[TopicPartition]]
"""By member id, its partitions, in the order in which they were dealt out."""

Racks = Mapping[TopicPartition, frozenset[str]]
"""By partition, the racks of its replicas, as far as they are known."""
NO_RACKS: Racks = {}


class Subscriber(NamedTuple):
    """What a member has said in its subscription."""

    member_id: str
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    user_data: bytes | None = None
    instance_id: str | None = None
    rack_id: str | None = None


class Assignor(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_cooperative(self) -> bool:
        """Whether members may keep what they have while they join."""

    def user_data(self, partitions: Partitions, generation: int) -> bytes | None:
        """What a member adds to its subscription: its last assignment, and of which generation that was."""

    def assign(self, partitions: Mapping[str, int], members: Sequence[Subscriber], racks: Racks = NO_RACKS) -> Dealt:
        """`partitions` is their number in each topic that exists. Every member is in the answer."""


def static_first(member: Subscriber) -> tuple[bool, str]:
    """The order of members: static ones by instance id, so that a restart changes nothing; then by member id."""
    return member.instance_id is None, member.instance_id or member.member_id
