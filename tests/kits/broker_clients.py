"""Honest clients as scripts: each is a coroutine on the loop of its own simulated host, until the story ends.

They speak the protocol as real ones do: they connect again when a connection breaks, ask again after a retriable error,
keep sequences when they send a batch again, follow leader epochs when a broker comes back. Whatever they are told goes
into the history; of what they are not told they assume nothing.
"""

from broker_kit import PORT, ConnectionLost, SimClient
from history import OK
from log_kit import batch
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.reactor.ports import Cancelled
from odradek.records.batch import batches

REQUEST_MS = 3000
BACKOFF_MS = 30
WINDOW = 5  # produce requests in flight
NO_EPOCH = -1

OUT_OF_ORDER = errors.OutOfOrderSequenceNumber.code
OLD_EPOCH = errors.InvalidProducerEpoch.code
RETRIABLE = {
    errors.NotLeaderOrFollower.code,
    errors.UnknownTopicOrPartition.code,
    errors.UnknownTopicId.code,
    errors.RequestTimedOut.code,
    errors.CoordinatorLoadInProgress.code,
    errors.FencedLeaderEpoch.code,
    errors.UnknownLeaderEpoch.code,
    errors.NotController.code,
}


class Script:
    """A client that connects when it has something to ask. `run` is its story."""

    def __init__(self, story, name):
        self.story = story
        self.history = story.history
        self.name = name
        self.loop = story.world.node(name).boot(story.failed)
        self.stream = story.world.rng.stream(f"script {name}")
        self.connection = None
        self.life = 0  # of the broker that the connection leads to
        self.asked = 0
        self.answered = 0
        self.patience_ms = REQUEST_MS
        self.task = self.loop.spawn(self._run())

    async def _run(self):
        while not self.story.is_ending:
            try:
                await self.run()
            except (ConnectionLost, Cancelled):
                self.hang_up()
                await self.loop.sleep(1 + self.stream.below(BACKOFF_MS))
        self.hang_up()

    async def run(self):
        """One round; ConnectionLost begins the next."""
        raise NotImplementedError

    async def ask(self, request, version):
        return await self.answer(self.send(request, version))

    def send(self, request, version):
        if self.connection is None or self.connection.is_closed:
            self.connection = SimClient(self.story.world, self.name, (self.story.broker.node.address, PORT))
        self.asked += 1
        return self.connection.send(request, version)

    async def answer(self, waiting):
        """Or ConnectionLost: it broke, or the answer takes too long and we leave."""
        timer = self.loop.after(self.patience_ms, lambda: waiting.pending.fail(ConnectionLost()))
        response = await waiting.pending
        timer.cancel()
        self.life = self.story.life_at(self.connection.connected_us)
        self.answered += 1
        return response

    def hang_up(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def now_ms(self):
        return self.loop.ports.clock.wall_ms()

    async def pause(self, milliseconds):
        await self.loop.sleep(1 + self.stream.below(milliseconds))


def produce_request(partition, records, acks):
    topic, index = partition
    data = PartitionProduceData(index=index, records=bytes(records))
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=2000, topic_data=topics)


def told(response):
    """(error code, offset) of a Produce with one partition."""
    answer = response.responses[0].partition_responses[0]
    return answer.error_code, answer.base_offset


class PlainProducer(Script):
    """Sends once, with acks 0, 1 or all, and never again: what broke is unknown for ever."""

    def __init__(self, story, name):
        self.count = 0
        super().__init__(story, name)

    async def run(self):
        partition = self.story.draw_partition(self.stream)
        acks = (0, 1, 1, -1, -1)[self.stream.below(5)]
        values = [self.value() for _ in range(1 + self.stream.below(3))]
        send = self.history.send(partition, values, self.name)
        request = produce_request(partition, batch(*values, timestamp=self.now_ms()), acks)
        if acks == 0:
            waiting = self.send(request, 9)
            self.connection.forget(waiting)
        else:
            code, offset = told(await self.ask(request, 9))
            self.take(send, code, offset)
        await self.pause(60)

    def take(self, send, code, offset):
        if code == 0:
            send.state = OK
            send.oks.append((self.life, offset))
        else:
            self.story.expect_retriable(code, send)

    def value(self):
        self.count += 1
        return f"{self.name}/{self.count}".encode()


