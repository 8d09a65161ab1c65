"""A story of a group of our consumers, whole, drawn from a seed. What must hold: `client_group_history.py`.

GroupOfClients(seed).run()       # raises ViolationError or AssertionError, with the seed that tells it again
"""

from broker_invariants import LogView
from client_group_history import GROUP, ConsumerHistory
from client_member import ASYNC, AUTO, CONSUMER, HEARTBEAT_MS, ITERATE, MAX_POLL_MS, POLL, SESSION_MS, SYNC, Member
from client_story import PROPERTIES, ClientStory, violated
from faulty_link import Link

from log_kit import batch
from odradek.client.core import Send, leader
from odradek.coordinator.shard import ACTIVE
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData

KINDS = {  # the protocols that members of a story speak
    "eager": ("range", "roundrobin,range", "sticky,range"),
    "cooperative": ("cooperative-sticky",),
    "consumer": (CONSUMER,),
}
MEMBERS_MAX = 4
REST_MS_MAX = 40_000


class GroupOfClients(ClientStory):
    properties = {
        **PROPERTIES,
        "group.min.session.timeout.ms": "500",
        "group.initial.rebalance.delay.ms": "100",
        "group.consumer.min.session.timeout.ms": "500",
        "group.consumer.session.timeout.ms": str(SESSION_MS),
        "group.consumer.min.heartbeat.interval.ms": "50",
        "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
    }
    topics = {"t": 3, "u": 1}
    moments = (8, 16)
    moment_ms = (50, 700)
    may_be_late = False  # of joins and heartbeats that is the protocols' own hazard: see docs/guarantees.md

    def __init__(self, seed, *, kind=None, commits=None):
        super().__init__(seed)
        self.kind = kind or tuple(KINDS)[seed % len(KINDS)]
        self.protocol = KINDS[self.kind][self.chance.below(len(KINDS[self.kind]))]
        self.commits = commits  # how all members do it, if they all do it in one way
        self.history = ConsumerHistory()
        self.members = []
        self.violated = violated

    def begin(self):
        self.producer = Link(self.world, "producer", self.broker.address)
        for _ in range(2 + self.chance.below(2)):
            self.start_member()

    def events(self):
        return (
            (3, self.nothing),
            (3, self.stir),
            (3, self.start_member),
            (2, self.crash_member),
            (2, self.leave),
            (2, self.pause),
            (2, self.stall),
            (2, self.wake_up),
            (1, self.break_off),
            (2, self.cut_off),
            (2, self.crash_broker),
        )

    def happen(self):
        self.produce([self.draw_place() for _ in range(3)])
        super().happen()

    def bury(self):
        for member in self.alive():
            member.crash()

    # Members

    def alive(self):
        return [member for member in self.members if not member.is_over]

    def links(self):
        return [member.link for member in self.alive()]

    def drawn(self):
        alive = [member for member in self.alive() if not member.is_leaving]
        return alive[self.chance.below(len(alive))] if alive else None

    def start_member(self):
        used = {member.name for member in self.alive()}
        free = sorted({f"m{number}" for number in range(MEMBERS_MAX)} - used)
        if not free:
            return
        name = free[self.chance.below(len(free))]
        commits = self.commits or (AUTO, SYNC, ASYNC)[self.chance.below(3)]
        instance = f"static-{name}" if self.chance.below(4) == 0 else None
        self.members.append(Member(self, name, self.protocol, commits, (POLL, ITERATE)[self.chance.below(2)], instance))

    def crash_member(self):
        member = self.drawn()
        if member is not None:
            member.crash()

    def leave(self):
        member = self.drawn()
        if member is not None:
            member.is_leaving = True

    def pause(self):
        """The whole process stands still."""
        member = self.drawn()
        if member is not None and not member.link.node.is_paused:
            member.link.pause((300, 1000, SESSION_MS + 500)[self.chance.below(3)])

    def stall(self):
        """The program does not poll, and heartbeats go on."""
        member = self.drawn()
        if member is not None:
            member.stall_ms = (500, MAX_POLL_MS + 700)[self.chance.below(2)]

    def wake_up(self):
        """All of them, several times: in a poll or between two."""
        for member in self.alive():
            for _ in range(5):
                self.world.after(self.chance.below(400_000), member.wakeup)

    # Records

    def produce(self, places):
        for topic, index in places:
            values = [b"v%d" % self.next_number() for _ in range(1 + self.chance.below(6))]
            data = PartitionProduceData(index=index, records=bytes(batch(*values)))
            topics = [TopicProduceData(name=topic, partition_data=[data])]
            send = Send(ProduceRequest(acks=-1, timeout_ms=3000, topic_data=topics), 9, leader(topic, index), object())
            self.producer.send(send, 3000, lambda response: None, lambda: None)

    # The coordinator

    def look(self):
        core = self.core()
        if core is not None:
            core.validate()
            self.history.look_at_commits(core)

    def core(self):
        services = getattr(self.broker.server.broker, "services", None)
        groups = getattr(services, "groups", None)
        shard = None if groups is None else groups.shards.get(0)
        return shard.core if shard is not None and shard.state is ACTIVE else None

    def committed(self):
        core = self.core()
        return {} if core is None else {(topic, at): each.offset for topic, at, each in core.offsets.places(GROUP)}

    # The end

    def finish(self):
        self.heal()
        if self.drawn() is None:
            self.start_member()
        self.produce(self.places())
        self.pass_ms(500)
        if not self.pass_until(self.is_at_rest, REST_MS_MAX):
            violated("C5", f"after {REST_MS_MAX} ms: {self.alive()}, {self.history.finished} of {self.ends()}")
        for member in self.members:
            member.is_leaving = True
        if not self.pass_until(lambda: not self.alive(), REST_MS_MAX):
            violated("C5", f"{self.alive()} did not come to their end")
        self.check()

    def is_at_rest(self):
        owned = sorted(place for member in self.alive() for place in member.tenures)
        ends = self.ends()
        is_read = owned == self.places() and all(member.has_read(ends) for member in self.alive())
        return is_read and self.committed() == ends

    def check(self):
        committed, ends = self.committed(), self.ends()
        if committed != ends:
            violated("C5", f"committed is {committed}, written is {ends}")
        files = self.broker.node.disk.snapshot()
        self.history.check_values({place: LogView(files, place).values for place in self.places()})
        self.pass_ms(1000)
        for member in self.members:
            open_ways = [near for near in member.link.way.connections if not near.is_closed]
            assert not open_ways, f"{member} has left connections open"
        assert self.broker.errors == self.errors == []
        self.broker.stop()
