"""A story of a share group of our share consumers, whole, drawn from a seed. What must hold:

- every acknowledgement of a program has one outcome, and the program is told of it
- when everything has healed, each record is settled by somebody, or was delivered too often
- what was settled does not come again: a member that joins when all is done is given nothing

ShareGroupOfClients(seed).run()       # raises ViolationError or AssertionError, with the seed that tells it again
"""

from client_host import ClientLink, Crashed, SimHost
from client_story import CLIENT, PROPERTIES, ClientStory, violated
from faulty_link import Link

from log_kit import batch
from odradek.client.consumer.errors import Wakeup
from odradek.client.core import Send, leader
from odradek.client.settings import client_config
from odradek.client.share_consumer.acknowledgement import ACCEPT, REJECT, RELEASE, RENEW
from odradek.client.share_consumer.share_calls import ShareCalls
from odradek.config.share_consumer import TABLE
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.topic_partition import TopicPartition

GROUP = "shared"
GROUP_CONFIGS = 32
LOCK_MS = 1500
DELIVERIES_MAX = 10
MEMBERS_MAX = 3
POLL_MS = 100
CLOSE_MS = 3000
REST_MS_MAX = 60_000
SETTLED, TRIED = "settled", "tried"  # by an outcome that is well, or that nobody knows


class ShareMember:
    """A program with a whole share consumer: it reads, works, says what became of each record, and commits."""

    def __init__(self, story, name, *, is_explicit):
        self.story = story
        self.name = name
        self.is_explicit = is_explicit
        self.chance = story.world.rng.stream(f"program {name} {story.next_number()}")
        self.is_over = self.is_leaving = False
        self.said = {}  # what has no outcome yet
        self.in_hand = set()
        self.reads = 0
        self.link = ClientLink(story.world, name, story.broker.address, story.draw_faults(), on_error=story.failed)
        configs = {
            **CLIENT,
            "bootstrap.servers": self.link.servers,
            "client.id": name,
            "group.id": GROUP,
            "max.poll.records": (1, 3, 20)[self.chance.below(3)],
            "share.acquire.mode": ("batch_optimized", "record_limit")[self.chance.below(2)],
            "share.acknowledgement.mode": "explicit" if is_explicit else "implicit",
            "fetch.max.wait.ms": (50, 300)[self.chance.below(2)],
            "default.api.timeout.ms": 4000,
        }
        self.caller = ShareCalls(client_config(TABLE, configs, {}), sorted(story.topics), callback=self._told)
        self.host = SimHost(self.link, self.caller.open_session)
        self.host.caller = self.caller
        self.caller.on(self.host)
        self.task = self.link.loop.spawn(self.live())

    def __repr__(self):
        return f"{self.name} with {sorted(self.in_hand)} in hand and {self.said} said"

    def crash(self):
        """Nobody will know what became of what it has said last."""
        self.is_over = True
        for key, kind in self.said.items():
            self.story.settled(key, kind, Crashed())
        self.host.crash()

    def wakeup(self):
        if not self.is_over and not self.is_leaving:
            self.caller.settings.wakes.append(True)
            self.host.tell(lambda session: session.wake())

    async def live(self):
        while not self.is_leaving:
            try:
                await self._turn()
            except (KafkaError, Wakeup):
                continue
        self.caller.is_closed = True
        await self.host.drive(self.caller.leave(CLOSE_MS))
        await self.host.run(lambda session: session.close(CLOSE_MS))
        if self.said:
            violated("outcomes", f"{self} was closed, and not told of all")
        self.is_over = True

    async def _turn(self):
        self._accept_rest()
        try:
            records = await self.host.drive(self.caller.poll(POLL_MS))
        except BaseException:
            self.caller.interrupted()
            raise
        for record in records:
            self.reads += 1
            self.in_hand.add(self.story.delivered(record))
        if self.chance.chance(20):
            await self.link.loop.sleep(self.chance.below(2 * LOCK_MS if self.chance.chance(10) else 30))
        if self.is_explicit:
            for record in records:
                await self._say(record)
        if self.chance.chance(30):
            self._accept_rest()
            commit = self.caller.commit_sync(2.0) if self.chance.below(2) else self.caller.commit_async()
            await self.host.drive(commit)

    def _accept_rest(self):
        """Implicitly, before a poll or a commit."""
        if not self.is_explicit:
            self.said.update(dict.fromkeys(self.in_hand, ACCEPT))
            self.in_hand.clear()

    async def _say(self, record):
        drawn = self.chance.below(20)
        kind = ACCEPT if self.story.is_healed or drawn < 14 else (RELEASE, REJECT, RENEW)[drawn % 3]
        key = (TopicPartition(record.topic, record.partition), record.offset)
        await self.host.drive(self.caller.acknowledge(*key, kind))
        self.in_hand.discard(key)
        self.said[key] = kind

    def _told(self, offsets, error):
        for place, found in offsets.items():
            for offset in found:
                kind = self.said.pop((place, offset), None)
                if kind is None:
                    violated("outcomes", f"{self} was told of {offset} of {place}, of which it has said nothing")
                self.story.settled((place, offset), kind, error)


