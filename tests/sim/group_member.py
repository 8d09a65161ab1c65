"""A consumer on the membership cores: it reads what it owns, commits what it has read, and gives back when asked.

It lives until it leaves or crashes; a restart is another one on the same host. What it owns, reads and commits it tells
its story, which checks that.
"""

from faulty_link import Link

from assurance import Assurance
from odradek.channel.driver import Driver
from odradek.client.consumer.assignors.by_name import by_name
from odradek.client.consumer.classic_membership import ClassicMembership
from odradek.client.consumer.commits import OffsetCommits
from odradek.client.consumer.consumer_membership import ConsumerMembership
from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.group_membership import MembershipConfig
from odradek.client.consumer.ownership import ASSIGN, NOTHING, REVOKE
from odradek.client.core import ANY_BROKER, Send
from odradek.protocol import releases
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.records.batch import batches

GROUP = "group"
CONSUMER = "consumer"  # the protocol; the others are the names of assignors

SESSION_MS = 1500
HEARTBEAT_MS = 400
MAX_POLL_MS = 3000  # and with it the rebalance timeout
TICK_MS = 200
COMMIT_MS = 400
METADATA_MS = 1000
REQUEST_MS = 2000
JOIN_MS = MAX_POLL_MS + 2000  # an answer to JoinGroup may take as long as a rebalance
GIVE_BACK_MS = 500  # a commit before partitions are given back is waited for so long

JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT = 11, 68


class MemberLink(Link):
    """Knows when its member was misheard: a join or a consumer's heartbeat of it came late, or a second time.

    Both say what the member owns, and both protocols take the last word for the newest. Both are answered with news
    that are told once, and this answer goes nowhere. What follows is the protocols' own hazard (docs/guarantees.md),
    until the member has said something after it that was answered with all that it shall have.
    """

    def __init__(self, *arguments, **options):
        self.is_misheard = False
        self._misheard = 0  # times
        super().__init__(*arguments, **options)

    def arrives_late(self, api_key):
        if api_key in (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT):
            self.is_misheard = True
            self._misheard += 1

    def asks(self, answered):
        before = self._misheard
        answered.when_done(lambda done: self._heard(before, done))

    def _heard(self, before, done):
        response = None if done.error is not None else done.value()
        if before == self._misheard and getattr(response, "assignment", None) is not None:
            self.is_misheard = self.is_misheard and response.error_code != 0


def spoken(release):
    """The highest version of every API that a broker of the release knows."""
    return {key: highest for key, (_, highest) in releases.by_name(release).api_versions(releases.BROKER).items()}


def patience_ms(request):
    return JOIN_MS if request.api_key == JOIN_GROUP else REQUEST_MS


