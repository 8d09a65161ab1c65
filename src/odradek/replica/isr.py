"""The in-sync replicas of a partition and its high watermark, as its leader works them out: no I/O, N replicas.

A leader knows of each follower what its last fetch told: everything before the fetch offset is on that replica's disk.
The **high watermark** is the smallest end among the in-sync replicas: what lies below is committed, and only that is
shown to consumers. A follower is **in sync** if it has been at the leader's end within `replica.lag.time.max.ms`.

The controller owns the ISR; the leader proposes. Between the proposal and its answer both sets may be the true one, so
the high watermark counts over the *maximal* ISR, the union of both: a replica that the controller may already have
taken in could be elected, and must hold everything that was acknowledged (R5). A follower that is about to join counts
as well, if it is not far behind: else the high watermark could run away from it, and it would never get in.

A new leader may hold a high watermark that is older than what was already told: within one leader epoch it only grows,
and offsets by `latest` wait until it has passed the start of the epoch (R3). With fewer in-sync replicas than
`min.insync.replicas` it stands still in a 4.3: what would be acknowledged to acks=all is not yet safe (R7).
"""

from collections.abc import Collection
from typing import NamedTuple

from odradek.broken_rule import require

NO_OFFSET = -1


class FollowerState:
    """What the leader knows of one follower."""

    __slots__ = (
        "broker_epoch",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self) -> None:
        self.log_end_offset = NO_OFFSET
        self.log_start_offset = NO_OFFSET
        self.last_caught_up_ms = 0
        self.last_fetch_ms = 0
        self.last_fetch_leader_end_offset = 0
        self.broker_epoch = -1

    def fetched(
        self, offset: int, log_start_offset: int, leader_end_offset: int, now_ms: int, broker_epoch: int
    ) -> None:
        """It has everything before `offset`.

        One that reads up to where the leader's end was at its previous fetch has caught up as of that fetch: a busy
        leader's end is always a little ahead, and a follower that keeps pace would else never count as in sync.
        """
        if offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif offset >= self.last_fetch_leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.last_fetch_leader_end_offset = leader_end_offset
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def is_caught_up(self, leader_end_offset: int, now_ms: int, lag_time_max_ms: int) -> bool:
        return self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= lag_time_max_ms


class IsrProposal(NamedTuple):
    """What the leader asks of the controller, with AlterPartition."""

    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


