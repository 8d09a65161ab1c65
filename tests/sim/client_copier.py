"""A program that reads, processes and writes in transactions, with a whole consumer and a whole producer of ours.

It does what `with producer.transaction(consumer)` does: what it has read is written together with the offsets behind
it, or not at all; after an abort the consumer goes back to what is committed. A commit of which nobody knows what
became is asked for again. A program whose producer is fenced, or has failed for good, ends, and is started anew.
"""

from client_group_history import GROUP
from client_host import ClientLink, SimHost
from client_member import CONSUMER, HEARTBEAT_MS, MAX_POLL_MS, SESSION_MS, ProgramError
from client_producer import SimProducer
from client_story import CLIENT

from odradek.client.consumer.caller import NOTHING, Caller
from odradek.client.consumer.offset_reset import EARLIEST
from odradek.client.consumer.rebalance_listener import RebalanceListener
from odradek.client.producer.transaction_states import State, TransactionStateError
from odradek.client.settings import client_config
from odradek.config.consumer import TABLE
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError

INPUT, OUTPUT = "in", "out"
POLL_MS = 100
BLOCK_MS = 3000
TRANSACTION_MS = 4000


class Copier:
    def __init__(self, story, name, protocol):
        self.story = story
        self.name = name
        self.protocol = protocol
        self.chance = story.world.rng.stream(f"program {name} {story.next_number()}")
        self.is_over = self.is_leaving = self.has_failed = False
        self.commits = self.aborts = 0
        self.link = ClientLink(story.world, name, story.broker.address, story.draw_faults(), on_error=story.failed)
        self.caller = Caller(client_config(TABLE, self._consumer_configs(), {}))
        self.reading = SimHost(self.link, self.caller.open_session)
        self.reading.caller = self.caller
        self.caller.on(self.reading)
        self.producer = SimProducer(self.link, f"{name}-producer", self._producer_configs())
        self.task = self.link.loop.spawn(self.live())

    def __repr__(self):
        return f"{self.name}: {sorted(self.reading.session().state.assigned())}"

    def _consumer_configs(self):
        configs = {
            **CLIENT,
            "bootstrap.servers": self.link.servers,
            "client.id": self.name,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "max.poll.records": (1, 4, 20)[self.chance.below(3)],
            "max.poll.interval.ms": 4 * MAX_POLL_MS,
            "default.api.timeout.ms": 4000,
        }
        if self.protocol == CONSUMER:
            return {**configs, "group.protocol": CONSUMER}
        classic = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}
        return {**configs, **classic, "partition.assignment.strategy": self.protocol}

    def _producer_configs(self):
        return {
            "transactional.id": self.name,
            "transaction.timeout.ms": TRANSACTION_MS,
            "batch.size": (150, 1000)[self.chance.below(2)],
            "linger.ms": (0, 5)[self.chance.below(2)],
            "delivery.timeout.ms": 3000,
            "max.block.ms": BLOCK_MS,
        }

    def crash(self):
        self.is_over = True
        self.reading.crash()
        self.producer.host.crash()

    # The program

    async def live(self):
        try:
            await self._begin()
            while not self.is_leaving:
                await self._turn()
        except (KafkaError, TransactionStateError):
            self.has_failed = True
        self.caller.is_closed = True
        await self.reading.drive(self.caller.leave(1000, NOTHING))
        await self.reading.run(lambda session: session.close(1000))
        await self.producer.host.run(lambda session: session.close(1000))
        self.is_over = True

    async def _begin(self):
        while True:
            try:
                await self._transactions(lambda at: at.init_transactions(BLOCK_MS))
                break
            except errors.RequestTimedOut:
                if self._state() is State.FATAL_ERROR or self.is_leaving:
                    raise
        await self.reading.drive(self.caller.subscribe([INPUT], RebalanceListener()))

    async def _turn(self):
        records = list(await self.reading.drive(self.caller.poll(POLL_MS, None)))
        if not records:
            return
        if self.chance.chance(20):
            await self.link.loop.sleep(self.chance.below(40))
        try:
            await self._transactions(lambda at: at.begin_transaction())
            await self._copy(records)
            await self._commit()
            self.commits += 1
        except (KafkaError, TransactionStateError, ProgramError):
            await self._abort()

    def _state(self):
        manager = self.producer.session.sender.manager
        return None if manager is None else manager.state

    async def _transactions(self, operation):
        return await self.producer.host.run(lambda session: operation(session.transactions()))

    async def _copy(self, records):
        for record in records:
            await self.producer.send(OUTPUT, record.partition, record.value, None)
        if not self.story.is_healed and self.chance.chance(6):
            raise ProgramError
        assigned = sorted(self.reading.session().state.assigned())
        positions = {place: await self.reading.drive(self.caller.position(place, 2.0)) for place in assigned}
        member = await self.reading.drive(self.caller.ask(lambda session: session.group_metadata(), is_wakeable=False))
        await self._transactions(lambda at: at.send_offsets(positions, member, BLOCK_MS))

    async def _commit(self):
        while True:
            try:
                await self._transactions(lambda at: at.commit_transaction(BLOCK_MS))
                return
            except errors.RequestTimedOut:
                if self._state() is not State.COMMITTING:
                    raise

    async def _abort(self):
        while self._state() is not State.READY:
            if self._state() is State.FATAL_ERROR:
                raise errors.ProducerFenced
            try:
                await self._transactions(lambda at: at.abort_transaction(BLOCK_MS))
            except errors.RequestTimedOut:
                continue
        self.aborts += 1
        await self._seek_back()

    async def _seek_back(self):
        """What was read since the last commit comes again."""
        while True:
            assigned = sorted(self.reading.session().state.assigned())
            try:
                committed = await self.reading.drive(self.caller.committed(assigned, 2.0))
                break
            except KafkaError as error:
                if not error.retriable:
                    raise
        for place in assigned:
            if committed.get(place) is not None:
                await self.reading.drive(self.caller.seek(place, committed[place]))
            else:
                await self.reading.drive(self.caller.reset([place], EARLIEST))
