"""A story of transactions, drawn from a seed: copiers on a bad network, zombies, and a broker that goes down.

    TransactionStory(seed).run()       # raises ViolationError or AssertionError, with the seed that tells it again

Everything is synced before it is acknowledged (`log.flush.interval.messages=1`), so that no crash may take anything
that anybody was told. Producers of version 2 meet late and repeated requests. Those of version 1 do not: they cannot be
told from new ones (T6 is what version 2 is for).
"""

from broker_invariants import LogView, check_dir, check_stable_offset
from faulty_link import HEALTHY, Faults
from transaction_client import BadRoute
from transaction_copier import INPUT, CommittedReader, Copier
from transaction_history import OutputLog, TransactionHistory

from broker_kit import PORT, SimBroker, SimClient
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.sim.crash import SimCrash, drawn_profile
from odradek.sim.world import World

PROPERTIES = {
    "log.flush.interval.messages": "1",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
OUTPUT = "out"
OUTPUTS = [(OUTPUT, 0), (OUTPUT, 1), (OUTPUT, 2)]
VALUES = 12  # to be copied by each
TIMEOUT_MS = 2500
LATE_MS = 3000
EVENTS = (3, 6)
EVENT_MS = (50, 700)  # from one to the next
DISK_OPERATIONS = 150
MARKERS = 27
END_MS_MAX = 40_000
QUIET_MS = LATE_MS + 2 * TIMEOUT_MS


class TransactionStory:
    def __init__(self, seed, *, versions=None):
        self.seed = seed
        self.world = World(seed)
        self.chance = self.world.rng.stream("story")
        self.history = TransactionHistory()
        self.transaction_timeout_ms = TIMEOUT_MS
        self.outputs = OUTPUTS
        self.versions = versions or {"copy a": 2, "copy b": 2, "copy c": 1 + self.chance.below(2)}
        self.inputs = {name: [f"{name}/{number}" for number in range(VALUES)] for name in self.versions}
        self.v2_producers = set()
        self.errors = []
        self.is_healed = False
        self.is_quiet = False  # all that was late has arrived
        self.looks = 0  # at last stable offsets
        self.lives = 0
        self.current = {}
        self.clients = []
        self.broker = SimBroker(self.world, properties=PROPERTIES)
        self.address = (self.broker.node.address, PORT)

    def run(self):
        try:
            self.tell()
        except BaseException as error:
            error.add_note(f"seed {self.seed}, {self.world.now_us} us")
            raise

    def tell(self):
        self.broker.wait_until_ready()
        self.make_topics()
        self.draw_faults()
        self.reader = CommittedReader(self)
        self.clients.append(self.reader)
        for name in self.versions:
            self.replace(name)
        for _ in range(self.chance.between(*EVENTS)):
            self.draw_faults()
            self.pass_ms(self.chance.between(*EVENT_MS))
            self.look()
            self.draw_event()()
        self.finish()

    def look(self):
        """L6, between two events: the last stable offset is where the first open transaction begins."""
        if not self.broker.node.is_up or not self.broker.server.is_ready:
            return
        files = self.broker.node.disk.snapshot()
        for partition in self.outputs:
            log = self.log(partition)
            if log is not None and log.high_watermark == log.log_end_offset:
                check_stable_offset(partition, log, LogView(files, partition))
                self.looks += 1

    def make_topics(self):
        client = SimClient(self.world, "maker", self.broker.address)
        counts = {INPUT: len(self.versions), OUTPUT: len(self.outputs)}
        topics = [
            CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in counts.items()
        ]
        assert not any(topic.error_code for topic in client.ask(CreateTopicsRequest(topics=topics), 7).topics)
        client.close()

    # What may happen

    def draw_faults(self):
        chance = self.chance
        self.faults = Faults(
            lose_request=chance.below(6),
            lose_response=chance.below(6),
            late=chance.below(8),
            duplicate=chance.below(20),
            slow=chance.below(10),
            late_ms=(300, LATE_MS)[chance.below(2)],
        )
        self.world.fabric.latency_us = (30, (200, 600, 5000)[chance.below(3)])
        self.bad_markers = chance.below(2) == 0
        for client in self.clients:
            client.link.faults = self.faults_of(client)
        if self.broker.node.is_up:
            self.spoil_route()

    def faults_of(self, client):
        if self.is_healed:
            return HEALTHY
        is_v1 = getattr(client, "version", 2) == 1
        return self.faults._replace(late=0, duplicate=0) if is_v1 else self.faults

    def spoil_route(self):
        """Between the coordinator and the leaders."""
        fates = ("ok", "ok", "lost", "answer lost", "twice", "again", "again")

        def fate(request):
            if not self.bad_markers or self.is_healed or request.api_key != MARKERS:
                return "ok"
            is_v1 = any(marker.transaction_version < 2 for marker in request.markers)
            return fates[self.chance.below(len(fates) - 2 * is_v1)]

        BadRoute(self.broker, fate, self.chance.below((200, 500, LATE_MS)[self.chance.below(3)]))

    def draw_event(self):
        events = (
            self.pause_copier,
            self.make_zombie,
            self.make_zombie,
            self.crash_copier,
            self.crash_broker,
            self.crash_broker,
            self.break_links,
        )
        return events[self.chance.below(len(events))]

    def a_copier(self):
        return self.current[sorted(self.current)[self.chance.below(len(self.current))]]

    def pause_copier(self):
        """Its transaction may be over when it goes on."""
        self.pause(self.a_copier(), 2 * TIMEOUT_MS)

    def make_zombie(self):
        """It stands still for a while, and finds that there is another one in its place."""
        copier = self.a_copier()
        self.pause(copier, (600, 2 * TIMEOUT_MS)[self.chance.below(2)])
        self.pass_ms(self.chance.below(100))
        self.replace(copier.transactional_id)

    def pause(self, copier, milliseconds):
        if not copier.is_over and not copier.link.node.is_paused:
            copier.link.pause(self.chance.between(100, milliseconds))

    def crash_copier(self):
        copier = self.a_copier()
        if not copier.is_over:
            copier.is_over = True
            copier.link.crash()
        self.replace(copier.transactional_id)

    def break_links(self):
        for client in self.clients:
            if not client.is_over and client.link.is_alive:
                client.link.break_off()

    def crash_broker(self):
        """At a time, or before an operation of the disk."""
        node = self.broker.node
        if self.chance.below(2):
            self.arm(1 + self.chance.below(DISK_OPERATIONS))
            self.pass_until(lambda: not node.is_up, 2000)
            node.disk.before_operation = None
        if node.is_up:
            node.crash(drawn_profile(self.chance), silent=bool(self.chance.below(2)))
        self.world.run_for(self.chance.below(400))
        self.broker.boot()
        self.broker.wait_until_ready()
        self.spoil_route()

    def arm(self, nth):
        disk, left = self.broker.node.disk, [nth]

        def strike(kind, path):
            left[0] -= 1
            if left[0] == 0:
                disk.is_down = True
                raise SimCrash(f"before {kind} {path}")

        disk.before_operation = strike

    def replace(self, transactional_id):
        self.lives += 1
        copier = self.current[transactional_id] = Copier(self, transactional_id, self.lives)
        self.clients.append(copier)

    def pass_ms(self, milliseconds):
        self.pass_until(lambda: False, milliseconds)

    def pass_until(self, condition, limit_ms):
        return self.world.run_until(condition, limit_ms)

    # What copiers ask and tell

    def place(self, transactional_id):
        return sorted(self.versions).index(transactional_id)

    def group(self, transactional_id):
        return f"group of {transactional_id}"

    def ended(self, copier):
        """It has copied everything, or was told that it is over."""
        is_current = self.current[copier.transactional_id] is copier
        if is_current and copier.manager.error is not None:
            self.world.after(10_000, lambda: self.replace_if_current(copier))

    def replace_if_current(self, copier):
        if self.current[copier.transactional_id] is copier:
            self.replace(copier.transactional_id)

    def failed(self, error, source):
        self.errors.append(error)
        raise error

    def is_read(self, positions):
        return self.is_quiet and all(self.log(each).log_end_offset == positions[each] for each in positions)

    def log(self, partition):
        return self.broker.server.broker.replicas.partition(*partition).log

    @property
    def ghosts(self):
        return sum(client.link.ghosts for client in self.clients)

    # The end

    def finish(self):
        """All faults end; the copiers come to the end of their inputs; what is late arrives; then all is checked."""
        self.is_healed = True
        for client in self.clients:
            client.link.faults = HEALTHY
        self.pass_until(lambda: not self.unfinished(), END_MS_MAX)
        assert not self.unfinished(), f"V5: {self.unfinished()} do not come to their end"
        self.world.run_for(QUIET_MS)
        for partition in self.outputs:
            log = self.log(partition)
            assert log.last_stable_offset == log.high_watermark, f"T7: {partition} has an open transaction: {log}"
        self.is_quiet = True
        assert self.pass_until(lambda: self.reader.is_over, END_MS_MAX), "V5: the reader does not come to the end"
        self.check()

    def unfinished(self):
        return [name for name, copier in self.current.items() if not copier.is_over or copier.manager.error is not None]

    def check(self):
        assert self.errors == self.broker.errors == []
        offsets = dict.fromkeys(self.versions, VALUES)  # each has found nothing more to copy
        files = self.broker.node.disk.snapshot()
        logs = {each: OutputLog(each, LogView(files, each).batches) for each in self.outputs}
        self.history.check(logs, self.inputs, offsets, self.v2_producers)
        self.broker.stop()
        check_dir(self.broker.node.disk, is_stopped=True)
