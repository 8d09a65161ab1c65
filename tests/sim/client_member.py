"""A program with a whole consumer of ours in a group: it reads, works, commits in its way, seeks, pauses, and fails.

It lives until it leaves, fails or crashes. What it is handed and what it has finished it tells its story's history.
"""

from client_group_history import GROUP
from client_host import ClientLink, SimHost
from client_story import CLIENT
from faulty_link import api_key_of

from odradek.client.consumer.caller import ALL, FINISHED, Caller
from odradek.client.consumer.errors import Wakeup
from odradek.client.consumer.rebalance_listener import ListenerFunctions
from odradek.client.settings import client_config
from odradek.config.consumer import TABLE
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition

CONSUMER = "consumer"  # the protocol; the others are the names of assignors
AUTO, SYNC, ASYNC = "auto", "sync", "async"
POLL, ITERATE = "poll", "iterate"

SESSION_MS = 1500
HEARTBEAT_MS = 300
MAX_POLL_MS = 2000  # and with it the rebalance timeout
POLL_MS = 100
CLOSE_MS = 3000
OFFSET_COMMIT = 8


class ProgramError(Exception):
    """The program's own: it cannot process a record."""


class MemberLink(ClientLink):
    commits = 0  # requests
    member = None

    def passes(self, frame):
        if api_key_of(frame) == OFFSET_COMMIT:
            self.commits += 1
            self.member.check_commits()


