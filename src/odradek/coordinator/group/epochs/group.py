"""A group with epochs: everything here is what its records say.

Three epochs count upwards. The group's epoch grows when what there is to assign changes. The target's epoch is the
group's epoch for which the target assignment was made; it follows at once, or after an interval if it has just been
made. A member's epoch is the target's epoch that it has reached.
"""

from typing import Generic, Protocol, Self, TypeVar

from odradek.broken_rule import BrokenRuleError
from odradek.protocol.declare import Message

FIRST_EPOCH = 1  # of a group that nothing has happened to

JOINING = 0  # member epochs that are none
LEAVING = -1
LEAVING_STATIC = -2  # it will come back

EMPTY, ASSIGNING, RECONCILING, STABLE_GROUP = "Empty", "Assigning", "Reconciling", "Stable"


class EpochMember(Protocol):
    """What is asked of a member whatever its protocol."""

    @property
    def member_id(self) -> str: ...
    @property
    def epoch(self) -> int: ...
    @property
    def previous_epoch(self) -> int: ...


class TargetEpochValue(Protocol):
    """The record of a target's epoch, which is alike in all three protocols."""

    assignment_epoch: int
    assignment_timestamp: int


M = TypeVar("M", bound=EpochMember)
T = TypeVar("T")  # what a member shall have: partitions or tasks


class EpochGroup(Generic[M, T]):
    """`members` and `target` are by member id. An event decides on a copy (`plan.py`)."""

    __slots__ = ("epoch", "group_id", "members", "metadata_hash", "target", "target_epoch", "target_ms")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0  # of the group's topics, when its epoch last grew
        self.target_epoch = FIRST_EPOCH
        self.target_ms = 0  # when it was made, of the wall clock
        self.members: dict[str, M] = {}
        self.target: dict[str, T] = {}

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({self.group_id}, {self.state}, epoch {self.epoch}, {len(self.members)} members)"

    @property
    def state(self) -> str:
        raise NotImplementedError

    def copy(self) -> Self:
        """Members and targets are values: only the maps are made anew."""
        made = type(self)(self.group_id)
        made.epoch, made.metadata_hash = self.epoch, self.metadata_hash
        made.target_epoch, made.target_ms = self.target_epoch, self.target_ms
        made.members = dict(self.members)
        made.target = dict(self.target)
        return made

    def subscribed_topics(self) -> set[str]:
        """The names of all topics that the group reads."""
        raise NotImplementedError

    @property
    def is_target_behind(self) -> bool:
        return self.epoch > self.target_epoch

    def has_fresh_target(self, interval_ms: int, now_ms: int) -> bool:
        """Whether the target was made less than the interval ago. A clock that was set back does not hold it up."""
        return 0 <= now_ms - self.target_ms < interval_ms

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        """A record of the group: the only writer of it."""
        raise NotImplementedError

    def replay_target_epoch(self, value: TargetEpochValue | None) -> None:
        self.target_epoch = FIRST_EPOCH if value is None else value.assignment_epoch
        self.target_ms = 0 if value is None else value.assignment_timestamp

    # What must hold

    def validate(self) -> None:
        """Re-derives what is kept twice."""
        raise NotImplementedError

    def validate_epochs(self) -> None:
        if self.epoch < self.target_epoch:
            raise BrokenRuleError(f"{self}: the target is of epoch {self.target_epoch}")
        for member_id in self.target:
            if member_id not in self.members:
                raise BrokenRuleError(f"{self}: {member_id} is in the target and no member")
