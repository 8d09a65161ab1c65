"""What the stories of whole clients have in common: a broker, its topics, and everything that goes wrong.

A story draws from its seed who comes, who crashes, and when; how slow and how broken the network and the disk are. The
broker is whole; the clients are the product's own sessions on simulated ports (`client_host.py`). All logs are flushed
with every batch, as docs/guarantees.md says one must to keep over a crash what was acknowledged.

    consumers: client_group_story.py       producers: client_producer_story.py       both: client_copy_story.py
"""

from faulty_link import HEALTHY, Faults

from broker_kit import SimBroker, SimClient
from history import ViolationError
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from odradek.sim.crash import SimCrash, drawn_profile
from odradek.sim.world import World

PROPERTIES = {
    "auto.create.topics.enable": "false",
    "log.flush.interval.messages": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
CLIENT = {  # configs of every client
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "socket.connection.setup.timeout.ms": 500,
    "socket.connection.setup.timeout.max.ms": 1000,
    "request.timeout.ms": 1500,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 200,
    "metadata.max.age.ms": 2000,
}
START_MS_MAX = 60_000
OPERATIONS_PER_CRASH = 120
LATE_MS_MAX = 3000
CUT_MS = (100, 2500)


def violated(rule, message):
    raise ViolationError(rule, message)


class ClientStory:
    properties = PROPERTIES
    topics = {"t": 3}  # name: partitions
    topic_configs = {}
    may_be_late = True  # requests may reach the broker when the client has given up

    def __init__(self, seed):
        self.seed = seed
        self.world = World(seed)
        self.chance = self.world.rng.stream("story")
        self.crashes = 0
        self.is_healed = False
        self.errors = []
        self._turns = -1
        self._numbers = 0
        self.broker = SimBroker(self.world, properties=self.properties)

    def run(self):
        try:
            self.tell()
        except BaseException as error:
            error.add_note(f"{type(self).__name__}, seed {self.seed}, {self.world.now_us} us")
            self.bury()
            raise

    def bury(self):
        """Whoever is still alive in a story that was broken off."""

    def tell(self):
        self.broker.wait_until_ready()
        self.make_topics()
        if self.chance.below(4) == 0:
            self.throttle()
        self.begin()
        for _ in range(self.chance.between(*self.moments)):
            self.happen()
            self.pass_ms(self.chance.between(*self.moment_ms))
        self.finish()

    def happen(self):
        """One of `events`, each with its weight."""
        events = self.events()
        drawn = self.chance.below(sum(weight for weight, _ in events))
        for weight, event in events:
            if drawn < weight:
                self.world.note(f"story {event.__name__}")
                event()
                return
            drawn -= weight

    def links(self):
        """Of all clients that are alive."""
        raise NotImplementedError

    # What happens

    def nothing(self):
        pass

    def draw_faults(self):
        chance = self.chance
        if self.is_healed or chance.below(3) == 0:
            return HEALTHY
        late = 8 if self.may_be_late else 1
        return Faults(
            lose_request=chance.below(6),
            lose_response=chance.below(6),
            late=chance.below(late),
            duplicate=chance.below(late),
            slow=chance.below(20),
            late_ms=(200, 1000, LATE_MS_MAX)[chance.below(3)],
            slow_ms=(50, 400)[chance.below(2)],
        )

    def stir(self):
        fabric, disk, chance = self.world.fabric, self.broker.node.disk, self.chance
        fabric.latency_us = (30, (200, 600, 5000)[chance.below(3)])
        fabric.reset_percent = (0, 0, 0.3, 1)[chance.below(4)]
        fabric.short_percent = chance.below(30)
        fabric.split_percent = chance.below(30)
        for link in self.links():
            link.faults = self.draw_faults()
        if chance.below(2):
            disk.slow("fsync", (1000, 20_000, 100_000)[chance.below(3)])

    def drawn_link(self):
        links = self.links()
        return links[self.chance.below(len(links))] if links else None

    def cut_off(self):
        """One direction or both, for a while; before the relay, where the client notices, or behind it."""
        link = self.drawn_link()
        if link is None:
            return
        one, other = link.way.node.address, (link.node, self.broker.node)[self.chance.below(2)].address
        fabric, kind = self.world.fabric, self.chance.below(3)
        if kind != 0:
            fabric.cut(one, other)
        if kind != 1:
            fabric.cut(other, one)
        self.world.after(self.chance.between(*CUT_MS) * 1000, fabric.heal)

    def break_off(self):
        link = self.drawn_link()
        if link is not None and not link.node.is_paused:
            link.break_off()

    def throttle(self):
        """Who reads or writes more than so much per second is told to wait."""
        entry = EntryData(entity=[EntityData(entity_type="client-id", entity_name=None)])
        rate = (500.0, 2000.0, 8000.0)[self.chance.below(3)]
        entry.ops = [OpData(key="consumer_byte_rate", value=rate), OpData(key="producer_byte_rate", value=rate)]
        self.ask(AlterClientQuotasRequest(entries=[entry]), 1, lambda response: response.entries[0].error_code == 0)

    def crash_broker(self):
        """At a time, or before an operation of the disk."""
        node = self.broker.node
        if self.chance.below(2):
            self.arm(1 + self.chance.below(OPERATIONS_PER_CRASH))
            self.pass_until(lambda: not node.is_up, 700)
            node.disk.before_operation = None
        if node.is_up:
            node.crash(drawn_profile(self.chance), silent=bool(self.chance.below(2)))
        self.crashes += 1
        self.world.run_for(self.chance.below(400))
        self.broker.boot()
        self._turns = -1
        self.pass_until(lambda: self.broker.starting.is_done, START_MS_MAX)
        self.broker.wait_until_ready()

    def arm(self, nth):
        """The disk goes down before its nth operation from now on takes effect."""
        disk, left = self.broker.node.disk, [nth]

        def strike(kind, path):
            left[0] -= 1
            if left[0] == 0:
                disk.is_down = True
                raise SimCrash(f"before {kind} {path}")

        disk.before_operation = strike

    def heal(self):
        self.is_healed = True
        fabric, disk = self.world.fabric, self.broker.node.disk
        fabric.heal()
        disk.heal()
        fabric.reset_percent = fabric.short_percent = fabric.split_percent = 0
        fabric.latency_us = (30, 200)
        for link in self.links():
            link.faults = HEALTHY
        self.pass_ms(LATE_MS_MAX)

    # The cluster

    def make_topics(self):
        configs = [CreatableTopicConfig(name=name, value=value) for name, value in self.topic_configs.items()]
        topics = [
            CreatableTopic(name=name, num_partitions=count, replication_factor=1, configs=configs)
            for name, count in self.topics.items()
        ]
        self.ask(CreateTopicsRequest(topics=topics), 5, lambda response: response.topics[0].error_code in (0, 36))
        self.pass_until(lambda: all(self.log(place) is not None for place in self.places()), START_MS_MAX)

    def ask(self, request, version, is_good):
        """Again and again, on a connection of its own each time."""
        deadline_us = self.world.now_us + START_MS_MAX * 1000
        while (response := self.answer_to(request, version)) is None or not is_good(response):
            assert self.world.now_us < deadline_us, f"{request}: {response}"
            self.pass_ms(20)

    def answer_to(self, request, version):
        client = SimClient(self.world, "maker", self.broker.address)
        waiting = client.send(request, version)
        waiting.pending.is_observed = True
        self.pass_until(lambda: waiting.is_done or client.is_closed, 5000)
        client.close()
        return waiting.response

    def places(self):
        return [(topic, index) for topic, count in sorted(self.topics.items()) for index in range(count)]

    def draw_place(self):
        places = self.places()
        return places[self.chance.below(len(places))]

    def log(self, place):
        server = self.broker.server.broker
        hosted = None if server is None or server.replicas is None else server.replicas.partition(*place)
        return None if hosted is None or hosted.leader is None else hosted.log

    def ends(self):
        return {place: self.log(place).log_end_offset for place in self.places()}

    def next_number(self):
        self._numbers += 1
        return self._numbers

    # Time passes

    def pass_ms(self, milliseconds):
        self.pass_until(lambda: False, milliseconds)

    def pass_until(self, condition, limit_ms):
        limit_us = self.world.now_us + limit_ms * 1000
        while not condition():
            if not self.world.step(limit_us):
                self.world.now_us = limit_us
                return bool(condition())
            loop = self.broker.node.loop
            if loop is not None and loop.turns != self._turns:
                self._turns = loop.turns
                self.look()
        return True

    def look(self):
        """At the broker, after each of its turns."""

    def failed(self, error, source):
        self.errors.append(error)
        raise error
