"""What a decision about a share group has to be followed by."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.coordinator.group.share.member import StateTopic

Topics = Mapping[bytes, StateTopic]


class InitializeState(NamedTuple):
    """These share-partitions are to be set up at the share coordinator."""

    group_id: str
    state_epoch: int
    topics: Topics
