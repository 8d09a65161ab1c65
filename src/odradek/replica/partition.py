"""A partition as this broker hosts it: what the metadata says of it, our role in it, and who waits for it.

What the metadata says (leader, epochs, replicas, ISR) is kept whatever our role is. The role is one object, and all
that a request may do follows from it:

    Opening     the log is being opened or made             NOT_LEADER_OR_FOLLOWER: clients come again
    Leader      takes appends and serves fetches            an epoch that is not ours: FENCED or UNKNOWN_LEADER_EPOCH
    Follower    has the log, and another broker leads       NOT_LEADER_OR_FOLLOWER
    Offline     its log dir has failed                      KAFKA_STORAGE_ERROR to everybody
    Damaged     its log is damaged, its dir is not          KAFKA_STORAGE_ERROR to everybody
    Removed     deleted, given to others, or we stop        NOT_LEADER_OR_FOLLOWER to who still holds it

              the log is open                 the metadata names another leader
    Opening -------------------> Leader <------------------------------------> Follower
       |                           |                                              |
       | it cannot be opened       |  the dir fails, or damage is found           |
       +---> Offline, Damaged <----+----------------------------------------------+
                    |
                    +---> Leader or Follower, if a change of the metadata finds a log that can be opened

Every role may become Removed, and Removed becomes nothing else: what was under way for it (a log that is being opened,
a dir that fails) changes nothing any more. All of this happens in `_become`, and in no other place.

`leader` is the role if that is a Leader, else None: produce and fetch ask nothing else. One Leader lives for one leader
epoch, so whoever waits for an append compares it to know whether the epoch is still the same.

Whoever waits is woken when the high watermark moves or the role changes: fetches by `watchers`, which hold only entries
that have nothing to read (an append wakes them once, and costs nothing until they have read again); writes, deletions
and the shards of coordinators by `waiters`. That a copy in another log dir is being made is known to the mover
(`mover.py`).
"""

from typing import TYPE_CHECKING, Protocol

from odradek.broken_rule import require
from odradek.log.log import Log
from odradek.metadata.partition import NO_LEADER
from odradek.protocol import errors
from odradek.replica.fetch_entry import FetchEntry
from odradek.replica.isr import Isr
from odradek.replica.leader import Leader
from odradek.replica.roles import OPENING, REMOVED, Follower, Offline, Online, Role

if TYPE_CHECKING:
    from odradek.replica.topic import HostedTopic

NO_EPOCH = -1


class Waiter(Protocol):
    def check(self) -> bool:
        """The partition has changed. True if the waiter need not be told again."""
        ...


