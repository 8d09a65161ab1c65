"""A program with a whole producer of ours: it sends in bursts, flushes now and then, and is told what became of it all.

It lives until it leaves or crashes; a restart is another producer, with an id of its own.
"""

from client_host import ClientLink, SimHost
from client_story import CLIENT
from faulty_link import api_key_of

from odradek.client.producer import record_future
from odradek.client.producer.errors import BufferExhausted, MetadataTimeout
from odradek.client.producer.opening import opened
from odradek.client.producer.producer_record import ProducerRecord
from odradek.client.producer.session import producer_session
from odradek.protocol import whole

MAX_BLOCK_MS = 1500
DELIVERY_MS = (1600, 30_000)
CLOSE_MS = 30_000
VALUE_BYTES = (8, 60)
PRODUCE = 0


class ProducerLink(ClientLink):
    history = None

    def passes(self, frame):
        if api_key_of(frame) == PRODUCE and self.history is not None:
            self.history.passes(self.name, whole.decode_request(frame)[1])


class SimProducer:
    """As `aio.KafkaProducer` does it, on the simulated loop."""

    def __init__(self, link, name, configs):
        self.link = link
        configs = {**CLIENT, "bootstrap.servers": self.link.servers, "client.id": name, **configs}
        plugins = dict.fromkeys(("key_serializer", "value_serializer", "partitioner"))
        self._opened = opened(configs, {}, **plugins, interceptors=())
        wall_ms = self.link.loop.ports.clock.wall_ms
        self.host = SimHost(self.link, producer_session(self._opened.settings, wall_ms))
        self.session = self.host.session()
        self.mono_ms = self.link.loop.ports.clock.mono_ms

    async def send(self, topic, partition, value, told):
        """Raises MetadataTimeout or BufferExhausted if the record was not taken."""
        session, deadline_ms = self.session, self.mono_ms() + self._opened.settings.max_block_ms
        known = session.accumulator.topics.get(topic)
        if known is None or len(known.queues) <= (partition or 0):
            left_ms = deadline_ms - self.mono_ms()
            await self.host.run(lambda at_work: at_work.wait_for_topic(topic, partition, left_ms))
        if self._opened.settings.is_transactional:
            session.check_transaction()
        preparing = self._opened.preparing
        prepared = preparing.prepared(ProducerRecord(topic, value, partition=partition), session)
        taken = 0
        while (future := session.append(prepared, taken, told)) is None:
            taken = await self._memory(prepared.needed_bytes, deadline_ms)
        return future

    async def _memory(self, size, deadline_ms):
        pool, served = self.session.pool, self.link.loop.pending()
        waiter = pool.wait(size, lambda: served.resolve(None))
        self.session.wake()
        timer = self.link.loop.after(max(0, deadline_ms - self.mono_ms()), lambda: served.resolve(None))
        await served
        timer.cancel()
        if waiter.is_served:
            return size
        pool.leave(waiter)
        raise BufferExhausted


class Producer:
    """The program."""

    def __init__(self, story, name):
        self.story = story
        self.history = story.history
        self.chance = story.world.rng.stream(f"program {name}")
        self.name = name
        self.is_over = self.is_leaving = False
        self.refusals = 0
        self._sent = 0
        self.link = ProducerLink(story.world, name, story.broker.address, story.draw_faults(), on_error=story.failed)
        self.link.history = story.history
        self.client = SimProducer(self.link, name, self._configs())
        self.task = self.link.loop.spawn(self.live())

    def __repr__(self):
        return self.name

    def _configs(self):
        chance = self.chance
        return {
            "batch.size": (150, 600, 1000)[chance.below(3)],
            "linger.ms": (0, 5, 40)[chance.below(3)],
            "buffer.memory": (2000, 1 << 20)[chance.below(2)],
            "max.in.flight.requests.per.connection": (1, 2, 5)[chance.below(3)],
            "compression.type": ("none", "none", "gzip")[chance.below(3)],
            "delivery.timeout.ms": DELIVERY_MS[chance.below(2)],
            "max.block.ms": MAX_BLOCK_MS,
        }

    def crash(self):
        self.is_over = True
        self.client.host.crash()

    async def live(self):
        while not self.is_leaving:
            for _ in range(1 + self.chance.below(12)):
                await self._send()
            if self.chance.chance(5):
                await self.client.host.run(lambda session: session.flush(self.chance.below(500)))
            await self.link.loop.sleep(self.chance.below(150))
        if self.story.is_healed:
            await self._rest()
        await self.client.host.run(lambda session: session.close(CLOSE_MS if self.story.is_healed else 200))
        self.history.check_outcomes(self)
        self.history.check_memory(self, self.client.session)
        self.is_over = True

    async def _send(self):
        topic, partition = self.story.draw_place()
        value = self._value()
        note = self.history.sends(self, (topic, partition), value)
        try:
            await self.client.send(topic, partition, value, lambda future: self._told(note, future))
        except (BufferExhausted, MetadataTimeout):
            self.refusals += 1
            self.history.refused(note)
        else:
            self.history.taken(note)

    def _value(self):
        """Bytes that say whose they are, and that no two records have."""
        self._sent += 1
        head = b"%s/%d/" % (self.name.encode(), self._sent)
        return head + self.chance.bytes(self.chance.between(*VALUE_BYTES)).hex().encode()

    def _told(self, note, future):
        error = future.exception(0)
        self.history.told(note, None if error is not None else record_future.metadata(future).offset, error)

    async def _rest(self):
        """When all that was sent has its outcome, nothing is left, and all memory is there."""
        left = await self.client.host.run(lambda session: session.flush(CLOSE_MS))
        if left:
            self.story.violated("R4", f"{self} has {left} records without an outcome, after {CLOSE_MS} ms")
        session = self.client.session
        if session.sender.incomplete or any(
            queue.batches for topic in session.accumulator.topics.values() for queue in topic.queues
        ):
            self.story.violated("R5", f"{self} has batches left: {list(session.sender.incomplete)}")