class Member:
    def __init__(self, story, name, protocol, commits, reads, instance=None):
        self.story = story
        self.history = story.history
        self.name = name
        self.protocol = protocol
        self.commits = commits
        self.reads = reads
        self.instance = instance
        self.chance = story.world.rng.stream(f"program {name} {story.next_number()}")
        self.tenures = {}
        self.in_hand = []  # (partition, offset) that it works on
        self.is_over = self.is_leaving = self.is_closing = self.is_fenced = self.has_failed = False
        self.stall_ms = 0
        self.calls = 0  # of commit_async
        self.outcomes = []  # numbers of those calls
        self.wakeups = 0
        self.link = MemberLink(story.world, name, story.broker.address, story.draw_faults(), on_error=story.failed)
        self.link.member = self
        self.caller = Caller(client_config(TABLE, self._configs(), {}))
        self.host = SimHost(self.link, self.caller.open_session)
        self.host.caller = self.caller
        self.caller.on(self.host)
        self.task = self.link.loop.spawn(self.live())

    def __repr__(self):
        return f"{self.name} ({self.protocol}, {self.commits}, {self.reads}) of {sorted(self.tenures)}"

    def _configs(self):
        configs = {
            **CLIENT,
            "bootstrap.servers": self.link.servers,
            "client.id": self.name,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": self.commits == AUTO,
            "auto.commit.interval.ms": (50, 300)[self.chance.below(2)],
            "max.poll.records": (1, 3, 20)[self.chance.below(3)],
            "max.poll.interval.ms": MAX_POLL_MS,
            "default.api.timeout.ms": 4000,
            "fetch.max.wait.ms": (50, 300)[self.chance.below(2)],
            "max.partition.fetch.bytes": (100, 1000, 1 << 20)[self.chance.below(3)],
        }
        if self.instance is not None:
            configs["group.instance.id"] = self.instance
        if self.protocol == CONSUMER:
            return {**configs, "group.protocol": CONSUMER}
        return {
            **configs,
            "partition.assignment.strategy": self.protocol,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
        }

    # What the story does to it

    def crash(self):
        self.is_over = True
        self.tenures.clear()
        self.host.crash()

    def wakeup(self):
        if self.is_over or self.is_closing:
            return
        self.wakeups += 1
        self.caller.settings.wakes.append(True)
        self.host.tell(lambda session: session.wake())

    def has_read(self, ends):
        """All that there is of what it owns; it may have been read before it came."""
        finished = self.history.finished
        return all(
            finished.get(at, 0) == ends[at] and one.next_offset in (None, ends[at]) for at, one in self.tenures.items()
        )

    # The program

    async def live(self):
        listener = ListenerFunctions(self._assigned, self._revoked, self._lost)
        await self.host.drive(self.caller.subscribe(sorted(self.story.topics), listener))
        try:
            while not self.is_leaving:
                await self._stall()
                await self._turn()
        except ProgramError:
            self.has_failed = True
            await self._close(FINISHED)
            return
        except (errors.FencedInstanceId, errors.UnreleasedInstanceId):
            self.is_fenced = True
        await self._close(ALL)

    async def _stall(self):
        stall_ms, self.stall_ms = self.stall_ms, 0
        if stall_ms:
            await self.link.loop.sleep(stall_ms)

    async def _turn(self):
        try:
            records = await self._next()
        except Wakeup:
            return
        for record in records:
            place = TopicPartition(record.topic, record.partition)
            self.history.read(self, place, record.offset, record.value)
            self.in_hand.append((place, record.offset))
        await self._work()
        self.finish()
        await self._commit()
        await self._change_its_mind()

    async def _next(self):
        """As `KafkaConsumer.poll` and `KafkaConsumer.__next__` do it."""
        try:
            if self.reads == POLL:
                return list(await self.host.drive(self.caller.poll(POLL_MS, None)))
            record = None
            if self.caller.in_hand.has_next:
                record = self.caller.next_at_once(self.host.session())
            if record is None:
                record = await self.host.drive(self.caller.next(POLL_MS))
            return [] if record is None else [record]
        except BaseException:
            self.caller.interrupted()
            raise

    async def _work(self):
        if self.chance.chance(2):
            self.wakeup()  # as another thread does it: the next poll is struck, and takes nothing
        if self.chance.chance(20):
            await self.link.loop.sleep(self.chance.below(30))
        if self.in_hand and not self.story.is_healed and self.chance.chance(1):
            raise ProgramError

    def finish(self):
        for place, offset in self.in_hand:
            self.history.finish(place, offset)
        self.in_hand.clear()

    # Commits

    async def _commit(self):
        if self.commits == AUTO or not self.chance.chance(30):
            return
        if self.commits == SYNC:
            await self._commit_sync()
        else:
            await self._commit_async()

    async def _commit_sync(self):
        try:
            await self.host.drive(self.caller.commit_sync(None, 2.0))
        except (KafkaError, Wakeup):
            return

    async def _commit_async(self):
        number = self.calls
        self.calls += 1
        call = await self.host.drive(self.caller.commit_async(None, lambda *_: self.outcomes.append(number)))
        self.host.tell(lambda session: session.start_commit(call))

    # Positions

    async def _change_its_mind(self):
        known = sorted(place for place, tenure in self.tenures.items() if tenure.next_offset is not None)
        if self.story.is_healed:
            await self._resume([place for place, tenure in self.tenures.items() if tenure.is_paused])
        elif known and self.chance.chance(6):
            place = known[self.chance.below(len(known))]
            (await self._seek(place)) if self.chance.below(2) else (await self._pause_or_resume(place))

    async def _seek(self, place):
        tenure = self.tenures[place]
        offset = self.chance.below(tenure.next_offset + 1)
        await self.host.drive(self.caller.seek(place, offset))
        tenure.next_offset = offset

    async def _pause_or_resume(self, place):
        if self.tenures[place].is_paused:
            await self._resume([place])
        else:
            await self.host.drive(self.caller.pause([place]))
            self.tenures[place].is_paused = True

    async def _resume(self, places):
        if places:
            await self.host.drive(self.caller.ask(lambda session: session.resume(places), is_wakeable=False))
        for place in places:
            self.tenures[place].is_paused = False

    # The group

    def _assigned(self, places):
        self.history.assigned(self, places)

    async def _revoked(self, places):
        if self.commits == SYNC and not self.has_failed:
            await self._commit_sync()
        self.history.gone(self, places)

    def _lost(self, places):
        self.history.gone(self, places)

    # The end

    async def _close(self, commits):
        """As `KafkaConsumer.close` does it."""
        is_well = commits == ALL and not self.is_fenced
        self.is_closing = True
        if is_well and self.commits != AUTO:
            await self._commit_sync()
        self.caller.is_closed = True
        await self.host.drive(self.caller.leave(CLOSE_MS, commits))
        await self.host.run(lambda session: session.close(CLOSE_MS))
        if self.tenures and not self.is_fenced:
            self.story.violated("C2", f"{self} has left, and was not told to give up")
        self.tenures.clear()
        if self.outcomes != list(range(self.calls)):
            self.story.violated("C4", f"{self} was told of commits {self.outcomes}, of {self.calls}")
        self.is_over = True

    def check_commits(self):
        if self.commits == ASYNC and not self.is_closing and self.link.commits > self.calls:
            self.story.violated("C4", f"{self} has called {self.calls} commits, and sent {self.link.commits}")
