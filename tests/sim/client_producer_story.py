"""A story of our producers, whole, drawn from a seed. What must hold: `client_producer_history.py`.

Producers(seed).run()       # raises ViolationError or AssertionError, with the seed that tells it again
"""

from broker_invariants import LogView
from client_producer import Producer
from client_producer_history import ProducerHistory
from client_reader import SimReader
from client_story import ClientStory, violated

PRODUCERS_MAX = 3
REST_MS_MAX = 120_000


class Producers(ClientStory):
    topics = {"t": 3, "u": 1}
    moments = (6, 12)
    moment_ms = (50, 800)

    def __init__(self, seed):
        super().__init__(seed)
        if self.chance.below(2):
            self.topic_configs = {"max.message.bytes": "500"}  # batches are refused, and split
        self.history = ProducerHistory()
        self.producers = []
        self.violated = violated

    def begin(self):
        if self.chance.below(2):
            self.world.fabric.buffer_bytes = 700  # a request waits in the middle for the broker to read
        for _ in range(2):
            self.start_producer()
        self.reader = SimReader(self, "reader")

    def events(self):
        return (
            (2, self.nothing),
            (4, self.stir),
            (2, self.start_producer),
            (2, self.crash_producer),
            (1, self.leave),
            (2, self.pause),
            (2, self.break_off),
            (3, self.cut_off),
            (3, self.crash_broker),
        )

    def alive(self):
        return [producer for producer in self.producers if not producer.is_over]

    def links(self):
        return [producer.link for producer in self.alive()]

    def bury(self):
        for client in [*self.alive(), self.reader]:
            client.crash()

    def drawn(self):
        alive = [producer for producer in self.alive() if not producer.is_leaving]
        return alive[self.chance.below(len(alive))] if alive else None

    def start_producer(self):
        if len(self.alive()) < PRODUCERS_MAX:
            self.producers.append(Producer(self, f"p{self.next_number()}"))

    def crash_producer(self):
        producer = self.drawn()
        if producer is not None:
            producer.crash()

    def leave(self):
        producer = self.drawn()
        if producer is not None:
            producer.is_leaving = True

    def pause(self):
        producer = self.drawn()
        if producer is not None and not producer.link.node.is_paused:
            producer.link.pause((300, 2500)[self.chance.below(2)])

    def look(self):
        for producer in self.alive():
            pool = producer.client.session.pool
            if pool.available_bytes > pool.total_bytes:
                violated("R5", f"{producer} has {pool.available_bytes} bytes of {pool.total_bytes}")

    # The end

    def finish(self):
        self.heal()
        if self.drawn() is None:
            self.start_producer()
            self.pass_ms(500)
        for producer in self.alive():
            producer.is_leaving = True
        if not self.pass_until(lambda: not self.alive(), REST_MS_MAX):
            violated("R4", f"{self.alive()} did not come to their end")
        self.check()

    def check(self):
        files = self.broker.node.disk.snapshot()
        logs = {place: LogView(files, place).values for place in self.places()}
        self.history.check(logs)
        if not self.pass_until(lambda: self.reader.has_read(self.ends()), REST_MS_MAX):
            violated("R7", f"a reader is at {self.reader.positions}, of {self.ends()}")
        self.reader.check(logs)
        self.pass_until(lambda: self.reader.is_over, REST_MS_MAX)
        assert self.broker.errors == self.errors == []
        self.broker.stop()
