"""A member of a group as it tells others who it is."""

from typing import NamedTuple


class ConsumerGroupMetadata(NamedTuple):
    """Who commits offsets for its group, in a transaction too: a member that was removed is refused (KIP-447)."""

    group_id: str
    generation_id: int = -1  # the member epoch, in a group of the consumer protocol
    member_id: str = ""
    group_instance_id: str | None = None
