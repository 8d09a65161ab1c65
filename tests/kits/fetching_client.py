"""The fetch cores on a real channel, in a thread of their own, with nothing above them: no group, no front end.

with fetching("127.0.0.1:9092", {TopicPartition("t", 0): 0}) as client:
    records = client.take(500)              # waits for some, and fails after a while without
"""

import contextlib
import time
from _thread import allocate_lock

from odradek.channel.channel import Channel
from odradek.channel.config import ChannelConfig
from odradek.channel.driver import Driver
from odradek.client.admin.asking import Asker
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_config import FetchConfig
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.offset_reset import EARLIEST
from odradek.client.consumer.position_resolver import PositionResolver
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.client.host.io_thread import IoThread

WAIT_S_MAX = 30


class FetchingSession:
    """What the I/O thread has."""

    def __init__(self, loop, bootstrap, buffer, config, reset):
        host, _, port = bootstrap.rpartition(":")
        self.loop = loop
        self.channel = Channel(loop, ChannelConfig(client_id="fetching"), [(host, int(port))])
        self.asker = Asker(self.channel, timeout_ms=10_000, retries=100)
        self.subscriptions = SubscriptionState(reset, is_read_committed=config.is_read_committed)
        self.buffer = buffer
        self.fetcher = Fetcher(self.subscriptions, self.channel.metadata, buffer, config)
        self.resolver = PositionResolver(
            self.subscriptions, self.channel.metadata, buffer, wall_ms=loop.ports.clock.wall_ms
        )
        self.drivers = [
            Driver(self.channel, core, on_event=self.pump) for core in (self.resolver, self.fetcher)
        ]  # fmt: skip
        self.asked = []  # every fetch that went out
        self.wakes = 0  # how often a caller has woken this thread

    def pump(self, _=None):
        for driver in self.drivers:
            driver.pump()

    async def do(self, change):
        """Something is changed in the subscription state."""
        found = change(self)
        for state in self.subscriptions:
            self.channel.metadata.add_topic(state.place.topic, 0)
        self.pump()
        return found

    async def close(self, timeout_ms):
        self.fetcher.close()
        self.pump()
        until_ms = self.loop.ports.clock.mono_ms() + timeout_ms
        while not self.fetcher.is_closed and self.loop.ports.clock.mono_ms() < until_ms:
            await self.loop.sleep(5)
        self.channel.close()


class FetchingClient:
    """What the caller has."""

    def __init__(self, bootstrap, config, reset, **buffer):
        self.buffer = FetchBuffer(**buffer)
        self._parked = allocate_lock()
        self._parked.acquire()
        self.thread = IoThread(
            "fetching", lambda loop: FetchingSession(loop, bootstrap, self.buffer, config, reset), lambda: None
        )
        self.thread.start()
        self.session = self.thread.session
        self.wakes = 0
        self.buffer.on_room = self._made_room

    def _made_room(self):
        self.wakes += 1
        self.thread.tell(FetchingSession.pump)

    def do(self, change):
        return self.thread.run(lambda session: session.do(change))

    def assign(self, positions):
        """Offsets by partition; None for the reset strategy."""

        def change(session):
            session.subscriptions.assign(positions)
            for place, offset in positions.items():
                if offset is not None:
                    session.subscriptions.seek(place, offset)
            session.subscriptions.reset_missing()

        self.do(change)

    def _data(self):
        if self._parked.locked():
            self._parked.release()

    def wait(self, timeout_s):
        """Until there is something to take."""
        self.buffer.on_data = self._data
        try:
            if not self.buffer.has_data:
                self._parked.acquire(timeout=timeout_s)
        finally:
            self.buffer.on_data = None
            self._parked.acquire(blocking=False)

    def take(self, max_records=500, timeout_s=WAIT_S_MAX):
        return self._until(lambda: self.buffer.take(max_records), len, timeout_s)

    def take_arrow(self, max_bytes=1 << 20, timeout_s=WAIT_S_MAX):
        return self._until(lambda: self.buffer.take_arrow(max_bytes), lambda table: table.num_rows, timeout_s)

    def _until(self, take, is_enough, timeout_s):
        deadline = time.monotonic() + timeout_s
        while not is_enough(taken := take()) and (left := deadline - time.monotonic()) > 0:
            self.wait(left)
        return taken

    def take_all(self, count, timeout_s=WAIT_S_MAX):
        found, deadline = [], time.monotonic() + timeout_s
        while len(found) < count and time.monotonic() < deadline:
            found += self.take(timeout_s=1)
        return found


@contextlib.contextmanager
def fetching(bootstrap, positions, *, config=None, reset=EARLIEST, **buffer):
    client = FetchingClient(bootstrap, config or FetchConfig(), reset, **buffer)
    try:
        client.assign(positions)
        yield client
    finally:
        client.thread.close(5000)
