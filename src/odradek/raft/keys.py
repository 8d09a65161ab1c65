"""What replicas of the quorum are called, and where a log ends."""

from typing import NamedTuple

NO_DIRECTORY = bytes(16)


class ReplicaKey(NamedTuple):
    """A replica by its id and, from kraft.version 1 on, the directory of its log: a node with a new disk is another."""

    id: int
    directory_id: bytes = NO_DIRECTORY

    def is_same_as(self, other: "ReplicaKey") -> bool:
        """A directory that one side does not know cannot tell them apart."""
        if self.id != other.id:
            return False
        return NO_DIRECTORY in (self.directory_id, other.directory_id) or self.directory_id == other.directory_id


class OffsetAndEpoch(NamedTuple):
    """The end of a log, or of what a snapshot holds: the next offset, and the epoch of the record before it."""

    offset: int
    epoch: int

    def is_up_to_date_with(self, other: "OffsetAndEpoch") -> bool:
        """Whether a log that ends here holds all that one ending there may have committed."""
        return (self.epoch, self.offset) >= (other.epoch, other.offset)
