"""A program with a whole consumer of ours, without a group: it reads all partitions from the beginning to the end."""

from client_host import ClientLink, SimHost
from client_story import CLIENT, violated

from odradek.client.consumer.caller import NOTHING, Caller
from odradek.client.settings import client_config
from odradek.config.consumer import TABLE
from odradek.protocol.topic_partition import TopicPartition

POLL_MS = 100


class SimReader:
    def __init__(self, story, name, *, is_read_committed=False):
        self.story = story
        self.name = name
        self.is_over = self.is_leaving = False
        self.values = {place: [] for place in story.places()}
        self.positions = {}  # as the consumer tells them
        self._offsets = {}  # of the last record
        self._has_gaps = is_read_committed  # where markers and aborted records are
        self.link = ClientLink(story.world, name, story.broker.address, story.draw_faults(), on_error=story.failed)
        configs = {
            **CLIENT,
            "bootstrap.servers": self.link.servers,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if is_read_committed else "read_uncommitted",
            "max.partition.fetch.bytes": 500,
            "default.api.timeout.ms": 5000,
        }
        self.caller = Caller(client_config(TABLE, configs, {}))
        self.host = SimHost(self.link, self.caller.open_session)
        self.host.caller = self.caller
        self.caller.on(self.host)
        self.task = self.link.loop.spawn(self.live())

    def crash(self):
        if not self.is_over:
            self.is_over = True
            self.host.crash()

    async def live(self):
        await self.host.drive(self.caller.assign([TopicPartition(*place) for place in self.values]))
        while not self.is_leaving:
            for record in await self.host.drive(self.caller.poll(POLL_MS, None)):
                self._take(record)
            known = self.host.session().state.positions()
            self.positions = {tuple(place): each.offset for place, each in known.items()}
        await self.host.drive(self.caller.leave(1000, NOTHING))
        await self.host.run(lambda session: session.close(1000))
        self.is_over = True

    def _take(self, record):
        place = (record.topic, record.partition)
        last = self._offsets.get(place, -1)
        if record.offset <= last or (record.offset != last + 1 and not self._has_gaps):
            violated("R7", f"{self.name} was handed {record.offset} of {place} after {last}")
        self._offsets[place] = record.offset
        self.values[place].append(record.value)

    def has_read(self, ends):
        return self.positions == ends

    def check(self, logs):
        self.is_leaving = True
        for place, values in logs.items():
            if self.values[place] != values:
                violated("R7", f"{self.name} has read {len(self.values[place])} records of {place}, of {len(values)}")
