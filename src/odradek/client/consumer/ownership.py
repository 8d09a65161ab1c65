"""What a consumer owns, and a change of it: what a membership asks of the consumer it belongs to, which takes its time.

    change = membership.change          # None: nothing to do
    ...                                 # stop reading, commit, call the user's rebalance listener
    membership.done(change, now_ms)     # only now does the membership go on

A change that takes longer than the group waits is overtaken: `membership.change` is then another one.
"""

from typing import NamedTuple

from odradek.protocol.topic_partition import TopicPartition

Partitions = frozenset[TopicPartition]

NOTHING: Partitions = frozenset()

ASSIGN = "assign"  # these are the member's from now on
REVOKE = "revoke"  # they will be somebody else's once the change is done: the last moment to commit
LOSE = "lose"  # they may be somebody else's already: a commit would be refused


class OwnershipChange(NamedTuple):
    kind: str
    partitions: Partitions


class Identity(NamedTuple):
    """As whom a member commits. `epoch` is the generation of a classic group, or the member's epoch."""

    member_id: str
    epoch: int
    instance_id: str | None = None
    speaks_epochs: bool = False
    answers: int = 0  # how often its coordinator has told that it is still the one

    def is_like(self, other: "Identity | None") -> bool:
        """The same member in the same epoch."""
        return other is not None and self[:2] == other[:2]


NOBODY = Identity("", -1)