class IdempotentProducer(PlainProducer):
    """Up to five requests in flight for a partition; what was not answered is sent again, with the same sequences."""

    def __init__(self, story, name):
        self.producer_id = None
        self.epoch = 0
        self.sequences = {}  # by partition: the next one
        self.bytes = {}  # of each send
        self.unanswered = {}  # by partition: sends, in order
        self.acked = {}  # by partition: the last send that was acknowledged
        self.partition = None
        super().__init__(story, name)
        self.acks = 1 if self.stream.below(4) == 0 else -1
        if self.stream.below(3) == 0:
            self.patience_ms = 30  # it asks again while a slow disk is still at it

    async def run(self):
        if self.producer_id is None:
            await self.begin()
        if self.partition is None:
            self.partition = self.story.draw_partition(self.stream)
        partition = self.partition
        waiting = self.unanswered.setdefault(partition, [])
        if not waiting:
            count = 1 + self.stream.below(WINDOW) if self.sequences.get(partition, 0) else 1
            waiting += [self.new_send(partition) for _ in range(count)]
        await self.send_all(partition, waiting)
        if not waiting:
            self.partition = None
            await self.maybe_repeat(partition)
            await self.pause(40)

    async def begin(self):
        response = await self.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 3)
        if response.error_code:
            self.story.expect_retriable(response.error_code, "InitProducerId")
            await self.pause(BACKOFF_MS)
            raise ConnectionLost
        self.story.issued(response.producer_id, response.producer_epoch)
        self.producer_id = response.producer_id
        self.epoch = 0
        self.sequences.clear()

    def new_send(self, partition):
        values = [self.value() for _ in range(1 + self.stream.below(3))]
        sequence = self.sequences.get(partition, 0)
        self.sequences[partition] = sequence + len(values)
        send = self.history.send(partition, values, self.name, is_idempotent=True, epoch=self.epoch, sequence=sequence)
        self.bytes[send] = batch(
            *values, timestamp=self.now_ms(), producer=self.producer_id, sequence=sequence, epoch=self.epoch
        )
        return send

    def records(self, send):
        """The same bytes every time."""
        return self.bytes[send]

    async def send_all(self, partition, sends):
        """All of them at once, then their answers in order; whatever was refused goes out again."""
        out = [(self.send(produce_request(partition, self.records(send), self.acks), 9), send) for send in sends]
        refused = None
        for waiting, send in out:
            code, offset = told(await self.answer(waiting))
            if code == 0:
                send.state = OK
                send.oks.append((self.life, offset))
                sends.remove(send)
                self.acked[partition] = send
            elif refused is None:
                refused = code
        if refused is not None:
            await self.refused(partition, refused, sends)

    async def refused(self, partition, code, sends):
        """A gap in the sequences: acknowledged records are lost. Where that is allowed, a new epoch begins."""
        if code != OUT_OF_ORDER:
            self.story.expect_retriable(code, sends)
            await self.pause(BACKOFF_MS)
            return
        self.story.expect_loss(partition, sends)
        self.unanswered.clear()  # nobody knows what became of them
        self.sequences.clear()
        self.acked.clear()
        self.partition = None
        if self.stream.below(2):
            self.epoch += 1
        else:
            self.producer_id = None

    async def maybe_repeat(self, partition):
        """A request that the network has brought twice (P3), or a zombie with an older epoch (P4)."""
        send = self.acked.get(partition)
        if send is None or self.stream.below(4) or send.epoch != self.epoch:
            return
        send.attempts += 1
        code, offset = told(await self.ask(produce_request(partition, self.records(send), self.acks), 9))
        if code == 0:
            send.oks.append((self.life, offset))
        elif code == OUT_OF_ORDER:
            self.story.expect_loss(partition, [send])
        else:
            self.story.expect_retriable(code, send)
        if code == 0 and not self.stream.below(3):
            await self.bump(partition, send)

    async def bump(self, partition, old):
        """The producer begins an epoch: where it has come, what is sent in the older one is refused from then on."""
        self.epoch += 1
        self.sequences.clear()
        self.acked.clear()
        first = self.new_send(partition)
        self.unanswered = {partition: [first]}
        life = self.life
        await self.send_all(partition, self.unanswered[partition])
        if self.unanswered[partition] or self.life != life:
            return
        zombie = self.history.send(partition, [self.value()], f"zombie of {self.name}")
        records = batch(
            *zombie.values, producer=self.producer_id, sequence=old.sequence + len(old.values), epoch=old.epoch
        )
        code, _ = told(await self.ask(produce_request(partition, records, self.acks), 9))
        if self.life == life and code != OLD_EPOCH:
            self.story.violated("P4", f"a batch of an old epoch is answered with {code}: {zombie}")