class Partition:
    __slots__ = (
        "index",
        "isr",
        "leader",
        "leader_epoch",
        "leader_id",
        "partition_epoch",
        "replicas",
        "role",
        "topic",
        "waiters",
        "watchers",
    )

    def __init__(self, topic: "HostedTopic", index: int) -> None:
        self.topic = topic
        self.index = index
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()  # as the controller has it; what the leader makes of it is `Leader.isr`
        self.role: Role = OPENING
        self.leader: Leader | None = None  # the role, if we lead
        self.watchers: dict[FetchEntry, None] | None = None
        self.waiters: list[Waiter] | None = None

    def __repr__(self) -> str:
        return f"Partition({self.name}, epoch={self.leader_epoch}, {self.role})"

    @property
    def name(self) -> str:
        return f"{self.topic.name}-{self.index}"

    @property
    def log(self) -> Log | None:
        """The open log, whether we lead or follow."""
        return self.role.log

    # Transitions.

    def _become(self, role: Role) -> None:
        require(self.role is not REMOVED, "a partition that was removed takes no other role")
        self.role = role
        self.leader = role if isinstance(role, Leader) else None

    def make_leader(self, isr: Isr, log: Log) -> Leader:
        """From here on appends are taken. What the only replica holds is committed at once."""
        leader = self.leader
        if leader is not None and leader.epoch == isr.leader_epoch:
            leader.isr, leader.log = isr, log  # the same epoch with other replicas
        else:
            leader = Leader(self, isr, log)
            self._become(leader)
            log.assign_epoch_start_offset(isr.leader_epoch, isr.epoch_start_offset)
        self.isr = isr.in_sync
        self.replicas = isr.replicas
        self.leader_id = isr.node_id
        self.leader_epoch = isr.leader_epoch
        self.partition_epoch = isr.partition_epoch
        leader.advance_high_watermark()
        self.wake()
        return leader

    def make_follower(self, leader_id: int, leader_epoch: int, partition_epoch: int, log: Log) -> None:
        self._become(Follower(log))
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.wake()

    def go_offline(self, why: Offline) -> None:
        if self.role is not REMOVED:
            self._become(why)
            self.wake()

    def remove(self) -> None:
        if self.role is not REMOVED:
            self._become(REMOVED)
            self.wake()

    def replace_log(self, log: Log) -> None:
        """A copy in another log dir has become the log; our role stays what it is."""
        if isinstance(self.role, Online):
            self.role.log = log
            self.wake()

    # What a request may do.

    def leading(self, current_leader_epoch: int = NO_EPOCH) -> Leader:
        """The leader's role, if it is ours and the caller's epoch is right; else the error that says why not."""
        leader = self.leader
        if leader is not None and (current_leader_epoch == self.leader_epoch or current_leader_epoch == NO_EPOCH):
            return leader
        self.check_leader_epoch(current_leader_epoch)
        raise self._not_leader()

    def leader_log(self, current_leader_epoch: int = NO_EPOCH) -> Log:
        """The log, if we lead the partition and the caller's epoch is ours."""
        return self.leading(current_leader_epoch).log

    def local_log(self, current_leader_epoch: int = NO_EPOCH) -> Log:
        """The log, whether we lead or follow, if the caller's epoch is ours."""
        self.check_leader_epoch(current_leader_epoch)
        log = self.role.log
        if log is None:
            raise self._not_leader()
        return log

    def check_leader_epoch(self, current_leader_epoch: int) -> None:
        self.check_online()
        if current_leader_epoch == NO_EPOCH or current_leader_epoch == self.leader_epoch:
            return
        if current_leader_epoch < self.leader_epoch:
            raise errors.FencedLeaderEpoch(
                f"{self.name} is in leader epoch {self.leader_epoch}, the request knows {current_leader_epoch}."
            )
        raise errors.UnknownLeaderEpoch(
            f"{self.name} is in leader epoch {self.leader_epoch}, the request knows the later {current_leader_epoch}."
        )

    def check_online(self) -> None:
        if isinstance(self.role, Offline):
            raise errors.KafkaStorageError(f"{self.name} is offline: {self.role.reason}.")

    def _not_leader(self) -> errors.KafkaError:
        return errors.NotLeaderOrFollower(f"{self.name} is led by node {self.leader_id}, not by this one.")

    # Who waits.

    def watch(self, entry: FetchEntry) -> None:
        if self.watchers is None:
            self.watchers = {}
        self.watchers[entry] = None

    def unwatch(self, entry: FetchEntry) -> None:
        if self.watchers:
            self.watchers.pop(entry, None)

    def wake(self) -> None:
        """Each watcher is told once: it watches again when it has read what there is."""
        watchers = self.watchers
        if watchers:
            self.watchers = None
            for entry in watchers:
                entry.owner.mark(entry)
        if self.waiters:
            self.waiters = [waiter for waiter in self.waiters if not waiter.check()] or None

    def wake_followers(self) -> None:
        """Consumers sleep on: they may see nothing more than before."""
        for entry in [entry for entry in self.watchers or () if entry.owner.is_privileged]:
            self.unwatch(entry)
            entry.owner.mark(entry)

    def add_waiter(self, waiter: Waiter) -> None:
        if self.waiters is None:
            self.waiters = []
        self.waiters.append(waiter)

    def remove_waiter(self, waiter: Waiter) -> None:
        if self.waiters and waiter in self.waiters:
            self.waiters.remove(waiter)
