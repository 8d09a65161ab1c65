"""The roles of a replica, each with only its own fields. Which event leads from one to another: see core.py."""

from odradek.raft.keys import ReplicaKey


class Role:
    """`voted` is this replica's vote in `epoch`, `leader_id` the epoch's leader if it is known."""

    __slots__ = ("epoch", "leader_id", "voted")
    name = "role"

    def __init__(self, epoch: int, leader_id: int | None = None, voted: ReplicaKey | None = None) -> None:
        self.epoch = epoch
        self.leader_id = leader_id
        self.voted = voted

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epoch={self.epoch}, leader={self.leader_id}, voted={self.voted})"


class Unattached(Role):
    """Knows an epoch, maybe its leader's id, follows nobody. An observer looks for the leader, a voter waits."""

    __slots__ = ("deadline_ms", "fetch_id")
    name = "unattached"

    def __init__(self, epoch: int, voted: ReplicaKey | None, deadline_ms: int) -> None:
        super().__init__(epoch, None, voted)
        self.deadline_ms = deadline_ms
        self.fetch_id: int | None = None  # of an observer that asks a voter who leads


class Electing(Role):
    """Collects answers of voters until a majority has said yes or no."""

    __slots__ = ("deadline_ms", "granting", "is_lost", "rejecting")
    is_pre_vote = False

    def __init__(self, epoch: int, leader_id: int | None, voted: ReplicaKey | None, deadline_ms: int, me: int) -> None:
        super().__init__(epoch, leader_id, voted)
        self.deadline_ms = deadline_ms
        self.granting = {me}
        self.rejecting: set[int] = set()
        self.is_lost = False  # a majority said no: the deadline is the end of a pause


class Prospective(Electing):
    """Asks whether it could win (KIP-996), before it disturbs anyone with a new epoch."""

    __slots__ = ()
    name = "prospective"
    is_pre_vote = True


class Candidate(Electing):
    __slots__ = ()
    name = "candidate"


class ReplicaProgress:
    __slots__ = ("directory_id", "end_offset", "last_caught_up_ms", "last_fetch_leader_end", "last_fetch_ms")

    def __init__(self) -> None:
        self.end_offset: int | None = None  # durable there, as far as we know
        self.directory_id = bytes(16)
        self.last_fetch_ms: int | None = None
        self.last_fetch_leader_end = -1  # where our log ended at its last fetch
        self.last_caught_up_ms: int | None = None


class Leader(Role):
    __slots__ = (
        "acknowledged",
        "begin_deadline_ms",
        "epoch_start_offset",
        "granting",
        "has_begun",
        "high_watermark",
        "observers",
        "quorum_deadline_ms",
        "voters",
    )
    name = "leader"

    def __init__(self, epoch: int, me: int, granting: set[int], epoch_start_offset: int) -> None:
        super().__init__(epoch, me)
        self.granting = tuple(sorted(granting))
        self.epoch_start_offset = epoch_start_offset
        self.has_begun = False  # the LeaderChangeMessage is in the log: others may append
        self.high_watermark: int | None = None  # none of this epoch yet
        self.voters: dict[int, ReplicaProgress] = {}  # without ourselves
        self.observers: dict[ReplicaKey, ReplicaProgress] = {}
        self.acknowledged = {me}  # the voters that know who leads
        self.begin_deadline_ms = 0  # when those that did not fetch are told again
        self.quorum_deadline_ms: int | None = None  # when we resign, if no majority has fetched by then


class Follower(Role):
    __slots__ = ("deadline_ms", "fetch_id", "fetching_snapshot", "has_fetched", "high_watermark", "is_changing_log")
    name = "follower"

    def __init__(self, epoch: int, leader_id: int, voted: ReplicaKey | None, deadline_ms: int, high: int) -> None:
        super().__init__(epoch, leader_id, voted)
        self.deadline_ms = deadline_ms
        self.high_watermark = high  # the leader's, at most what is durable here counts
        self.has_fetched = False  # successfully, from this leader: it is alive, so there is no pre-vote against it
        self.fetch_id: int | None = None  # of the one that is under way
        self.is_changing_log = False  # an append or a truncation is under way
        self.fetching_snapshot = False


class Resigned(Role):
    """Was the leader of this epoch and votes for nobody in it."""

    __slots__ = ("deadline_ms", "preferred_successors", "unacknowledged")
    name = "resigned"

    def __init__(self, epoch: int, me: int, deadline_ms: int, successors: tuple[int, ...]) -> None:
        super().__init__(epoch, me)
        self.deadline_ms = deadline_ms
        self.preferred_successors = successors
        self.unacknowledged = set(successors)