class Consumer(Script):
    """Reads some partitions with an incremental session and a long poll, and keeps track of leader epochs.

    `asks_for_epochs`: as a KIP-320 consumer it validates its position with OffsetForLeaderEpoch when the broker is a
    new one; otherwise it relies on the diverging epoch of a fetch.
    """

    def __init__(self, story, name, *, asks_for_epochs):
        self.asks_for_epochs = asks_for_epochs
        self.readers = {}  # by partition
        self.epochs = {}  # of the last record read, by partition
        self.leader_epochs = {}  # as the metadata tell
        self.session = (0, 0)
        self.told = {}  # by partition: what the session was last told of it
        self.validated_life = 0
        self.known_life = None
        super().__init__(story, name)
        self.uses_ids = bool(self.stream.below(2)) and story.release == "4.3"
        for partition in story.partitions:
            self.readers[partition] = self.history.reader(name, partition)
            self.epochs[partition] = NO_EPOCH

    def hang_up(self):
        super().hang_up()
        self.end_session()
        self.known_life = None

    def end_session(self):
        self.session = (0, 0)
        self.told.clear()

    async def run(self):
        if self.known_life is None:
            await self.learn_metadata()
            if self.asks_for_epochs and self.validated_life != self.life:
                await self.validate()
        response = await self.ask(self.fetch_request(), 16 if self.uses_ids else 12)
        self.take(response)
        if self.stream.below(8) == 0:
            await self.pause(100)

    async def learn_metadata(self):
        wanted = [MetadataRequestTopic(name=topic) for topic in self.story.topics]
        response = await self.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False), 12)
        for topic in response.topics:
            if topic.error_code:
                self.story.violated("C7", f"topic {topic.name} has gone: {topic.error_code}")
            for partition in topic.partitions:
                self.story.saw_leader_epoch((topic.name, partition.partition_index), self.life, partition.leader_epoch)
                self.leader_epochs[topic.name, partition.partition_index] = partition.leader_epoch
        self.known_life = self.life

    async def validate(self):
        """OffsetForLeaderEpoch for each partition of which something was read."""
        for partition, epoch in self.epochs.items():
            if epoch == NO_EPOCH:
                continue
            topic, index = partition
            asked = OffsetForLeaderPartition(
                partition=index, current_leader_epoch=self.leader_epochs[partition], leader_epoch=epoch
            )
            topics = [OffsetForLeaderTopic(topic=topic, partitions=[asked])]
            answer = (
                (await self.ask(OffsetForLeaderEpochRequest(replica_id=-1, topics=topics), 4)).topics[0].partitions[0]
            )
            if answer.error_code:
                self.story.expect_retriable(answer.error_code, self.name)
                raise ConnectionLost
            self.diverged(partition, answer.leader_epoch, answer.end_offset)
        self.validated_life = self.life

    def diverged(self, partition, epoch, end_offset):
        reader = self.readers[partition]
        if end_offset < reader.position:
            reader.go_back(self.life, max(end_offset, 0))
            self.epochs[partition] = epoch if end_offset > 0 else NO_EPOCH

    def fetch_request(self):
        session_id, session_epoch = self.session
        topics = {}
        for partition, reader in self.readers.items():
            topic, index = partition
            state = (reader.position, self.epochs[partition], self.leader_epochs[partition])
            if self.told.get(partition) == state:
                continue  # the session knows
            self.told[partition] = state
            asked = FetchPartition(
                partition=index,
                current_leader_epoch=self.leader_epochs[partition],
                fetch_offset=reader.position,
                last_fetched_epoch=self.epochs[partition],
                partition_max_bytes=400,
            )
            topics.setdefault(topic, []).append(asked)
        named = [
            FetchTopic(topic=topic, topic_id=self.story.topic_ids[topic], partitions=asked)
            for topic, asked in topics.items()
        ]
        return FetchRequest(
            max_wait_ms=self.stream.below(300),
            min_bytes=1 + self.stream.below(200),
            max_bytes=4000,
            session_id=session_id,
            session_epoch=session_epoch,
            topics=named,
        )

    def take(self, response):
        if response.error_code:
            self.story.expect_session_error(response.error_code)
            self.end_session()
            return
        if response.session_id == 0:
            self.end_session()
        else:
            self.session = (response.session_id, self.session[1] + 1)
        for topic in response.responses:
            name = topic.topic or self.story.topic_names[bytes(topic.topic_id)]
            for data in topic.partitions:
                self.take_partition((name, data.partition_index), data)

    def take_partition(self, partition, data):
        if data.error_code:
            self.story.expect_retriable(data.error_code, f"fetch of {partition}")
            self.known_life = None
            return
        if data.diverging_epoch.end_offset >= 0:
            self.diverged(partition, data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
            return
        self.story.check_limits(partition, data)
        records = []
        reader = self.readers[partition]
        for each in batches(bytes(data.records or b"")):
            each.ensure_valid()
            records += [(record.offset, bytes(record.value)) for record in each.records()]
            if each.last_offset >= reader.position:
                self.epochs[partition] = each.partition_leader_epoch
        if records and records[-1][0] >= data.high_watermark:
            self.story.violated("L4", f"{partition} shows {records[-1][0]} at the high watermark {data.high_watermark}")
        reader.take(self.life, records)
