"""A story of a broker, drawn from a seed: clients that work, a bad network, a slow disk, and crashes at any moment.

    story = Story(seed=7)
    story.run()              # raises ViolationError or AssertionError, with the seed that tells it again
    story.world.trace.digest()

A *life* goes from one boot to the crash that ends it; a crash may come in the middle of a start. Half of the topics
have `flush.messages=1`: of those a crash may take nothing that anybody was told. Of the others it may take a suffix.
"""

from broker_admin import Admin
from broker_invariants import LogView, check_dir, check_producers, check_resources, check_step

from broker_clients import RETRIABLE, Consumer, IdempotentProducer, PlainProducer
from broker_kit import SimBroker, SimClient
from history import History, ViolationError
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.records.batch import batches
from odradek.sim.crash import SimCrash, drawn_profile
from odradek.sim.world import World

TOPICS = {  # name: partitions, configs
    "durable": (2, {"flush.messages": "1"}),
    "durable.rolled": (1, {"flush.messages": "1", "segment.ms": "400"}),
    "volatile": (2, {}),
    "volatile.rewritten": (1, {"compression.type": "gzip", "segment.ms": "700"}),
}
PROPERTIES = {
    "auto.create.topics.enable": "false",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
SESSION_ERRORS = {errors.FetchSessionIdNotFound.code, errors.InvalidFetchSessionEpoch.code}
LIVES = (2, 4)
LIFE_MS = (100, 1500)
OPERATIONS_PER_LIFE = 250  # of the disk, about: one of them may be the last
START_MS_MAX = 60_000
QUIET_MS = 6_000


class Story:
    properties = PROPERTIES

    def __init__(self, seed, *, release=None, topics=None):
        self.seed = seed
        self.world = World(seed)
        self.chance = self.world.rng.stream("story")
        self.release = release or ("4.3", "4.3", "3.3")[seed % 3]
        self.history = History()
        self.topics = topics or TOPICS
        self.partitions = [(topic, index) for topic, (count, _) in self.topics.items() for index in range(count)]
        self.durable = {partition for partition in self.partitions if "flush.messages" in self.topics[partition[0]][1]}
        self.topic_ids = {}
        self.topic_names = {}
        self.life = 0
        self.crashes_us = []
        self.began_us = 0  # when the broker was ready, in this life
        self.begun = set(self.partitions)  # those that are led in this life
        self.epochs = {}  # by partition, the leader epoch of each life
        self.producer_ids = set()
        self.losses = 0  # records that crashes took from volatile topics
        self.is_healed = False
        self.is_ending = False
        self.errors = []
        self._turns = -1
        self._high_watermarks = {}
        self._first_high_watermarks = {}  # as a life has found them
        self.broker = SimBroker(self.world, release=self.release, properties=self.properties)

    # The story.

    def run(self):
        try:
            self.tell()
        except BaseException as error:
            error.add_note(f"seed {self.seed}, {self.world.now_us} us, life {self.life}")
            raise

    def tell(self):
        self.broker.wait_until_ready()
        self.make_topics()
        self.scripts = self.make_scripts()
        for _ in range(self.chance.between(*LIVES)):
            self.stir()
            self.live()
            self.end_life()
            self.start()
            self.pass_until(lambda: len(self.begun) == len(self.partitions), START_MS_MAX)
        self.stir()
        self.pass_ms(self.chance.between(*LIFE_MS))
        self.finish()

    def make_topics(self):
        client = SimClient(self.world, "maker", self.broker.address)
        topics = [
            CreatableTopic(
                name=name,
                num_partitions=count,
                replication_factor=1,
                configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
            )
            for name, (count, configs) in self.topics.items()
        ]
        for answer in client.ask(CreateTopicsRequest(topics=topics), 7).topics:
            assert answer.error_code == 0, answer
            self.topic_ids[answer.name] = bytes(answer.topic_id)
            self.topic_names[bytes(answer.topic_id)] = answer.name
        client.close()
        self.pass_until(lambda: all(self.is_led(partition) for partition in self.partitions), START_MS_MAX)

    def make_scripts(self):
        return [
            IdempotentProducer(self, "idempotent-0"),
            IdempotentProducer(self, "idempotent-1"),
            PlainProducer(self, "plain"),
            Consumer(self, "consumer-0", asks_for_epochs=True),
            Consumer(self, "consumer-1", asks_for_epochs=False),
            Admin(self, "admin"),
        ]

    def stir(self):
        """Draws how bad the network and the disk are from now on."""
        fabric, disk, chance = self.world.fabric, self.broker.node.disk, self.chance
        fabric.heal()
        disk.heal()
        fabric.latency_us = (30, (200, 600, 5000)[chance.below(3)])
        fabric.short_percent = chance.below(30)
        fabric.split_percent = chance.below(30)
        fabric.reset_percent = (0, 0, 0.3, 1)[chance.below(4)]
        disk.cold_percent = (0, 0, 5)[chance.below(3)]
        if chance.below(2):
            disk.slow("fsync", (1000, 10_000, 60_000)[chance.below(3)])
        if chance.below(4) == 0:
            script = self.scripts[chance.below(len(self.scripts))]
            self.world.after(chance.below(500_000), lambda: self.cut_off(script.name))

    def cut_off(self, name):
        if self.is_healed:
            return
        one, other = self.world.node(name).address, self.broker.node.address
        (self.world.fabric.partition, self.world.fabric.reset_connections)[self.chance.below(2)](one, other)

    # Time passes.

    def live(self):
        """Until a crash: at a time, or at an operation of the disk."""
        if self.chance.below(2):
            self.arm(1 + self.chance.below(OPERATIONS_PER_LIFE))
        self.pass_ms(self.chance.between(*LIFE_MS))

    def arm(self, nth):
        """The disk goes down before its nth operation from now on takes effect."""
        disk = self.broker.node.disk
        left = [nth]

        def strike(kind, path):
            left[0] -= 1
            if left[0] == 0:
                self.note_logs()
                disk.is_down = True
                raise SimCrash(f"before {kind} {path}")

        disk.before_operation = strike

    def pass_ms(self, milliseconds):
        self.pass_until(lambda: not self.broker.node.is_up, milliseconds)

    def pass_until(self, condition, limit_ms):
        """Step by step, with a look at the broker after each."""
        limit_us = self.world.now_us + limit_ms * 1000
        while not condition() and self.world.step(limit_us):
            self.look()
        if not condition():
            self.world.now_us = limit_us

    def look(self):
        loop = self.broker.node.loop
        if loop is None or loop.turns == self._turns:
            return
        self._turns = loop.turns
        for partition in self.partitions:
            hosted = self.hosted(partition)
            if hosted is not None and hosted.log is not None:
                if partition not in self.begun and self.is_led(partition):
                    self.begin(partition, hosted)
                first = self._first_high_watermarks.setdefault(partition, hosted.log.high_watermark)
                check_step(partition, hosted, partition in self.durable, self._high_watermarks, first)

    # Lives.

    def end_life(self):
        node = self.broker.node
        if node.is_up:
            self.note_logs()
            node.crash(drawn_profile(self.chance), silent=bool(self.chance.below(2)))

    def note_logs(self):
        """What every log holds when a life ends. One that was not led yet is as nobody but the crash has left it."""
        self.crashes_us.append(self.world.now_us)
        files = self.broker.node.disk.snapshot()
        for partition in self.partitions:
            if partition in self.begun:
                self.history.ended(partition, LogView(files, partition).values)
            else:
                before = self.history.logs[partition][-1]
                self.history.ended(partition, before)
                self.history.began(partition, len(before), is_durable=partition in self.durable)
        self.life += 1
        self.begun = set()
        self._high_watermarks.clear()
        self._first_high_watermarks.clear()

    def start(self):
        """Again and again, until no crash comes in between."""
        while True:
            self.world.run_for(self.chance.below(300))
            self.broker.boot()
            self._turns = -1
            if self.chance.below(3) == 0:
                self.arm(1 + self.chance.below(80))
            self.pass_until(lambda: self.broker.starting.is_done or not self.broker.node.is_up, START_MS_MAX)
            if self.broker.node.is_up:
                self.broker.wait_until_ready()
                self.broker.node.disk.before_operation = None
                self.began_us = self.world.now_us
                return

    def begin(self, partition, hosted):
        """It is led: from here on it is written again."""
        offset = hosted.leader.isr.epoch_start_offset
        before = self.history.logs[partition][-1]
        self.losses += len(before) - offset
        self.history.began(partition, offset, is_durable=partition in self.durable)
        self.saw_leader_epoch(partition, self.life, hosted.leader_epoch)
        self.begun.add(partition)
        check_producers(partition, hosted.log, LogView(self.broker.node.disk.snapshot(), partition))

    def life_at(self, us):
        return sum(1 for crash_us in self.crashes_us if crash_us <= us)

    def hosted(self, partition):
        server = self.broker.server.broker
        return None if server is None or server.replicas is None else server.replicas.partition(*partition)

    def is_led(self, partition):
        hosted = self.hosted(partition)
        return hosted is not None and hosted.leader is not None

    # What scripts tell.

    def draw_partition(self, stream):
        return self.partitions[stream.below(len(self.partitions))]

    def failed(self, error, source):
        self.errors.append(error)
        raise error

    def violated(self, rule, message):
        raise ViolationError(rule, message)

    def issued(self, producer_id, epoch):
        if producer_id in self.producer_ids or epoch != 0:
            self.violated("P1", f"producer id {producer_id} was issued twice")
        self.producer_ids.add(producer_id)

    def expect_retriable(self, code, what):
        if code not in RETRIABLE:
            self.violated("error", f"{what} is answered with {errors.by_code(code).__name__}")

    def expect_session_error(self, code):
        if code not in SESSION_ERRORS:
            self.violated("error", f"a fetch is answered with {errors.by_code(code).__name__}")

    def expect_loss(self, partition, sends):
        if self.was_forgotten(partition, sends[0]):
            return
        if partition in self.durable or self.history.cut_before(partition, self.life, 0) is None:
            self.violated("V1", f"{partition} does not know what it has acknowledged, before {sends}")

    def was_forgotten(self, partition, send):
        """Nothing is lost: the batch is in the log. But a snapshot, as Kafka's, has only the last batch of a producer,
        and the partition was loaded from one that has a later batch: this one is not known when it comes again."""
        hosted = self.hosted(partition)
        if hosted is None or hosted.leader is None:
            return False
        view = LogView(self.broker.node.disk.snapshot(), partition)
        loaded = [offset for offset in hosted.log.snapshots if offset <= hosted.leader.isr.epoch_start_offset]
        before = [each for each in view.batches if loaded and each.last_offset < loaded[-1]]
        return any(
            later.producer_id == each.producer_id and later.base_offset > each.base_offset
            for each in before
            if [bytes(record.value) for record in each.records()] == send.values
            for later in before
        )

    def saw_leader_epoch(self, partition, life, epoch):
        """C: the same for everybody in a life, and larger in the next."""
        known = self.epochs.setdefault(partition, {})
        if known.setdefault(life, epoch) != epoch:
            self.violated("epoch", f"{partition} has leader epochs {known[life]} and {epoch} in life {life}")
        if any(other >= epoch for other_life, other in known.items() if other_life < life):
            self.violated("epoch", f"{partition} has leader epoch {epoch} in life {life}, as before: {known}")

    def check_limits(self, partition, data):
        if not 0 <= data.log_start_offset <= data.last_stable_offset <= data.high_watermark:
            self.violated("L4", f"{partition} answers {data}")

    # The end.

    def finish(self):
        """Everything heals; the clients finish what they do; then everything is read once more, and checked."""
        fabric, disk = self.world.fabric, self.broker.node.disk
        self.is_healed = True
        fabric.heal()
        disk.heal()
        fabric.short_percent = fabric.split_percent = fabric.reset_percent = disk.cold_percent = 0
        self.pass_ms(500)
        self.is_ending = True
        self.pass_until(lambda: all(script.task.is_done for script in self.scripts), QUIET_MS)
        for script in self.scripts:
            assert script.task.is_done, f"{script.name} did not come to its end"
            script.task.value()
        self.read_everything()
        self.world.run_for(QUIET_MS)
        check_resources(self.broker)
        self.broker.stop()
        check_dir(self.broker.node.disk, is_stopped=True)
        assert self.errors == self.broker.errors == []
        self.history.check()

    def read_everything(self):
        logs = [self.hosted(partition).log for partition in self.partitions]
        self.pass_until(lambda: all(log.high_watermark == log.log_end_offset for log in logs), QUIET_MS)
        files = self.broker.node.disk.snapshot()
        client = SimClient(self.world, "last reader", self.broker.address)
        for partition in self.partitions:
            self.history.ended(partition, LogView(files, partition).values)
            self.history.check_read(partition, self.read(client, partition))
        client.close()

    def read(self, client, partition):
        topic, index = partition
        records = []
        while True:
            wanted = FetchPartition(partition=index, fetch_offset=len(records), partition_max_bytes=1 << 20)
            request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=[wanted])])
            data = client.ask(request, 12).responses[0].partitions[0]
            assert data.error_code == 0
            found = [
                (record.offset, bytes(record.value))
                for each in batches(bytes(data.records))
                for record in each.records()
                if record.offset >= len(records)
            ]
            if not found:
                return records
            records += found
