"""A story of a group, drawn from a seed: members that come, crash, pause, stall, leave and come back.

The coordinator crashes, the network loses, delays and repeats. Members are on the client cores, the broker is whole.

    story = GroupStory(seed=7)
    story.run()              # raises ViolationError or AssertionError, with the seed that tells it again

What must hold, and when it is looked at:

    G1  no partition is taken for its own by two members; one whose session is over by its own clock takes nothing for
        its own, and one that was misheard (`group_member.MemberLink`) may not: whenever a member has heard something
    G2-G4  as the coordinator sees its groups (`validate`): after every turn of the broker
    G3  the epoch that a member is told never goes down
    G5  a committed offset goes back only by a late commit of the very member that has had the partition all the time
    G6  when everything has healed, the group comes to rest: every partition has one owner
    G7  no commit that was acknowledged is lost by a crash of the coordinator
    V4  a member reads every offset from where it began, in order
    V5  at the end every record has been read by somebody, and everything that was read is committed

All logs are flushed with every batch, as docs/guarantees.md says one must to keep an acknowledged commit over a crash.
"""

from faulty_link import HEALTHY, Faults, Link
from group_history import GroupHistory, violated
from group_member import CONSUMER, GROUP, HEARTBEAT_MS, MAX_POLL_MS, SESSION_MS, Member

from broker_kit import SimBroker, SimClient
from log_kit import batch
from odradek.client.core import Send, leader
from odradek.coordinator.shard import ACTIVE
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.sim.crash import SimCrash, drawn_profile
from odradek.sim.world import World

PROPERTIES = {
    "auto.create.topics.enable": "false",
    "log.flush.interval.messages": "1",
    "offsets.topic.num.partitions": "1",
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "100",
}
CONSUMER_PROPERTIES = {
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
}
TOPICS = {"t": 3, "u": 2}
KINDS = {  # the protocols that members of a story speak
    "eager": ("range", "roundrobin,range", "sticky,range", "range,cooperative-sticky"),
    "cooperative": ("cooperative-sticky",),
    "consumer": (CONSUMER,),
    "migration": (CONSUMER, "cooperative-sticky", "range"),
}
MEMBERS_MAX = 6
MOMENTS = (8, 18)
MOMENT_MS = (50, 700)
START_MS_MAX = 60_000
REST_MS_MAX = 30_000
OPERATIONS_PER_CRASH = 120
LATE_MS_MAX = 5000
SLOW_FSYNC_US = 100_000


