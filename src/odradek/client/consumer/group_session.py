"""A consumer's place in its group, at work in the client's loop: the cores of membership, commits and coordinator
lookup with their drivers, and what they must be told of time and of the cluster.

The member joins once its program has polled and the metadata of its topics is there: a leader that deals out topics
before it knows their partitions would have to do so again. While a poll waits, the program is alive; else it is as
old as its last poll, which is a word that the caller's thread writes, or its last step through records: that they go
on is seen at each heartbeat.

What the membership asks for (`change`) is made by the program's thread: see `caller.py`.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.channel.backoff import Backoff
from odradek.channel.channel import Channel
from odradek.channel.cluster import Cluster
from odradek.channel.driver import Driver
from odradek.client.consumer.assignors.assignor import Assignor, Racks
from odradek.client.consumer.classic_membership import ClassicMembership
from odradek.client.consumer.commits import OffsetCommits
from odradek.client.consumer.consumer_membership import ConsumerMembership
from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.errors import CommitFailed
from odradek.client.consumer.group_membership import MembershipConfig
from odradek.client.consumer.in_hand import InHand
from odradek.client.consumer.ownership import ASSIGN, LOSE, NOBODY, NOTHING, Identity, OwnershipChange, Partitions
from odradek.client.core import Send
from odradek.protocol import apis, errors
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition

logger = logging.getLogger("odradek.client")

JOIN_GRACE_MS = 5000  # a JoinGroup is answered when the rebalance is over, which may take max.poll.interval.ms

JOIN_GROUP, SYNC_GROUP, HEARTBEAT = 11, 14, 68
KEYS = (8, 9, 10, JOIN_GROUP, 12, 13, SYNC_GROUP, HEARTBEAT)  # what the cores ask


class GroupConfig(NamedTuple):
    membership: MembershipConfig
    assignors: tuple[Assignor, ...] = ()
    speaks_epochs: bool = False  # group.protocol=consumer
    server_assignor: str | None = None
    require_stable: bool = False
    leaves_on_close: bool = True


class SpokenVersions(Mapping[int, int]):
    """The versions that the brokers serve which are connected, as they have told."""

    def __init__(self, channel: Channel) -> None:
        self._api_versions = channel.client.api_versions

    def __getitem__(self, api_key: int) -> int:
        found = self._api_versions.usable((api_key,))
        if api_key not in found:
            raise errors.UnsupportedVersion(f"The brokers do not support {apis.by_key(api_key).name}.")
        return found[api_key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._api_versions.usable(KEYS))

    def __len__(self) -> int:
        return len(list(iter(self)))


class Subscription(NamedTuple):
    topics: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def __bool__(self) -> bool:
        return bool(self.topics) or self.pattern is not None


class _AliveMember:
    """The membership as its driver sees it: told that the program lives before it is asked what is due."""

    __slots__ = ("_group", "_membership", "_progress", "_seen_ms")

    def __init__(self, group: "GroupSession", membership: ClassicMembership | ConsumerMembership) -> None:
        self._group = group
        self._membership = membership
        self._seen_ms = 0
        self._progress = 0

    def poll(self, now_ms: int) -> list[Send]:
        if not self._group.may_join:
            return []
        before, self._progress = self._progress, self._group.in_hand.upcoming
        if self._progress != before:
            self._group.polled_ms = now_ms
        polled_ms = now_ms if self._group.is_polling else self._group.polled_ms
        if polled_ms != self._seen_ms:
            self._seen_ms = polled_ms
            self._membership.polled(polled_ms)
        return self._membership.poll(now_ms)

    def answered(self, token: object, response: Response, now_ms: int) -> None:
        self._membership.answered(token, response, now_ms)

    def failed(self, token: object, now_ms: int) -> None:
        self._membership.failed(token, now_ms)

    def deadline(self) -> int | None:
        return self._membership.deadline() if self._group.may_join else None


class GroupSession:
    def __init__(
        self,
        channel: Channel,
        config: GroupConfig,
        *,
        new_id: Callable[[], str],
        on_event: Callable[[], object],
        in_hand: InHand,
    ) -> None:
        self.config = config
        self.in_hand = in_hand
        self.subscription = Subscription()
        self.membership: ClassicMembership | ConsumerMembership | None = None
        self.polled_ms = 0  # the caller's thread writes it
        self.is_polling = False
        self.has_polled = False  # since it has subscribed
        self.has_metadata = False  # of all that it has subscribed to
        self.last_identity: Identity | None = None  # as whom it has read what it owns
        self._channel = channel
        self._new_id = new_id
        self._on_event = on_event
        self._mono_ms = channel.loop.ports.clock.mono_ms
        self._versions = SpokenVersions(channel)
        self._matched: frozenset[str] = frozenset()
        self._has_warned = False
        self.rebalances = self.losses = 0  # since it was made
        self.lookup = CoordinatorLookup(config.membership.group_id, self._versions, self._backoff("lookup"))
        self.commits = OffsetCommits(
            config.membership.group_id,
            self.identity,
            self.lookup,
            self._versions,
            self._backoff("commits"),
            self._refused_commit,
            why_nobody=self._why_nobody,
            require_stable=config.require_stable,
        )
        self._drivers = [self._driver(self.commits), self._driver(self.lookup)]
        self._member_driver: Driver | None = None

    def _backoff(self, name: str) -> Backoff:
        config = self._channel.client.config
        return Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms, self._channel.loop.ports.rng.stream(name))

    def _driver(self, core: "OffsetCommits | CoordinatorLookup | _AliveMember") -> Driver:
        return Driver(self._channel, core, timeout_ms=self._patience_ms, on_event=self._on_event)

    def _patience_ms(self, request: Request) -> int | None:
        if request.api_key not in (JOIN_GROUP, SYNC_GROUP):
            return None
        return max(
            self.config.membership.max_poll_interval_ms + JOIN_GRACE_MS, self._channel.client.config.request_timeout_ms
        )

    # What the program asks for

    def subscribe(self, subscription: Subscription) -> None:
        if self.membership is None or self.membership.error is not None:
            self._new_membership()
        if subscription != self.subscription:
            self.has_metadata = False
        self.has_polled = self.has_polled and self.is_member
        self.subscription = subscription

    def unsubscribe(self) -> None:
        """What it owns is to be given back; then it leaves."""
        self.subscription = Subscription()
        self._matched = frozenset()
        if self.membership is not None:
            self.membership.leave(self._mono_ms())
        self.has_polled = False

    def enforce_rebalance(self) -> None:
        """The members of a group whose coordinator assigns have no say in that."""
        if isinstance(self.membership, ClassicMembership):
            self.membership.enforce_rebalance()
        else:
            logger.warning("enforce_rebalance does nothing with group.protocol=consumer: the coordinator assigns")

    def _new_membership(self) -> None:
        if self._member_driver is not None:
            self._member_driver.stop()
        config, backoff = self.config.membership, self._backoff("membership")
        if self.config.speaks_epochs:
            self.membership = ConsumerMembership(
                config, self._new_id(), self.lookup, self._versions, backoff, assignor=self.config.server_assignor
            )
        else:
            self.membership = ClassicMembership(config, self.config.assignors, self.lookup, self._versions, backoff)
        self._member_driver = self._driver(_AliveMember(self, self.membership))

    # What it is

    @property
    def may_join(self) -> bool:
        return (self.has_polled and self.has_metadata) or not self.subscription

    @property
    def is_member(self) -> bool:
        return self.membership is not None and self.membership.is_member

    @property
    def owned(self) -> Partitions:
        return NOTHING if self.membership is None else self.membership.owned

    @property
    def change(self) -> OwnershipChange | None:
        return None if self.membership is None else self.membership.change

    @property
    def error(self) -> KafkaError | None:
        return None if self.membership is None else self.membership.error

    @property
    def is_expired(self) -> bool:
        return self.membership is not None and self.membership.is_expired

    def identity(self) -> Identity | None:
        """Who commits. Without a subscription anybody may: the group is a place to keep offsets."""
        if self.membership is None or (not self.subscription and not self.membership.owned):
            return NOBODY
        return self.membership.identity()

    def _why_nobody(self) -> KafkaError:
        if self.is_member or not self.owned:
            return errors.RebalanceInProgress(
                "The offsets were not committed: the consumer is joining its group. Call poll() until it has, then "
                "commit again."
            )
        return CommitFailed()

    def _refused_commit(self, code: int, now_ms: int) -> None:
        if self.membership is not None and self.identity() is not NOBODY:
            self.membership.refused_commit(code, now_ms)

    # What happens

    def step(self) -> None:
        """After anything that may have changed something: whatever is due goes out."""
        if self._channel.metadata.cluster.is_bootstrap:
            return  # what the brokers speak is not known yet
        self._check_protocol()
        for driver in (self._member_driver, *self._drivers):
            if driver is not None:
                driver.pump()
        self.last_identity = self.identity() or self.last_identity
        self._warn_if_expired()

    def _check_protocol(self) -> None:
        if self.membership is None or self.membership.error is not None or not self.config.speaks_epochs:
            return
        try:
            self._versions[HEARTBEAT]
        except errors.UnsupportedVersion:
            self.membership.error = errors.UnsupportedVersion(
                "The brokers do not have the group protocol of group.protocol=consumer: use group.protocol=classic."
            )

    def done(self, change: OwnershipChange) -> None:
        if self.membership is not None:
            self.membership.done(change, self._mono_ms())

    def count(self, change: OwnershipChange) -> None:
        if change.kind == ASSIGN:
            self.rebalances += 1
        elif change.kind == LOSE:
            self.losses += 1

    def _warn_if_expired(self) -> None:
        if not self.is_expired:
            self._has_warned = False
        elif not self._has_warned:
            self._has_warned = True
            seconds = (self._mono_ms() - self.polled_ms) / 1000
            logger.warning(
                "the consumer has left group %s: its program did not poll for %.1f s, with %d records in hand, and "
                "max.poll.interval.ms is %d. Its next poll joins again. Raise that config, or have max.poll.records "
                "bring fewer at a time.",
                self.config.membership.group_id,
                seconds,
                self.in_hand.count,
                self.config.membership.max_poll_interval_ms,
            )

    def leave_at_close(self) -> None:
        if self.membership is None:
            return
        if self.config.leaves_on_close:
            self.membership.leave(self._mono_ms())
            while (change := self.membership.change) is not None:
                self.membership.done(change, self._mono_ms())
        self.step()

    @property
    def has_left(self) -> bool:
        """Nobody is waited for any more."""
        return self.membership is None or self.membership.has_said_goodbye

    def stop(self) -> None:
        for driver in (self._member_driver, *self._drivers):
            if driver is not None:
                driver.stop()

    # The cluster

    @property
    def topics(self) -> frozenset[str]:
        """Whose metadata is needed."""
        watched: Iterable[str] = ()
        if isinstance(self.membership, ClassicMembership) and self.subscription:
            watched = self.membership.watched_topics
        return self.subscription.topics | self._matched | frozenset(watched)

    @property
    def needs_all_topics(self) -> bool:
        return self.subscription.pattern is not None

    @property
    def needs_metadata(self) -> bool:
        """The coordinator has assigned a topic that the metadata does not tell of: it was made since."""
        return isinstance(self.membership, ConsumerMembership) and self.membership.needs_metadata

    def metadata(self, cluster: Cluster, excluded: Iterable[str]) -> None:
        """There is news of the cluster. `excluded` are topics that a pattern does not match."""
        if self.membership is None or not self.subscription:
            return
        self.has_metadata = True
        pattern = self.subscription.pattern
        if isinstance(self.membership, ConsumerMembership):
            self.membership.subscribe(self.subscription.topics, pattern.pattern if pattern is not None else None)
            self.membership.metadata({topic: bytes(topic_id) for topic, topic_id in cluster.topic_ids.items()})
            return
        if pattern is not None:
            hidden = frozenset(excluded)
            found = (topic for topic in cluster.topics if topic not in hidden and pattern.fullmatch(topic))
            self._matched = frozenset(found)
        counts = {topic: len(cluster.partitions(topic)) for topic in cluster.topics}
        self.membership.metadata(counts, _racks(cluster) if self.config.membership.rack_id else {})
        self.membership.subscribe(self.subscription.topics | self._matched)

    @property
    def subscribed_topics(self) -> frozenset[str]:
        return self.subscription.topics | self._matched


def _racks(cluster: Cluster) -> Racks:
    racks = {node.id: node.rack for node in cluster.nodes if node.rack}
    return {
        TopicPartition(topic, info.partition): frozenset(racks[each] for each in info.replica_ids if each in racks)
        for topic in cluster.topics
        for info in cluster.partitions(topic)
    }
