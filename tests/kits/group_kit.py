"""A group coordinator's core with a log in memory, told in stories.

`GroupStory` runs events on a real core: what it decides is "appended" (encoded with the real codec and decoded again)
and replayed, answers are collected by name. `reload` forgets the core and loads a new one from the records.
"""

from manager_kit import layers
from odradek.coordinator.core import Answer
from odradek.coordinator.group.classic.member import Joiner
from odradek.coordinator.group.commit_request import Commit, CommitFrom
from odradek.coordinator.group.config import GroupConfig
from odradek.coordinator.group.core import GroupCore
from odradek.coordinator.now import Now
from odradek.protocol import errors, releases
from odradek.protocol.frames import OFFSETS
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest
from odradek.protocol.messages.k13_leave_group import MemberIdentity
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.replicated.log_record import EndMarker, LogRecord

WALL_MS = 1_700_000_000_000


def subscription(*topics):
    message = ConsumerProtocolSubscription(topics=list(topics), user_data=None)
    return b"\0\0" + message.to_bytes(0)


def code_name(code):
    return "ok" if code == 0 else errors.by_code(code).name


class GroupStory:
    def __init__(self, release="4.3", **configs):
        self.release = releases.by_name(release)
        configs = {"group_initial_rebalance_delay_ms": 0, "group_min_session_timeout_ms": 1000, **configs}
        self.config = GroupConfig.from_config(layers(release, **configs).config)
        self.mono_ms = 0
        self.log = []  # (record, offset)
        self.refusal = None  # an error that the next append fails with
        self.answers = {}
        self.uuids = 0
        self.core = self._new_core()
        self.core.loaded(self.now)

    def _new_core(self):
        return GroupCore(self.config, self.release, self._uuid)

    def _uuid(self):
        self.uuids += 1
        return f"{self.uuids}"

    @property
    def now(self):
        return Now(self.mono_ms, WALL_MS + self.mono_ms)

    # Running events, as a shard does.

    def run(self, event):
        decision = event(self.core)
        if decision.records and self.refusal is not None:
            raise self.refusal
        for record, version in decision.records:
            placed = (self._stored(record, version), len(self.log))
            self.log.append(placed)
            self.core.replay(*placed)
        for effect in getattr(decision, "effects", ()):
            assert type(effect) is Answer
            assert effect.ticket not in self.answers, f"{effect.ticket} was answered twice"
            self.answers[effect.ticket] = effect.response
        return decision.response

    def _stored(self, record, version):
        if isinstance(record, EndMarker):
            return record
        key = OFFSETS.decode_key(OFFSETS.encode_key(record.key))
        value = None
        if record.value is not None:
            value = OFFSETS.decode_value(key, OFFSETS.encode_value(record.value, version))
        return LogRecord(key, value, record.producer_id, record.producer_epoch)

    def event(self, event):
        response = self.run(event)
        self._follow_up()
        return response

    def _follow_up(self):
        while (decision := self.core.follow_up(self.now)) is not None:
            self.run(lambda core, decided=decision: decided)
        self.core.validate()

    def advance(self, ms):
        """Lets time pass, deadline by deadline."""
        until_ms = self.mono_ms + ms
        while (deadline_ms := self.core.next_deadline_ms()) is not None and deadline_ms <= until_ms:
            self.mono_ms = max(self.mono_ms, deadline_ms)
            while (decision := self.core.expire(self.now)) is not None:
                self.run(lambda core, decided=decision: decided)
            self._follow_up()
        self.mono_ms = until_ms

    def reload(self):
        """Another coordinator: what is not in the log is forgotten."""
        self.core = self._new_core()
        for record, offset in self.log:
            self.core.replay(record, offset)
        self.core.loaded(self.now)
        self.core.validate()

    # Requests.

    def join(self, ticket, member_id="", *, group="g", **options):
        """Version 9 unless `version` says otherwise; the answer goes to `answers[ticket]`."""
        version = options.pop("version", 9)
        protocols = options.pop("protocols", {"range": subscription("t")})
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=options.pop("session_ms", 10_000),
            rebalance_timeout_ms=options.pop("rebalance_ms", 60_000),
            member_id=member_id,
            group_instance_id=options.pop("instance", None),
            protocol_type=options.pop("protocol_type", "consumer"),
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()],
        )
        assert not options, f"unknown options: {options}"
        joiner = Joiner("client", "/127.0.0.1", requires_known_member_id=version >= 4, can_skip_assignment=version >= 9)
        if not member_id and group not in self.core.classic.groups and self.core.classic.accepts(request):
            self.event(lambda core: core.create(self.now, group))
        self.event(lambda core: core.join(self.now, request, joiner, ticket))
        return self.answers.get(ticket)

    def join_new(self, ticket, **options):
        """With the handshake of version 4: the member's id."""
        member_id = self.join(f"{ticket}: id", **options).member_id
        self.join(ticket, member_id, **options)
        return member_id

    def sync(self, ticket, member_id, assignments=None, *, group="g", generation=None, instance=None):
        request = SyncGroupRequest(
            group_id=group,
            generation_id=self.generation(group) if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=data)
                for member, data in (assignments or {}).items()
            ],
        )
        self.event(lambda core: core.sync(self.now, request, ticket))
        return self.answers.get(ticket)

    def heartbeat(self, member_id, *, group="g", generation=None, instance=None):
        request = HeartbeatRequest(
            group_id=group,
            generation_id=self.generation(group) if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
        )
        return code_name(self.event(lambda core: core.heartbeat(self.now, request)).error_code)

    def leave(self, *identities, group="g"):
        """Member ids, or instance ids as `instance:x`."""
        members = [
            MemberIdentity(member_id="", group_instance_id=name[9:])
            if name.startswith("instance:")
            else MemberIdentity(member_id=name, group_instance_id=None)
            for name in identities
        ]
        left = self.event(lambda core: core.leave(self.now, group, members))
        return [code_name(member.error_code) for member in left.members]

    def commit(self, offset, *, group="g", topic="t", partition=0, producer=None, retention_ms=-1, **sender):
        commits = [Commit(topic, partition, offset, 0, "", retention_ms=retention_ms)]
        who = CommitFrom(group, **sender)
        if producer is None:
            codes = self.event(lambda core: core.commit_offsets(self.now, who, commits))
        else:
            codes = self.event(lambda core: core.txn_offset_commit(self.now, who, commits, producer, 0))
        return code_name(codes[0])

    def end_transaction(self, producer, *, is_commit):
        self.event(lambda core: core.end_transaction(EndMarker(producer, 0, is_commit)))

    def committed(self, *, group="g", topic="t", partition=0, require_stable=False):
        wanted = [(topic, [partition])]
        fetched = self.event(lambda core: core.fetch_offsets(group, wanted, require_stable=require_stable))
        _, committed, code = fetched[0][1][0]
        return code_name(code) if code else None if committed is None else committed.offset

    # What is.

    def group(self, group="g"):
        return self.core.classic.groups[group]

    def generation(self, group="g"):
        return self.core.classic.groups[group].generation if group in self.core.classic.groups else -1

    def state(self, group="g"):
        return self.core.classic.groups[group].state if group in self.core.classic.groups else "Dead"

    def answer(self, ticket):
        """The name of its error, or `held`."""
        response = self.answers.get(ticket)
        return "held" if response is None else code_name(response.error_code)

    def stable_pair(self):
        """Two members of a stable group: their ids, the leader first."""
        first = self.join_new("a")
        self.advance(0)
        second = self.join_new("b")
        self.join("a again", first)
        self.sync("b sync", second)
        self.sync("a sync", first, {first: b"A", second: b"B"})
        assert self.state() == "Stable"
        self.answers.clear()
        return first, second