class GroupStory:
    def __init__(self, seed, *, kind=None):
        self.seed = seed
        self.world = World(seed)
        self.chance = self.world.rng.stream("story")
        self.kind = kind or tuple(KINDS)[seed % len(KINDS)]
        self.release = "3.3" if self.kind in ("eager", "cooperative") and self.chance.below(4) == 0 else "4.3"
        self.topics = dict(TOPICS)
        self.members = []
        self.crashes = 0
        self.is_healed = False
        self._turns = -1
        self._numbers = 0
        self.history = GroupHistory(self.kind in ("eager", "cooperative"), self.kind == "migration", self.next_number)
        properties = {**PROPERTIES, **(CONSUMER_PROPERTIES if self.release == "4.3" else {})}
        if self.release == "4.3":
            properties["group.consumer.assignment.interval.ms"] = ("0", "300")[self.chance.below(2)]
        self.broker = SimBroker(self.world, release=self.release, properties=properties)

    # The story

    def run(self):
        try:
            self.tell()
        except BaseException as error:
            error.add_note(f"seed {self.seed} ({self.kind}, {self.release}), {self.world.now_us} us")
            raise

    def tell(self):
        self.broker.wait_until_ready()
        self.make_topics()
        self.producer = Link(self.world, "producer", self.broker.address)
        for _ in range(2 + self.chance.below(3)):
            self.start_member()
        for _ in range(self.chance.between(*MOMENTS)):
            self.produce()
            self.happen()
            self.pass_ms(self.chance.between(*MOMENT_MS))
        self.finish()

    def happen(self):
        events = (
            (4, self.nothing),
            (3, self.stir),
            (4, self.start_member),
            (3, self.crash_member),
            (2, self.restart_member),
            (2, self.leave),
            (3, self.pause),
            (2, self.stall),
            (2, self.break_off),
            (1, self.grow),
            (3, self.crash_broker),
        )
        drawn = self.chance.below(sum(weight for weight, _ in events))
        for weight, event in events:
            if drawn < weight:
                event()
                return
            drawn -= weight

    # What happens

    def nothing(self):
        pass

    def draw_faults(self):
        if self.is_healed:
            return HEALTHY
        chance = self.chance
        if chance.below(3) == 0:
            return HEALTHY
        return Faults(
            lose_request=chance.below(8),
            lose_response=chance.below(8),
            late=chance.below(8),
            duplicate=chance.below(8),
            slow=chance.below(20),
            late_ms=(200, 2000, LATE_MS_MAX)[chance.below(3)],
            slow_ms=(50, 400)[chance.below(2)],
        )

    def stir(self):
        fabric, chance = self.world.fabric, self.chance
        fabric.latency_us = (30, (200, 600, 5000)[chance.below(3)])
        fabric.reset_percent = (0, 0, 0.3, 1)[chance.below(4)]
        for member in self.alive():
            member.link.faults = self.draw_faults()
        if chance.below(2):
            self.broker.node.disk.slow("fsync", (1000, 20_000, 150_000)[chance.below(3)])

    def alive(self):
        return [member for member in self.members if member.is_up and not member.is_gone()]

    def drawn(self):
        alive = self.alive()
        return alive[self.chance.below(len(alive))] if alive else None

    def start_member(self):
        alive = self.alive()
        if len(alive) >= MEMBERS_MAX:
            return
        free = sorted({f"m{number}" for number in range(MEMBERS_MAX + 2)} - {m.name for m in self.members if m.is_up})
        if not free:
            return
        protocols = KINDS[self.kind]
        protocol = protocols[self.chance.below(len(protocols))]
        is_static = self.chance.below(3) == 0
        name = free[self.chance.below(len(free))]
        self.add(name, protocol, f"static-{name}" if is_static else None)

    def add(self, name, protocol, instance):
        """All members of a classic group read the same: their range and roundrobin are told by the same leader."""
        self.members.append(Member(self, name, protocol, self.topics, instance))

    def crash_member(self):
        member = self.drawn()
        if member is not None:
            member.crash()

    def restart_member(self):
        """As another member, with the same instance id if it has one."""
        member = self.drawn()
        if member is not None:
            self.restart(member)

    def restart(self, member):
        member.crash()
        self.add(member.name, member.protocol, member.instance)

    def leave(self):
        member = self.drawn()
        if member is not None:
            member.leave()

    def pause(self):
        member = self.drawn()
        if member is not None and not member.link.node.is_paused:
            member.link.pause((300, 1000, SESSION_MS + 500, MAX_POLL_MS + 1000)[self.chance.below(4)])

    def stall(self):
        """The application does not poll, and heartbeats go on."""
        member = self.drawn()
        if member is not None and not member.is_stalled:
            member.is_stalled = True
            until_ms = (500, MAX_POLL_MS + 500)[self.chance.below(2)]
            self.world.after(until_ms * 1000, lambda: self.go_on(member))

    def go_on(self, member):
        member.is_stalled = False

    def break_off(self):
        member = self.drawn()
        if member is not None and not member.link.node.is_paused:
            member.link.break_off()

    def grow(self):
        topic = sorted(self.topics)[self.chance.below(len(self.topics))]
        count = self.topics[topic] + 1
        if count > 6:
            return
        more = CreatePartitionsTopic(name=topic, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[more], timeout_ms=10_000)
        self.ask(request, 3, lambda response: response.results[0].error_code in (0, 37))
        self.topics[topic] = count

    def crash_broker(self):
        (self.nothing, self.wait_for_an_operation, self.wait_for_a_commit)[self.chance.below(3)]()
        self.broker.node.disk.before_operation = None
        if self.broker.node.is_up:
            self.broker.node.crash(drawn_profile(self.chance), silent=bool(self.chance.below(2)))
        self.crashes += 1
        self.world.run_for(self.chance.below(400))
        self.broker.boot()
        self._turns = -1
        self.pass_until(lambda: self.broker.starting.is_done, START_MS_MAX)
        self.broker.wait_until_ready()

    def wait_for_an_operation(self):
        self.arm(1 + self.chance.below(OPERATIONS_PER_CRASH))
        self.pass_ms(self.chance.between(*MOMENT_MS))

    def wait_for_a_commit(self):
        """One that is acknowledged at this very moment, by a slow disk: what was not flushed is lost."""
        self.broker.node.disk.slow("fsync", SLOW_FSYNC_US)
        before = self.history.commits
        self.pass_until(lambda: self.history.commits > before, MOMENT_MS[1])

    def arm(self, nth):
        """The disk goes down before its nth operation from now on takes effect."""
        disk = self.broker.node.disk
        left = [nth]

        def strike(kind, path):
            left[0] -= 1
            if left[0] == 0:
                disk.is_down = True
                raise SimCrash(f"before {kind} {path}")

        disk.before_operation = strike

    # The cluster

    def make_topics(self):
        topics = [
            CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in self.topics.items()
        ]
        self.ask(CreateTopicsRequest(topics=topics), 5, lambda response: response.topics[0].error_code in (0, 36))

    def ask(self, request, version, is_good):
        """Again and again, on a connection of its own each time."""
        deadline_us = self.world.now_us + START_MS_MAX * 1000
        while (response := self.answer_to(request, version)) is None or not is_good(response):
            assert self.world.now_us < deadline_us, f"{request}: {response}"
            self.pass_ms(20)

    def answer_to(self, request, version):
        client = SimClient(self.world, "admin", self.broker.address)
        waiting = client.send(request, version)
        waiting.pending.is_observed = True
        self.pass_until(lambda: waiting.is_done or client.is_closed, 5000)
        client.close()
        return waiting.response

    def produce(self, places=None):
        for topic, index in places or [self.draw_place() for _ in range(2)]:
            values = [b"v%d" % self.next_number() for _ in range(1 + self.chance.below(3))]
            data = PartitionProduceData(index=index, records=bytes(batch(*values)))
            request = ProduceRequest(
                acks=-1, timeout_ms=3000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
            )
            send = Send(request, 9, leader(topic, index), object())
            self.producer.send(send, 3000, lambda response: None, lambda: None)

    def places(self):
        return [(topic, index) for topic, count in sorted(self.topics.items()) for index in range(count)]

    def draw_place(self):
        places = self.places()
        return places[self.chance.below(len(places))]

    def next_number(self):
        self._numbers += 1
        return self._numbers

    # Time passes

    def pass_ms(self, milliseconds):
        self.pass_until(lambda: False, milliseconds)

    def pass_until(self, condition, limit_ms):
        limit_us = self.world.now_us + limit_ms * 1000
        while not condition() and self.world.step(limit_us):
            self.look()
        if not condition():
            self.world.now_us = limit_us

    def look(self):
        """At the coordinator, after every turn of the broker."""
        loop = self.broker.node.loop
        if loop is None or loop.turns == self._turns:
            return
        self._turns = loop.turns
        core = self.core()
        if core is not None:
            core.validate()
            self.history.look_at_commits(core)

    def core(self):
        server = self.broker.server
        services = getattr(server.broker, "services", None)
        groups = getattr(services, "groups", None)
        shard = None if groups is None else groups.shards.get(0)
        return shard.core if shard is not None and shard.state is ACTIVE else None

    def failed(self, error, source):
        raise error

    # The end

    def finish(self):
        self.heal()
        if not self.alive():
            self.add("last", KINDS[self.kind][0], None)
        self.produce(self.places())
        self.pass_until(self.is_at_rest, REST_MS_MAX)
        if not self.is_at_rest():
            violated("G6", f"after {REST_MS_MAX} ms: {self.told()}")
        self.produce(self.places())
        self.pass_ms(500)
        self.pass_until(self.is_all_read, REST_MS_MAX)
        self.check_all_read()
        assert self.broker.errors == []
        self.broker.stop()

    def heal(self):
        self.is_healed = True
        fabric, disk = self.world.fabric, self.broker.node.disk
        fabric.heal()
        disk.heal()
        fabric.reset_percent = 0
        fabric.latency_us = (30, 200)
        for member in self.members:
            member.link.faults = HEALTHY
            member.is_stalled = False
        self.pass_ms(LATE_MS_MAX)  # who is paused comes back, and what is late arrives
        for member in self.members:
            member.acked.clear()  # a late commit may have overtaken a later one: it is said again
        for member in self.alive():
            if member.link.is_misheard:  # neither it nor the coordinator will ever find out
                self.restart(member)

    def is_at_rest(self):
        """G2 and G6, as members and coordinator see it."""
        owned = sorted(place for member in self.members for place in member.believes())
        return (
            owned == self.places()
            and self.group_state() == "Stable"
            and not any(m.membership.change for m in self.alive())
        )

    def group_state(self):
        core = self.core()
        if core is None:
            return None
        group = core.consumers.groups.get(GROUP) or core.classic.groups.get(GROUP)
        return None if group is None else group.state

    def told(self):
        return f"{self.group_state()}: {self.members}"

    def ends(self):
        replicas = self.broker.server.broker.replicas
        return {place: replicas.partition(*place).log.log_end_offset for place in self.places()}

    def is_all_read(self):
        core = self.core()
        if core is None:
            return False
        committed = {(topic, index): each.offset for topic, index, each in core.offsets.places(GROUP)}
        return committed == self.ends()

    def check_all_read(self):
        for place, end in self.ends().items():
            unread = set(range(end)) - self.history.read.get(place, set())
            if unread:
                violated("V5", f"{sorted(unread)} of {place} were read by nobody: {self.told()}")
        if not self.is_all_read():
            core = self.core()
            committed = {(topic, index): each.offset for topic, index, each in core.offsets.places(GROUP)}
            violated("V5", f"committed is {committed}, written is {self.ends()}: {self.told()}")
