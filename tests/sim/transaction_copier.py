"""Clients of a transaction story, on the client's own cores: copiers, and a consumer that reads what is committed.

A copier is one life of one transactional id. It begins where the committed offset of its group is; when it is fenced,
or anything else is the end of it, it stops, and the story puts another one in its place if it was the current one.
"""

from faulty_link import Link
from transaction_history import ABORTED, COMMITTED, COMMITTING

from odradek.channel.driver import Driver
from odradek.client.core import ANY_BROKER, GROUP, Backoff, Send
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transaction_states import State
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.batch import batches
from sender_core import SenderCore

INPUT = "in"
REQUEST_MS = 1500
DELIVERY_MS = 6000
RETRY_MS = 20
WRITES_MAX = 4
READ_MS = 120


class Client:
    """A coroutine on its own host, behind a link of its own."""

    def __init__(self, story, name):
        self.story = story
        self.name = name
        self.stream = story.world.rng.stream(f"client {name}")
        self.link = Link(story.world, name, story.address, story.faults_of(self), on_error=story.failed)
        self.loop = self.link.loop
        self.is_over = False
        self._changed = None
        self.task = self.loop.spawn(self._run())

    async def _run(self):
        try:
            await self.run()
        finally:
            self.is_over = True

    async def ask(self, request, version, is_good):
        """Again and again, until the answer is good."""
        while True:
            answered = self.loop.pending()
            send = Send(request, version, ANY_BROKER, None)
            self.link.send(send, REQUEST_MS, answered.resolve, lambda one=answered: one.resolve(None))
            response = await answered
            if response is not None and is_good(response):
                return response
            await self.loop.sleep(RETRY_MS)

    def changed(self):
        if self._changed is not None:
            self._changed.resolve(None)

    async def until(self, condition):
        while not condition():
            self._changed = self.loop.pending()
            await self._changed


class Copier(Client):
    def __init__(self, story, transactional_id, number):
        self.transactional_id = transactional_id
        self.version = story.versions[transactional_id]
        self.inputs = story.inputs[transactional_id]
        self.manager = TransactionManager(
            transactional_id,
            transaction_version=self.version,
            timeout_ms=story.transaction_timeout_ms,
            backoff=Backoff(20, 200),
        )
        partitions = {topic: 1 + max(at for name, at in story.outputs if name == topic) for topic, _ in story.outputs}
        self.sender = SenderCore(
            self.manager,
            partitions,
            request_timeout_ms=REQUEST_MS,
            delivery_timeout_ms=DELIVERY_MS,
            backoff=Backoff(20, 200),
        )
        super().__init__(story, f"{transactional_id} {number}")
        self.driver = Driver(self.link.channel, self.sender, timeout_ms=lambda _: REQUEST_MS, on_event=self.happened)

    def happened(self):
        self.manager.sequencer.validate()
        self.changed()

    async def run(self):
        await self.loop.sleep(0)  # until all is set up
        self.manager.initialize()
        await self.settled(State.INITIALIZING)
        if self.manager.state is State.READY:
            if self.version == 2:
                self.story.v2_producers.add(self.manager.sequencer.producer.producer_id)
            await self.copy(await self.committed_offset())
        self.driver.stop()
        self.link.close()
        self.story.ended(self)

    async def copy(self, position):
        while position < len(self.inputs) and self.manager.state is State.READY:
            position += await self.copy_some(position)
            await self.loop.sleep(self.stream.below(40))

    async def copy_some(self, position):
        """How many values were copied: none if their transaction was aborted."""
        attempt = self.story.history.attempt(self.name, position)
        taken = self.inputs[position : position + 1 + self.stream.below(WRITES_MAX)]
        self.manager.begin()
        for value in taken:
            self.write(attempt, value)
            await self.pause()
            if self.manager.state is not State.IN_TRANSACTION:
                break
        if self.manager.state is State.IN_TRANSACTION:
            offsets = {TopicPartition(INPUT, self.story.place(self.transactional_id)): position + len(taken)}
            self.manager.send_offsets(offsets, ConsumerGroupMetadata(self.story.group(self.transactional_id)))
            await self.pause()
        if self.manager.state is State.IN_TRANSACTION and not self.stream.chance(15):
            attempt.state = COMMITTING
            self.manager.commit()
            await self.settled(State.COMMITTING)
            if self.manager.state is State.READY:
                attempt.state = COMMITTED
                return len(taken)
        await self.abort(attempt)
        return 0

    def write(self, attempt, value):
        partition = self.story.outputs[self.stream.below(len(self.story.outputs))]
        text = f"{value}#{attempt.number}".encode()
        attempt.write(partition, value, self.sender.append(TopicPartition(*partition), text, self.link.now_ms()))
        self.driver.pump()

    async def pause(self):
        self.driver.pump()
        await self.loop.sleep(self.stream.below(80) if self.stream.chance(70) else 0)

    async def abort(self, attempt):
        while self.manager.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR):
            self.manager.abort()
            await self.settled(State.ABORTING, State.INITIALIZING)
        if self.manager.state is State.READY:
            attempt.state = ABORTED

    async def settled(self, *states):
        self.driver.pump()
        await self.until(lambda: self.manager.state not in states)

    async def committed_offset(self):
        group_id = self.story.group(self.transactional_id)
        find = FindCoordinatorRequest(key_type=GROUP, coordinator_keys=[group_id])
        await self.ask(find, 6, lambda response: not response.coordinators[0].error_code)
        place = self.story.place(self.transactional_id)
        topics = [OffsetFetchRequestTopics(name=INPUT, partition_indexes=[place])]
        group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
        request = OffsetFetchRequest(groups=[group], require_stable=True)

        def is_good(response):
            found = response.groups[0]
            return not found.error_code and not found.topics[0].partitions[0].error_code

        response = await self.ask(request, 8, is_good)
        return max(response.groups[0].topics[0].partitions[0].committed_offset, 0)


class CommittedReader(Client):
    """Reads the whole output, as a consumer does: what the broker lists as aborted it leaves out."""

    def __init__(self, story, name="reader"):
        self.positions = dict.fromkeys(story.outputs, 0)
        super().__init__(story, name)

    async def run(self):
        while not self.story.is_read(self.positions):
            for partition in self.story.outputs:
                await self.read(partition)
            await self.loop.sleep(READ_MS)
        self.link.close()

    async def read(self, partition):
        topic, index = partition
        wanted = FetchPartition(partition=index, fetch_offset=self.positions[partition], partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=1,
            session_epoch=-1,
            topics=[FetchTopic(topic=topic, partitions=[wanted])],
        )
        response = await self.ask(request, 12, lambda one: not one.responses[0].partitions[0].error_code)
        data = response.responses[0].partitions[0]
        for each, is_seen in self._sorted(data):
            for record in each.records() if is_seen else ():
                if record.offset >= self.positions[partition]:
                    self.story.history.show(partition, record.offset, bytes(record.value))
            self.positions[partition] = each.last_offset + 1

    def _sorted(self, data):
        """The batches, and whether a consumer hands them out."""
        aborted = sorted(((one.first_offset, one.producer_id) for one in data.aborted_transactions or ()), reverse=True)
        skipped = set()
        for each in batches(bytes(data.records or b"")):
            while aborted and aborted[-1][0] <= each.last_offset:
                skipped.add(aborted.pop()[1])
            if each.is_control:
                skipped.discard(each.producer_id)
            yield each, not each.is_control and each.producer_id not in skipped
