"""A membership core with an answer for everything that a test gives it, and time that a test lets pass.

story = classic("range")                 # or consumer(), share()
story.answers(JoinGroupResponse(...))    # the one request that is out
story.sent                               # what has gone out and waits for an answer, oldest first
"""

from assurance import Assurance
from odradek.client.consumer.assignors.by_name import by_name
from odradek.client.consumer.classic_membership import ClassicMembership
from odradek.client.consumer.consumer_membership import ConsumerMembership
from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.group_membership import MembershipConfig
from odradek.client.consumer.subscription import encode_assignment
from odradek.client.core import ANY, Backoff
from odradek.client.share_consumer.share_membership import ShareMembership
from odradek.protocol.messages.k10_find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse

VERSIONS = {8: 9, 9: 9, 10: 6, 11: 9, 12: 4, 13: 5, 14: 5, 68: 1, 76: 1}
SESSION_MS, HEARTBEAT_MS, MAX_POLL_MS, BACKOFF_MS = 10_000, 3_000, 60_000, 100
SERVER_SESSION_MS = 45_000  # of the consumer protocol: the broker's default, of which a member is not told


class MemberStory:
    def __init__(self, core, lookup, session_timeout_ms=None):
        """With a session, `assurance` tells what is surely the member's."""
        self.core = core
        self.lookup = lookup
        self.assurance = core if session_timeout_ms is None else Assurance(core, session_timeout_ms)
        self.cores = (self.assurance, lookup)
        self.now_ms = 1_000_000
        self.sent = []
        self._of = {}
        self.lookups = 0
        self.knows_coordinator = True

    def pump(self):
        """Everything that is due goes out. The coordinator is found at once."""
        while True:
            sends = [(core, send) for core in self.cores for send in core.poll(self.now_ms)]
            if not sends:
                return self
            for core, send in sends:
                if isinstance(send.request, FindCoordinatorRequest) and self.knows_coordinator:
                    assert send.destination.kind == ANY
                    self.lookups += 1
                    found = Coordinator(key="g", node_id=1, host="h", port=1)
                    core.answered(send.token, FindCoordinatorResponse(coordinators=[found]), self.now_ms)
                else:
                    self._of[id(send.token)] = core
                    self.sent.append(send)

    def take(self, kind=None):
        """The oldest request that is out, of this kind."""
        for at, send in enumerate(self.sent):
            if kind is None or isinstance(send.request, kind):
                return self.sent.pop(at)
        raise AssertionError(f"no {kind} is out: {self.sent}")

    def answer(self, response, kind=None):
        send = self.take(kind)
        self._of[id(send.token)].answered(send.token, response, self.now_ms)
        self.pump()
        return send.request

    def lose(self, kind=None):
        send = self.take(kind)
        self._of[id(send.token)].failed(send.token, self.now_ms)
        self.pump()
        return send.request

    def pass_ms(self, milliseconds):
        """From deadline to deadline."""
        until_ms = self.now_ms + milliseconds
        for _ in range(1000):
            deadlines = [core.deadline() for core in self.cores]
            due = min((each for each in deadlines if each is not None and each > self.now_ms), default=None)
            if due is None or due > until_ms:
                break
            self.now_ms = due
            self.pump()
        self.now_ms = until_ms
        return self.pump()

    def do(self, *kinds):
        """The consumer does its tasks, which are these; the partitions of each."""
        done = []
        for kind in kinds:
            task = self.core.change
            assert task is not None and task.kind == kind, f"{task} is not {kind}"
            done.append(sorted(task.partitions))
            self.core.done(task, self.now_ms)
        self.pump()
        return done


def config(instance=None):
    return MembershipConfig("g", SESSION_MS, HEARTBEAT_MS, MAX_POLL_MS, instance)


def classic(*assignors, topics=("t",), instance=None, partitions=None):
    lookup = CoordinatorLookup("g", VERSIONS, Backoff(BACKOFF_MS, BACKOFF_MS))
    found = [by_name(name) for name in assignors or ("range",)]
    core = ClassicMembership(config(instance), found, lookup, VERSIONS, Backoff(BACKOFF_MS, BACKOFF_MS))
    story = MemberStory(core, lookup, SESSION_MS)
    core.metadata({"t": 2, "u": 1} if partitions is None else partitions)
    core.polled(story.now_ms)
    core.subscribe(topics)
    return story.pump()


def consumer(topics=("t",), instance=None, regex=None, backoff_max_ms=BACKOFF_MS):
    lookup = CoordinatorLookup("g", VERSIONS, Backoff(BACKOFF_MS, BACKOFF_MS))
    core = ConsumerMembership(config(instance), "me", lookup, VERSIONS, Backoff(BACKOFF_MS, backoff_max_ms))
    story = MemberStory(core, lookup, SERVER_SESSION_MS)
    core.metadata({"t": b"t" * 16, "u": b"u" * 16})
    core.polled(story.now_ms)
    core.subscribe(topics, regex)
    return story.pump()


def share(topics=("t",)):
    lookup = CoordinatorLookup("g", VERSIONS, Backoff(BACKOFF_MS, BACKOFF_MS))
    core = ShareMembership(config(), "me", lookup, VERSIONS, Backoff(BACKOFF_MS, BACKOFF_MS))
    story = MemberStory(core, lookup)
    core.metadata({"t": b"t" * 16, "u": b"u" * 16})
    core.polled(story.now_ms)
    core.subscribe(topics, story.now_ms)
    return story.pump()


def joined(member="me", generation=1, leader="other", protocol="range", members=(), error=0, **more):
    return JoinGroupResponse(
        error_code=error,
        member_id=member,
        generation_id=generation,
        leader=leader,
        protocol_type="consumer",
        protocol_name=protocol,
        members=list(members),
        **more,
    )


def synced(*places, error=0):
    return SyncGroupResponse(error_code=error, assignment=encode_assignment(places) if not error else b"")


def stable(story, *places, generation=1, protocol="range"):
    """Through join and sync to a share."""
    story.answer(joined(generation=generation, protocol=protocol), JoinGroupRequest)
    story.answer(synced(*places), SyncGroupRequest)
    if places:
        story.do("assign")
    return story