class Member:
    def __init__(self, story, name, protocol, topics, instance=None):
        self.story = story
        self.name = name
        self.protocol = protocol
        self.instance = instance
        self.is_up = True
        self.is_leaving = False
        self.is_stalled = False  # its application does not poll
        self.link = MemberLink(story.world, name, story.broker.address, story.draw_faults(), on_error=story.failed)
        self.positions = {}  # the next offset to read, by partition
        self.tenures = {}  # a number for each uninterrupted ownership of a partition
        self.acked = {}
        self.epochs_seen = 0
        self._giving_back_ms = None
        self._committed_ms = self._refreshed_ms = 0
        self._is_reading = self._is_refreshing = False
        self._calls = []  # commits that may be open
        self._make_cores(topics)
        self.tick()

    def _make_cores(self, topics):
        versions = spoken(self.story.release)
        config = MembershipConfig(GROUP, SESSION_MS, HEARTBEAT_MS, MAX_POLL_MS, self.instance)
        self.lookup = CoordinatorLookup(GROUP, versions)
        if self.protocol == CONSUMER:
            member_id = f"{self.name}-{self.story.next_number()}"
            self.membership = ConsumerMembership(config, member_id, self.lookup, versions)
        else:
            assignors = [by_name(name) for name in self.protocol.split(",")]
            self.membership = ClassicMembership(config, assignors, self.lookup, versions)
        self.commits = OffsetCommits(
            GROUP, self.membership.identity, self.lookup, versions, on_refusal=self.membership.refused_commit
        )
        self.membership.subscribe(topics)
        self.assurance = Assurance(self.membership, SESSION_MS)
        cores = (self.assurance, self.commits, self.lookup)
        self.drivers = [Driver(self.link.channel, core, timeout_ms=patience_ms, on_event=self.step) for core in cores]

    def __repr__(self):
        return f"{self.name}: {self.membership} {sorted(self.membership.owned)}"

    @property
    def now_ms(self):
        return self.link.now_ms()

    def believes(self):
        """G1: what it may take for its own, unless it was misheard."""
        if not self.is_up or self.link.is_misheard:
            return NOTHING
        return self.assurance.assured(self.now_ms)

    # What the story does to it

    def crash(self):
        self.is_up = False
        self.link.crash()

    def leave(self):
        self.is_leaving = True
        self.membership.leave(self.now_ms)
        self.step()

    def is_gone(self):
        return self.membership.error is not None or (
            self.is_leaving and self.membership.state in ("LEFT", "UNSUBSCRIBED")
        )

    # Its application

    def tick(self):
        if not self.is_up or not self.link.is_alive:
            return
        if not self.is_stalled:
            self.membership.polled(self.now_ms)
            self._refresh()
            self._read()
            self._commit()
            self.step()
        for driver in self.drivers:
            driver.pump()
        if not self.is_gone():
            self.link.loop.after(TICK_MS, self.tick)
        else:
            self.story.world.after(1000 * REQUEST_MS, self._end)

    def _end(self):
        """Its last words have had their time."""
        self.is_up = False

    def step(self):
        """After anything that may have changed something."""
        if not self.is_up:
            return
        self._hear_commits()
        if not self.is_stalled:
            self._work()
        self.story.history.check_owners(self.story.members, self)
        for driver in self.drivers:
            driver.pump()

    def _work(self):
        while (change := self.membership.change) is not None:
            if change.kind == ASSIGN:
                self._take(change.partitions)
            elif not self._give_back(change):
                return
            self.membership.done(change, self.now_ms)
        for place in self.membership.owned - self.positions.keys():
            if place in self.commits.fetched:
                committed = self.commits.fetched[place]
                self.positions[place] = 0 if committed is None else committed.offset
                self.story.history.begins(self, place, self.positions[place])

    def _take(self, partitions):
        for place in sorted(partitions):
            self.tenures[place] = self.story.history.takes(self, place)
        self.commits.fetch(partitions)

    def _give_back(self, change):
        """Whether that is over. What was lost is not worth a commit."""
        if change.kind == REVOKE and not self._has_committed(change.partitions):
            return False
        self._giving_back_ms = None
        self.commits.drop(change.partitions)
        for place in change.partitions:
            self.positions.pop(place, None)
            self.tenures.pop(place, None)
        return True

    def _has_committed(self, partitions):
        if self._giving_back_ms is None:
            self._giving_back_ms = self.now_ms
            self._commit_now(partitions)
        is_open = any(place in call.open for place in partitions for call in self._calls)
        return not is_open or self.now_ms >= self._giving_back_ms + GIVE_BACK_MS

    # Commits

    def _commit(self):
        if self.now_ms >= self._committed_ms + COMMIT_MS:
            self._committed_ms = self.now_ms
            self._commit_now(self.positions)

    def _commit_now(self, places):
        offsets = {place: self.positions[place] for place in sorted(places) if place in self.positions}
        offsets = {place: offset for place, offset in offsets.items() if self.acked.get(self._term(place)) != offset}
        for place, offset in offsets.items():
            self.story.history.sends_commit(self, place, offset)
        self._calls = [call for call in self._calls if not call.is_done]
        self._calls.append(self.commits.commit(offsets))

    def _term(self, place):
        return place, self.tenures[place]

    def _hear_commits(self):
        for place, offset in self.commits.committed.items():
            self.story.history.commit_acknowledged(self, place, offset)
            if place in self.tenures:
                self.acked[self._term(place)] = offset
        self.commits.committed.clear()

    # Records

    def _read(self):
        if self._is_reading or not self.positions:
            return
        positions = dict(self.positions)
        topics = {}
        for (topic, index), offset in sorted(positions.items()):
            wanted = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 16)
            topics.setdefault(topic, []).append(wanted)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[FetchTopic(topic=topic, partitions=wanted) for topic, wanted in topics.items()],
        )
        tenures = dict(self.tenures)
        self._is_reading = True
        send = Send(request, 12, ANY_BROKER, object())  # there is one
        self.link.send(send, REQUEST_MS, lambda response: self._have_read(response, tenures), self._read_failed)

    def _read_failed(self):
        self._is_reading = False

    def _have_read(self, response, tenures):
        self._is_reading = False
        for topic in response.responses:
            for data in topic.partitions:
                place = (topic.topic, data.partition_index)
                if data.error_code == 0 and place in self.positions and self.tenures.get(place) == tenures[place]:
                    self._process(place, data)

    def _process(self, place, data):
        for each in batches(bytes(data.records or b"")):
            for record in each.records():
                if record.offset >= self.positions[place]:
                    self.story.history.reads(self, place, record.offset)
                    self.positions[place] = record.offset + 1

    # Metadata

    def _refresh(self):
        if self._is_refreshing or self.now_ms < self._refreshed_ms + METADATA_MS:
            return
        self._is_refreshing = True
        topics = [MetadataRequestTopic(name=name) for name in sorted(self.story.topics)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        send = Send(request, 12, ANY_BROKER, object())
        self.link.send(send, REQUEST_MS, self._refreshed, self._refresh_failed)

    def _refresh_failed(self):
        self._is_refreshing = False

    def _refreshed(self, response):
        self._is_refreshing = False
        self._refreshed_ms = self.now_ms
        known = [topic for topic in response.topics if topic.error_code == 0]
        if self.protocol == CONSUMER:
            self.membership.metadata({topic.name: bytes(topic.topic_id) for topic in known})
        else:
            self.membership.metadata({topic.name: len(topic.partitions) for topic in known})
        self.step()
