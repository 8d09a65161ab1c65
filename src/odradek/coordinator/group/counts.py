"""What the group coordinator counts as it goes: events add to slots, somebody else makes rates of them."""


class GroupCounts:
    """Counts of all shards of a broker together. An offset counts when it is decided upon, as in Kafka."""

    __slots__ = (
        "consumer_rebalances",
        "offset_commits",
        "offset_deletions",
        "offset_expirations",
        "rebalances_completed",
        "streams_rebalances",
    )

    def __init__(self) -> None:
        self.offset_commits = 0
        self.offset_deletions = 0
        self.offset_expirations = 0
        self.rebalances_completed = 0  # of the classic protocol: the leader's assignment was written
        self.consumer_rebalances = 0  # of the consumer protocol: the group has a new epoch
        self.streams_rebalances = 0  # of the streams protocol: the group has a new epoch