class ShareGroupOfClients(ClientStory):
    properties = {
        **PROPERTIES,
        "share.coordinator.state.topic.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.share.min.session.timeout.ms": "500",
        "group.share.session.timeout.ms": "1500",
        "group.share.min.heartbeat.interval.ms": "50",
        "group.share.heartbeat.interval.ms": "300",
        "group.share.min.record.lock.duration.ms": "1000",
    }
    topics = {"t": 2}
    moments = (8, 16)
    moment_ms = (50, 700)

    def __init__(self, seed):
        super().__init__(seed)
        self.members = []
        self.fates = {}  # by (partition, offset)
        self.counts = {}  # how often it was delivered
        self.last_delivery_us = 0

    def begin(self):
        configs = {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": str(LOCK_MS),
            "share.delivery.count.limit": str(DELIVERIES_MAX),
        }
        rows = [AlterableConfig(name=name, config_operation=0, value=value) for name, value in configs.items()]
        resource = AlterConfigsResource(resource_type=GROUP_CONFIGS, resource_name=GROUP, configs=rows)
        self.ask(
            IncrementalAlterConfigsRequest(resources=[resource]),
            1,
            lambda response: not response.responses[0].error_code,
        )
        self.producer = Link(self.world, "producer", self.broker.address)
        for _ in range(2):
            self.start_member()

    def events(self):
        return (
            (3, self.nothing),
            (3, self.stir),
            (3, self.start_member),
            (2, self.crash_member),
            (2, self.leave),
            (2, self.pause),
            (2, self.wake_up),
            (2, self.break_off),
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
        found = [member for member in self.alive() if not member.is_leaving]
        return found[self.chance.below(len(found))] if found else None

    def start_member(self):
        used = {member.name for member in self.alive()}
        free = sorted({f"m{number}" for number in range(MEMBERS_MAX)} - used)
        if free:
            self.members.append(ShareMember(self, free[0], is_explicit=bool(self.chance.below(2))))

    def crash_member(self):
        member = self.drawn()
        if member is not None:
            member.crash()

    def leave(self):
        member = self.drawn()
        if member is not None:
            member.is_leaving = True

    def pause(self):
        member = self.drawn()
        if member is not None and not member.link.node.is_paused:
            member.link.pause((300, 1000, 2000)[self.chance.below(3)])

    def wake_up(self):
        for member in self.alive():
            self.world.after(self.chance.below(400_000), member.wakeup)

    def produce(self, places):
        for topic, index in places:
            values = [b"v%d" % self.next_number() for _ in range(1 + self.chance.below(6))]
            data = PartitionProduceData(index=index, records=bytes(batch(*values)))
            topics = [TopicProduceData(name=topic, partition_data=[data])]
            send = Send(ProduceRequest(acks=-1, timeout_ms=3000, topic_data=topics), 9, leader(topic, index), object())
            self.producer.send(send, 3000, lambda response: None, lambda: None)

    # What members tell

    def delivered(self, record):
        key = (TopicPartition(record.topic, record.partition), record.offset)
        self.counts[key] = max(self.counts.get(key, 0), record.delivery_count)
        self.last_delivery_us = self.world.now_us
        return key

    def settled(self, key, kind, error):
        if kind in (ACCEPT, REJECT) and self.fates.get(key) != SETTLED:
            self.fates[key] = SETTLED if error is None else TRIED

    # The end

    def finish(self):
        self.heal()
        if self.drawn() is None:
            self.start_member()
        self.produce(self.places())
        self.pass_ms(500)
        if not self.pass_until(self.is_at_rest, REST_MS_MAX):
            violated("liveness", f"{self.unsettled()} of {self.ends()} by {self.alive()}")
        for member in self.members:
            member.is_leaving = True
        if not self.pass_until(lambda: not self.alive(), REST_MS_MAX):
            violated("liveness", f"{self.alive()} did not come to their end")
        last = ShareMember(self, "last", is_explicit=True)
        self.members.append(last)
        self.pass_ms(3 * LOCK_MS)
        if last.reads:
            violated("settled", f"{last} was given what others had settled")
        last.is_leaving = True
        assert self.pass_until(lambda: last.is_over, REST_MS_MAX)
        assert self.broker.errors == self.errors == []
        self.broker.stop()

    def unsettled(self):
        return [
            (place, offset)
            for place, end in self.ends().items()
            for offset in range(end)
            if (place, offset) not in self.fates and self.counts.get((place, offset), 0) < DELIVERIES_MAX
        ]

    def is_at_rest(self):
        """And nothing has come for longer than a lock lasts: what was tried, and not settled, would have."""
        is_quiet = self.world.now_us - self.last_delivery_us > 2 * LOCK_MS * 1000
        return is_quiet and not self.unsettled() and not any(each.in_hand or each.said for each in self.alive())