class Isr:
    """The in-sync replicas of one partition in one leader epoch, on its leader."""

    __slots__ = (
        "_followers",
        "epoch_start_offset",
        "in_sync",
        "is_alone",
        "leader_epoch",
        "min_in_sync",
        "node_id",
        "partition_epoch",
        "proposed",
        "replicas",
    )

    def __init__(
        self,
        node_id: int,
        replicas: Collection[int],
        in_sync: Collection[int],
        *,
        leader_epoch: int,
        partition_epoch: int,
        epoch_start_offset: int,
        min_in_sync: int,
        now_ms: int = 0,
    ) -> None:
        """`min_in_sync` is 0 where too few in-sync replicas do not hold the high watermark back."""
        self.node_id = node_id
        self.replicas = tuple(replicas)
        # No other replica counts, and none can be proposed: what the leader has appended is committed.
        self.is_alone = len(self.replicas) == 1
        self.in_sync = tuple(in_sync)
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.epoch_start_offset = epoch_start_offset
        self.min_in_sync = min_in_sync
        self.proposed: tuple[int, ...] | None = None  # until the controller has answered
        self._followers: dict[int, FollowerState] = {}
        for replica in self.replicas:
            if replica != node_id:
                follower = self._followers[replica] = FollowerState()
                if replica in self.in_sync:
                    follower.last_caught_up_ms = now_ms  # the benefit of the doubt, for one lag time

    def __repr__(self) -> str:
        return f"Isr(leader={self.node_id}@{self.leader_epoch}, {self.in_sync}, proposed={self.proposed})"

    @property
    def maximal(self) -> tuple[int, ...]:
        if self.proposed is None:
            return self.in_sync
        return (*self.in_sync, *(replica for replica in self.proposed if replica not in self.in_sync))

    def follower(self, replica: int) -> FollowerState | None:
        return self._followers.get(replica)

    # The high watermark.

    def high_watermark(self, current: int, leader_end_offset: int, now_ms: int, lag_time_max_ms: int) -> int:
        """The new one, never below `current`: within one epoch it only grows."""
        if len(self.in_sync) < self.min_in_sync:
            return current
        candidate = leader_end_offset
        maximal = self.maximal
        for replica, follower in self._followers.items():
            if follower.log_end_offset < candidate and (
                replica in maximal or follower.is_caught_up(leader_end_offset, now_ms, lag_time_max_ms)
            ):
                candidate = follower.log_end_offset
        return max(current, candidate)

    def has_reached_epoch_start(self, high_watermark: int) -> bool:
        return high_watermark >= self.epoch_start_offset

    def has_enough(self, min_in_sync: int) -> bool:
        """For acks=all: counts what the controller has confirmed, never what was only proposed (R7).

        Not wired yet: a leader asks its partition, which has the confirmed ones alone (`Leader.check_min_in_sync`).
        """
        return len(self.in_sync) >= min_in_sync

    def low_watermark(self, leader_log_start_offset: int, live: Collection[int]) -> int:
        """What every live replica has deleted: DeleteRecords answers with it."""
        starts = [state.log_start_offset for replica, state in self._followers.items() if replica in live]
        return min([leader_log_start_offset, *starts])

    # Events.

    def follower_fetched(
        self,
        replica: int,
        offset: int,
        log_start_offset: int,
        leader_end_offset: int,
        now_ms: int,
        broker_epoch: int = -1,
    ) -> bool:
        """False if the replica is not one of this partition's."""
        follower = self._followers.get(replica)
        if follower is None:
            return False
        follower.fetched(offset, log_start_offset, leader_end_offset, now_ms, broker_epoch)
        return True

    def maybe_expand(self, replica: int, high_watermark: int) -> IsrProposal | None:
        """A follower joins once it has everything committed, and everything from before this epoch."""
        follower = self._followers.get(replica)
        if follower is None or self.proposed is not None or replica in self.in_sync:
            return None
        if follower.log_end_offset < high_watermark or follower.log_end_offset < self.epoch_start_offset:
            return None
        return self._propose((*self.in_sync, replica))

    def maybe_shrink(self, leader_end_offset: int, now_ms: int, lag_time_max_ms: int) -> IsrProposal | None:
        """Those leave that have not been at the end for too long."""
        if self.proposed is not None:
            return None
        stay = tuple(
            replica
            for replica in self.in_sync
            if replica == self.node_id
            or self._followers[replica].is_caught_up(leader_end_offset, now_ms, lag_time_max_ms)
        )
        return None if stay == self.in_sync else self._propose(stay)

    def committed(self, in_sync: Collection[int], partition_epoch: int) -> bool:
        """The controller's word, by its answer or by the metadata log; False if a later one was known already."""
        if partition_epoch < self.partition_epoch:
            return False
        self.in_sync = tuple(in_sync)
        self.partition_epoch = partition_epoch
        self.proposed = None
        return True

    def refused(self) -> None:
        """The controller took none of the proposal. With no answer at all it must stand: it may have been taken."""
        self.proposed = None

    def _propose(self, isr: tuple[int, ...]) -> IsrProposal:
        self.proposed = isr
        return IsrProposal(isr, self.leader_epoch, self.partition_epoch)

    def validate(self) -> None:
        require(set(self.in_sync) <= set(self.replicas), f"{self}: in sync without being a replica")
        require(self.proposed is None or self.node_id in self.proposed, f"{self}: the leader proposed to leave")
        require(self.proposed is None or not self.is_alone, f"{self}: nobody is there to be proposed")
        require(set(self._followers) == set(self.replicas) - {self.node_id}, f"{self}: unknown followers")
