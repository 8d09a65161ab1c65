"""A partition as this broker hosts it: its log, who leads it, and who waits for it.

    online     its log is open; as the leader it takes appends and serves fetches
    offline    its log dir has failed, or its log is damaged and set aside: KAFKA_STORAGE_ERROR to everybody
    opening    the metadata names us, the log is being made: NOT_LEADER_OR_FOLLOWER, clients come again

The high watermark is worked out by `isr.py`. Whoever waits is woken when it moves: fetches by `watchers`, which hold
only entries that have nothing to read (an append wakes them once, and costs nothing until they have read again);
writes and deletions by `waiters`.
"""

from typing import TYPE_CHECKING, Any, Protocol

from odradek.log.log import Log
from odradek.log.read import FetchedRecords
from odradek.protocol import errors
from odradek.replica.fetch_entry import FetchEntry
from odradek.replica.isr import Isr

if TYPE_CHECKING:
    from odradek.replica.topic import HostedTopic

NO_LEADER = -1
NO_EPOCH = -1

DIR_FAILED = "its log dir has failed"
DAMAGED = "its log is damaged and was set aside; the broker's log tells where"


class Waiter(Protocol):
    def check(self) -> bool: ...


class Partition:
    __slots__ = (
        "index",
        "is_hosted",
        "is_leader",
        "is_moving",
        "is_offline",
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "offline_reason",
        "partition_epoch",
        "replicas",
        "sync",
        "topic",
        "waiters",
        "watchers",
    )

    def __init__(self, topic: "HostedTopic", index: int) -> None:
        self.topic = topic
        self.index = index
        self.log: Log | None = None
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.sync: Isr | None = None  # on the leader
        self.is_leader = False
        self.is_offline = False
        self.offline_reason = ""  # as clients may know it: no paths
        self.is_hosted = True  # until it is deleted or given to other brokers
        self.is_moving = False  # a copy in another log dir is being made
        self.watchers: dict[FetchEntry, None] | None = None
        self.waiters: list[Waiter] | None = None

    def __repr__(self) -> str:
        role = "leader" if self.is_leader else "follower"
        return f"Partition({self.topic.name}-{self.index}, {role}@{self.leader_epoch}, {self.log})"

    @property
    def name(self) -> str:
        return f"{self.topic.name}-{self.index}"

    # Roles.

    def make_leader(self, sync: Isr, log: Log) -> None:
        """From here on appends are taken. What the only replica holds is committed at once."""
        is_new_epoch = sync.leader_epoch != self.leader_epoch or not self.is_leader
        self.log = log
        self.sync = sync
        self.isr = sync.in_sync
        self.replicas = sync.replicas
        self.leader_id = sync.node_id
        self.leader_epoch = sync.leader_epoch
        self.partition_epoch = sync.partition_epoch
        self.is_leader = True
        self.is_offline = False
        if is_new_epoch:
            log.assign_epoch_start_offset(sync.leader_epoch, sync.epoch_start_offset)
        self.advance_high_watermark()
        self.wake()

    def make_follower(self, leader_id: int, leader_epoch: int, partition_epoch: int, log: Log | None) -> None:
        self.log = log
        self.sync = None
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.is_leader = False
        self.wake()

    def go_offline(self, reason: str) -> None:
        self.is_offline = True
        self.offline_reason = reason
        self.is_leader = False
        self.log = None
        self.sync = None
        self.wake()

    def remove(self) -> None:
        self.is_hosted = False
        self.is_leader = False
        self.log = None
        self.sync = None
        self.wake()

    # What a request may do.

    def leader_log(self, current_leader_epoch: int = NO_EPOCH) -> Log:
        """The log, if we lead the partition and the caller's epoch is ours."""
        self.check_leader_epoch(current_leader_epoch)
        log = self.log
        if log is None or not self.is_leader:
            raise self._not_leader()
        return log

    def local_log(self, current_leader_epoch: int = NO_EPOCH) -> Log:
        """The same without being the leader."""
        self.check_leader_epoch(current_leader_epoch)
        if self.log is None:
            raise self._not_leader()
        return self.log

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
        if self.is_offline:
            raise errors.KafkaStorageError(f"{self.name} is offline: {self.offline_reason}.")

    def _not_leader(self) -> errors.KafkaError:
        return errors.NotLeaderOrFollower(f"{self.name} is led by node {self.leader_id}, not by this one.")

    def check_min_in_sync(self) -> None:
        """For acks=all, before the append (R7)."""
        if len(self.isr) < self.topic.effective_min_in_sync(len(self.replicas)):
            raise errors.NotEnoughReplicas(
                f"{self.name} has {len(self.isr)} replicas in sync; min.insync.replicas asks for more."
            )

    # Reading.

    def read(self, entry: FetchEntry, max_bytes: int, isolation: int, is_one_enough: bool) -> FetchedRecords:
        """`is_one_enough` lets one batch through that is larger than `max_bytes`."""
        log = self.leader_log(entry.current_leader_epoch)
        return log.read(entry.fetch_offset, max_bytes, isolation=isolation, min_one_message=is_one_enough)

    def divergence(self, entry: FetchEntry) -> tuple[int, int] | None:
        """(epoch, end offset) where the reader's log leaves ours, if it does."""
        log = self.leader_log(entry.current_leader_epoch)
        epoch, end_offset = log.end_offset_for_epoch(entry.last_fetched_epoch)
        if epoch < 0 or end_offset < 0:
            raise errors.OffsetOutOfRange(
                f"The last fetched epoch {entry.last_fetched_epoch} of {self.name} is not known here."
            )
        if epoch < entry.last_fetched_epoch or end_offset < entry.fetch_offset:
            return epoch, end_offset
        return None

    # Followers.

    def check_replica(self, replica_id: int) -> None:
        if replica_id not in self.replicas:
            raise errors.NotLeaderOrFollower(f"Node {replica_id} is no replica of {self.name}.")

    def follower_fetched(self, entry: FetchEntry, replica_id: int, broker_epoch: int) -> None:
        """A follower that asks for `fetch_offset` has everything before it."""
        log, sync = self.log, self.sync
        if log is None or sync is None:
            return
        manager = self.topic.manager
        now_ms = manager.mono_ms()
        sync.follower_fetched(
            replica_id, entry.fetch_offset, entry.log_start_offset, log.log_end_offset, now_ms, broker_epoch
        )
        proposal = sync.maybe_expand(replica_id, log.high_watermark)
        if proposal is not None:
            manager.propose(self, proposal)
        if not self.advance_high_watermark() and self.waiters:
            self.wake()

    # The high watermark, and who waits for it.

    def appended(self) -> None:
        """`log_end_moved`, spelled out for who is the only replica and has no flush to wait for."""
        log, sync = self.log, self.sync
        if log is None or sync is None or not sync.is_alone:
            self.log_end_moved()
            return
        log.advance_high_watermark_to_end()
        if self.watchers or self.waiters:
            self.wake()

    def log_end_moved(self) -> None:
        """After an append, or the flush that it waited for. Followers read up to the end of the log, not up to the high
        watermark, which waits for them: one that sleeps on would hold every acks=all write up (F6)."""
        if not self.advance_high_watermark() and self.watchers:
            self._wake_followers()

    def advance_high_watermark(self) -> bool:
        """After an append, a follower's fetch or a change of the ISR. Wakes whom it concerns; False if it stays."""
        log, sync = self.log, self.sync
        if log is None or sync is None:
            return False
        end_offset = log.log_end_offset
        if not sync.is_alone:
            manager = self.topic.manager
            end_offset = sync.high_watermark(
                log.high_watermark, end_offset, manager.mono_ms(), manager.config.lag_time_max_ms
            )
        if log.log_end_offset - log.recovery_point >= log.config.flush_messages:
            # A flush is due: what it has not reached is neither acknowledged nor shown yet.
            end_offset = min(end_offset, log.recovery_point)
        if log.high_watermark >= end_offset:
            return False
        if end_offset == log.log_end_offset:
            log.advance_high_watermark_to_end()
        else:
            log.update_high_watermark(end_offset)
        if self.watchers or self.waiters:
            self.wake()
        return True

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

    def _wake_followers(self) -> None:
        """Consumers sleep on: they may see nothing more than before."""
        assert self.watchers is not None
        for entry in [entry for entry in self.watchers if entry.owner.is_privileged]:
            self.unwatch(entry)
            entry.owner.mark(entry)

    def add_waiter(self, waiter: Waiter) -> None:
        if self.waiters is None:
            self.waiters = []
        self.waiters.append(waiter)

    def remove_waiter(self, waiter: Any) -> None:
        if self.waiters and waiter in self.waiters:
            self.waiters.remove(waiter)
