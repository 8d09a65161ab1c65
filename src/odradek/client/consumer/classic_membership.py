"""A member of a classic group: join, sync, heartbeat, leave.

    state                 what happens                                   next state
    UNJOINED              it subscribes, nothing is left to lose         PREPARING_REBALANCE   JoinGroup
    PREPARING_REBALANCE   the answer has a generation                    COMPLETING_REBALANCE  SyncGroup
    PREPARING_REBALANCE   MEMBER_ID_REQUIRED                             UNJOINED              at once, with the id
    PREPARING_REBALANCE   an error that passes                           UNJOINED              after a while
    PREPARING_REBALANCE   lost, REBALANCE_IN_PROGRESS                    UNJOINED              all is lost but the id
    COMPLETING_REBALANCE  the answer has the assignment                  STABLE
    COMPLETING_REBALANCE  lost, REBALANCE_IN_PROGRESS                    UNJOINED              all is lost but the id
    STABLE                REBALANCE_IN_PROGRESS, another subscription,   PREPARING_REBALANCE   gives back first
                          the leader sees other partitions
    any                   ILLEGAL_GENERATION                             UNJOINED              all is lost but the id
    any                   UNKNOWN_MEMBER_ID                              UNJOINED              all is lost
    any                   max.poll.interval.ms without a poll            UNJOINED              leaves; joins at a poll
    any                   FENCED_INSTANCE_ID, an error that stays        (`error` is set)      all is lost

An eager member gives everything back before it joins. A cooperative one keeps what it has and says so in its
subscription; after the assignment it gives back what it shall no longer have and joins again, and only in that second
generation do others get it. Which of the two it is depends on its assignors: all of them have to be cooperative. One
that does not know whether the group has gone on without it (a JoinGroup or SyncGroup that is lost or overtaken) gives
up what it kept: a claim from an older generation counts for less, and somebody else may have been given the same.

A static member (one with an instance id) does not leave when it stops: its place waits for it until its session ends.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from odradek.client.consumer.assignors.assignor import NO_RACKS, Assignor, Racks
from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.group_membership import GroupMembership, MembershipConfig
from odradek.client.consumer.leader_assignment import LeaderAssignment, assign_as_leader
from odradek.client.consumer.ownership import ASSIGN, LOSE, NOTHING, REVOKE, Identity, Partitions
from odradek.client.consumer.subscription import decode_assignment, encode_subscription
from odradek.client.core import Backoff, Destination, Send, Versions
from odradek.protocol import errors
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE = (
    "UNJOINED",
    "PREPARING_REBALANCE",
    "COMPLETING_REBALANCE",
    "STABLE",
)
LEFT = "LEFT"

NO_GENERATION = -1
PROTOCOL_TYPE = "consumer"
_NAMES_MEMBERS = 3  # the first version of LeaveGroup that names several members


class ClassicMembership(GroupMembership):
    __slots__ = (
        "_assigned",
        "_heartbeat",
        "_heartbeat_at_ms",
        "_is_leaving",
        "_is_unnamed",
        "_joined_topics",
        "_must_rejoin",
        "_partitions",
        "_racks",
        "_remembered",
        "_sync",
        "assignors",
        "generation",
        "is_leader",
        "protocol",
        "state",
        "topics",
    )

    def __init__(
        self,
        config: MembershipConfig,
        assignors: Sequence[Assignor],
        lookup: CoordinatorLookup,
        versions: Versions,
        backoff: Backoff | None = None,
    ) -> None:
        super().__init__(config, lookup, versions, backoff)
        self.assignors = tuple(assignors)
        self.state = UNJOINED
        self.generation = NO_GENERATION
        self.protocol: str | None = None
        self.is_leader = False
        self.topics: frozenset[str] = frozenset()
        self._joined_topics: frozenset[str] = frozenset()  # as the group knows it
        self._partitions: Mapping[str, int] = {}  # how many each topic has, as the metadata tells
        self._racks = NO_RACKS
        self._assigned: LeaderAssignment | None = None  # of a leader: what it has dealt out
        self._remembered: tuple[int, Partitions] = (NO_GENERATION, NOTHING)  # the last assignment, for sticky assignors
        self._must_rejoin = False
        self._is_leaving = False
        self._is_unnamed = False  # its join is on its way, and will be answered with the id of a member
        self._heartbeat: object = None  # the one in flight
        self._heartbeat_at_ms = 0
        self._sync: SyncGroupRequest | None = None  # the one to be sent

    def __repr__(self) -> str:
        return f"ClassicMembership({self.member_id!r}, {self.state}, generation {self.generation})"

    @property
    def is_cooperative(self) -> bool:
        return all(assignor.is_cooperative for assignor in self.assignors)

    def identity(self) -> Identity | None:
        """As whom it commits; None while it has no place in the group."""
        if self.state != STABLE:
            return None
        return Identity(self.member_id, self.generation, self.config.instance_id, answers=self._answers)

    # What the consumer tells

    def subscribe(self, topics: Iterable[str]) -> None:
        self.topics = frozenset(topics)
        self._is_leaving = False
        if self.state == LEFT:
            self.state = UNJOINED
        if self.topics != self._joined_topics:
            self._must_rejoin = True

    def enforce_rebalance(self) -> None:
        """The member joins anew, and with it the group; one that is about to join does so anyway."""
        if self.state == STABLE:
            self._must_rejoin = True

    def metadata(self, partitions: Mapping[str, int], racks: Racks = NO_RACKS) -> None:
        """How many partitions the topics have that exist: a leader watches them for the whole group."""
        self._partitions = dict(partitions)
        self._racks = racks
        if self.is_leader and self._assigned is not None and self._assigned.differs_from(self._partitions):
            self._must_rejoin = True

    @property
    def watched_topics(self) -> frozenset[str]:
        """Whose metadata the member needs: a leader those of all members."""
        watched = frozenset() if self._assigned is None else self._assigned.topics
        return self.topics | watched

    def leave(self, now_ms: int) -> None:
        """For good, once what it owns is given back."""
        self._is_leaving = True
        if self.state == STABLE:
            self._revoke_all()
        else:
            self._lose_all()
        if not self._changes:
            self._changes_done(now_ms)

    # What is due

    def poll(self, now_ms: int) -> list[Send]:
        if self._is_stale(now_ms) and not self._awaits_poll and self.error is None:
            self._awaits_poll = True
            if self._is_member():
                self._leave_group(now_ms)
                self._start_over(now_ms)
        self._prepare()
        return super().poll(now_ms)

    def deadline(self) -> int | None:
        if self.error is not None:
            return None
        times = []
        if self.lookup.node_id is not None:
            if self._may_join() or self._sync is not None:
                times.append(self._retry_at_ms)
            if self._may_beat():
                times.append(max(self._heartbeat_at_ms, self._retry_at_ms))
        if self._polled_ms is not None and not self._awaits_poll:
            times.append(self._polled_ms + self.config.max_poll_interval_ms)
        return min(times, default=None)

    def _wants(self, now_ms: int) -> bool:
        if now_ms < self._retry_at_ms:
            return False
        is_joining = self._may_join() or self._sync is not None
        return is_joining or (self._may_beat() and now_ms >= self._heartbeat_at_ms)

    def _due(self, destination: Destination, now_ms: int) -> None:
        if self._may_join():
            self._join(destination, now_ms)
        elif self._sync is not None:
            request, self._sync = self._sync, None
            self._ask(request, destination, now_ms, self._synced, self._sync_failed)
        else:
            self._beat(destination, now_ms)

    def _is_member(self) -> bool:
        return self.generation != NO_GENERATION

    def _may_join(self) -> bool:
        if not self.topics or self._changes or self._is_leaving or self._awaits_poll:
            return False
        return self.state == UNJOINED or (self.state == STABLE and self._must_rejoin)

    def _may_beat(self) -> bool:
        return self.state == STABLE and self._heartbeat is None

    def _prepare(self) -> None:
        """Before it joins it gives back what it may not keep: see the two kinds above."""
        if not self._must_rejoin or self._changes or self.state not in (UNJOINED, STABLE):
            return
        if not self._is_member():
            self._add_change(LOSE, self.owned)
        elif not self.is_cooperative:
            self._add_change(REVOKE, self.owned)
        else:
            self._add_change(REVOKE, [place for place in self.owned if place[0] not in self.topics])

    # Join

    def _join(self, destination: Destination, now_ms: int) -> None:
        self.state = PREPARING_REBALANCE
        self._is_unnamed = not self.member_id
        self._joined_topics = self.topics
        request = JoinGroupRequest(
            group_id=self.config.group_id,
            session_timeout_ms=self.config.session_timeout_ms,
            rebalance_timeout_ms=self.config.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self.config.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(name=assignor.name, metadata=self._subscription(assignor))
                for assignor in self.assignors
            ],
        )
        self._ask(request, destination, now_ms, self._joined, self._join_failed)

    def _subscription(self, assignor: Assignor) -> bytes:
        generation, partitions = self._remembered
        return encode_subscription(
            self.topics,
            assignor.user_data(partitions, generation),
            self.owned,
            generation if self.owned else NO_GENERATION,
            self.config.rack_id,
        )

    def _joined(self, response: JoinGroupResponse, now_ms: int) -> None:
        is_unnamed, self._is_unnamed = self._is_unnamed, False
        if self.state == LEFT and is_unnamed:
            self._leave_as(response.member_id, now_ms)
        if self.state != PREPARING_REBALANCE:
            return
        if response.error_code:
            self.state = UNJOINED
            self._refused(response.error_code, now_ms, {errors.MemberIdRequired.code: lambda: self._take_id(response)})
            return
        self._went_well()
        self.member_id = response.member_id
        self.generation = response.generation_id
        self.protocol = response.protocol_name
        self.is_leader = response.leader == response.member_id
        self.state = COMPLETING_REBALANCE
        self._sync = SyncGroupRequest(
            group_id=self.config.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.config.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self.protocol,
            assignments=self._assignments(response),
        )

    def _take_id(self, response: JoinGroupResponse) -> None:
        self.member_id = response.member_id

    def _join_failed(self, now_ms: int) -> None:
        self._is_unnamed = False
        if self.state == PREPARING_REBALANCE:
            self._overtaken(now_ms)

    def _assignments(self, response: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """What a leader deals out. One that has come back with its instance id deals nothing and watches what was."""
        self._assigned = None
        if not self.is_leader:
            return []
        assignor = next(each for each in self.assignors if each.name == self.protocol)
        self._assigned = assign_as_leader(assignor, response.members, self._partitions, self._racks)
        if response.skip_assignment:
            return []
        return [
            SyncGroupRequestAssignment(member_id=member, assignment=data)
            for member, data in self._assigned.assignments.items()
        ]

    # Sync

    def _synced(self, response: SyncGroupResponse, now_ms: int) -> None:
        if self.state != COMPLETING_REBALANCE:
            return
        if response.error_code:
            self.state = UNJOINED
            self._refused(response.error_code, now_ms)
            return
        try:
            assigned = decode_assignment(bytes(response.assignment))
        except errors.PeerProtocolError as error:
            text = f"The leader of group {self.config.group_id} has sent an assignment that cannot be read: {error}."
            self._fail_for_good(errors.InconsistentGroupProtocol(text), now_ms)
            return
        self._went_well()
        self._answers += 1
        self.state = STABLE
        self._heartbeat_at_ms = now_ms + self.config.heartbeat_interval_ms
        self._take_over(assigned)

    def _sync_failed(self, now_ms: int) -> None:
        if self.state == COMPLETING_REBALANCE:
            self._overtaken(now_ms)

    def _take_over(self, assigned: Partitions) -> None:
        self._remembered = (self.generation, assigned)
        revoked = self.owned - assigned
        self._must_rejoin = (
            bool(revoked)
            or self.topics != self._joined_topics
            or (self._assigned is not None and self._assigned.differs_from(self._partitions))
        )
        self._add_change(REVOKE, revoked)
        self._add_change(ASSIGN, assigned - self.owned)

    # Heartbeats

    def _beat(self, destination: Destination, now_ms: int) -> None:
        request = HeartbeatRequest(
            group_id=self.config.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.config.instance_id,
        )
        generation = self.generation
        self._heartbeat_at_ms = now_ms + self.config.heartbeat_interval_ms
        self._heartbeat = self._ask(
            request,
            destination,
            now_ms,
            lambda response, now_ms: self._beaten(response, generation, now_ms),
            self._beat_failed,
        )

    def _beaten(self, response: HeartbeatResponse, generation: int, now_ms: int) -> None:
        self._heartbeat = None
        if generation != self.generation:
            return  # it speaks of a generation that is over
        code = response.error_code
        if code in (errors.NONE, errors.RebalanceInProgress.code):
            self._went_well()
            self._answers += 1
            self._must_rejoin = self._must_rejoin or code != errors.NONE
        else:
            self._refused(code, now_ms)

    def _beat_failed(self, now_ms: int) -> None:
        self._heartbeat = None
        self._heartbeat_at_ms = now_ms
        self._later(now_ms)

    # Errors

    def _refused(self, code: int, now_ms: int, special: Mapping[int, Callable[[], None]] | None = None) -> None:
        """In the answer to any request: see the table above."""
        handlers = {
            errors.RebalanceInProgress.code: lambda: self._overtaken(now_ms),
            errors.IllegalGeneration.code: lambda: self._start_over(now_ms, keeps_id=True),
            errors.UnknownMemberId.code: lambda: self._start_over(now_ms),
            **(special or {}),
        }
        if code in handlers:
            handlers[code]()
        elif self._is_passing(code, now_ms):
            self._heartbeat_at_ms = now_ms
        else:
            self._fail_for_good(self._refusal(code), now_ms)

    def _refusal(self, code: int) -> errors.KafkaError:
        error = errors.by_code(code)
        if error is errors.InvalidSessionTimeout:
            return error(f"session.timeout.ms is {self.config.session_timeout_ms}. {error.message}")
        return error()

    def refused_commit(self, code: int, now_ms: int) -> None:
        """A commit was answered so: that tells of the membership, too."""
        if code in (errors.IllegalGeneration.code, errors.UnknownMemberId.code, errors.FencedInstanceId.code):
            if self.state == STABLE:
                self._refused(code, now_ms)
        elif code == errors.RebalanceInProgress.code:
            self._must_rejoin = True

    def _overtaken(self, now_ms: int) -> None:
        self._later(now_ms)
        self._start_over(now_ms, keeps_id=True)

    def _start_over(self, now_ms: int, *, keeps_id: bool = False) -> None:
        if not keeps_id:
            self.member_id = ""
        self.generation = NO_GENERATION
        self.state = UNJOINED
        self.is_leader = False
        self._assigned = None
        self._sync = None
        self._must_rejoin = True
        self._lose_all()

    def _fail_for_good(self, error: errors.KafkaError, now_ms: int) -> None:
        self.generation = NO_GENERATION
        self.state = UNJOINED
        self._sync = None
        super()._fail_for_good(error, now_ms)

    # Leaving

    def _changes_done(self, now_ms: int) -> None:
        if self._is_leaving and self.state != LEFT:
            self._leave_group(now_ms)
            self._start_over(now_ms)
            self.state = LEFT
            self._must_rejoin = False

    @property
    def has_said_goodbye(self) -> bool:
        return super().has_said_goodbye and not self._is_unnamed

    def _leave_as(self, member_id: str, now_ms: int) -> None:
        """It has left before it knew its id. The group waits for whoever has been given one."""
        self.member_id = member_id
        self._leave_group(now_ms)
        self.member_id = ""

    def _leave_group(self, now_ms: int) -> None:
        destination = self.lookup.want() if self.member_id and self.config.instance_id is None else None
        if destination is None:
            return
        request = LeaveGroupRequest(group_id=self.config.group_id)
        if self._versions[request.api_key] >= _NAMES_MEMBERS:
            request.members = [MemberIdentity(member_id=self.member_id, group_instance_id=None)]
        else:
            request.member_id = self.member_id
        self._say_farewell(request, destination, now_ms)
