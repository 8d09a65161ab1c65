"""A peer that means no good, as one more script of a broker's story: X1-X3, X6 and X7 of `reliability.md`.

Whatever it sends, the broker closes the connection or answers; half a frame costs the connection, soon. What is left of
it at the end the story looks for by itself (X5).
"""

import struct

from broker_clients import Script
from broker_kit import PORT, SimClient
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest

CLOSE_MS_MAX = 1500  # a busy broker, a slow disk, a bad network
IDLE_MS = 4000  # connections.max.idle.ms of the story
METADATA, API_VERSIONS = 3, 18


def frame(body):
    return struct.pack(">i", len(body)) + body


def header(key, version):
    return struct.pack(">hhih", key, version, 1, -1)


def too_short(stream):
    return struct.pack(">i", -1 - stream.below(2**31 - 1))


def too_long(stream):
    return struct.pack(">i", 100 * 1024 * 1024 + 1 + stream.below(2**30)) + b"x" * stream.below(100)


def more_topics_than_bytes(stream):
    return frame(header(METADATA, 1) + struct.pack(">i", 2**31 - 1 - stream.below(1000)))


def more_tags_than_bytes(stream):
    return frame(header(API_VERSIONS, 3) + b"\xff\xff\xff\xff\x07")


def unknown_api(stream):
    return frame(header(1000 + stream.below(30_000), stream.below(20)))


def unknown_version(stream):
    return frame(header(METADATA, 100 + stream.below(1000)))


def cut_in_its_body(stream):
    return frame(header(METADATA, 1) + struct.pack(">ih", 1, 300) + b"t" * stream.below(299))


CLOSED = {
    "X1 negative": too_short,
    "X1 long": too_long,
    "X2": more_topics_than_bytes,
    "X3": more_tags_than_bytes,
    "X6 api": unknown_api,
    "X6 version": unknown_version,
    "X6 cut": cut_in_its_body,
}


class RawConnection(SimClient):
    """Any bytes; `frames` are the answers that came."""

    def __init__(self, world, name, address, data):
        self.frames = []
        super().__init__(world, name, address)
        self._out += data

    def _take(self, frame):
        self.frames.append(frame)


class HostilePeer(Script):
    """`closed` counts what the broker has ended, by kind; `expired` half frames of which it had enough."""

    def __init__(self, story, name):
        self.closed = dict.fromkeys(CLOSED, 0)
        self.expired = 0
        self.answered_garbage = 0
        super().__init__(story, name)

    async def run(self):
        choice = self.stream.below(10)
        if choice < 7:
            await self.be_closed(*list(CLOSED.items())[self.stream.below(len(CLOSED))])
        elif choice < 9:
            await self.send_garbage()
        else:
            await self.send_half_a_frame()
        await self.pause(60)

    def connect(self, data):
        return RawConnection(self.story.world, self.name, (self.story.broker.node.address, PORT), data)

    async def be_closed(self, rule, make):
        """An honest request comes first: its answer is owed."""
        life = self.story.life
        greeting = RequestHeader(request_api_key=API_VERSIONS, correlation_id=1).encode(1)
        client = self.connect(frame(b"".join(greeting) + ApiVersionsRequest().to_bytes(0)) + make(self.stream))
        is_closed = await self.is_closed_within(client, CLOSE_MS_MAX)
        self.closed[rule] += is_closed and bool(client.frames)  # else it may have been the network
        if not is_closed and self.has_had_a_chance(client, life):
            self.story.violated(rule, f"{self.name} is still connected after {CLOSE_MS_MAX} ms")
        client.close()

    async def send_garbage(self):
        """Of any kind, in a frame: it may even be a request."""
        size = 1 + self.stream.below(200)
        client = self.connect(frame(bytes(self.stream.below(256) for _ in range(size))))
        self.answered_garbage += not await self.is_closed_within(client, 100)
        client.close()

    async def send_half_a_frame(self):
        """And never another byte."""
        life = self.story.life
        client = self.connect(frame(bytes(500))[: 5 + self.stream.below(400)])
        is_closed = await self.is_closed_within(client, IDLE_MS + CLOSE_MS_MAX)
        self.expired += is_closed
        if not is_closed and self.has_had_a_chance(client, life):
            self.story.violated("X7", f"half a frame has kept {self.name} connected for {IDLE_MS} ms")
        client.close()

    async def is_closed_within(self, client, limit_ms):
        for _ in range(limit_ms // 20):
            if client.is_closed or self.story.is_ending:
                break
            await self.loop.sleep(20)
        return client.is_closed

    def has_had_a_chance(self, client, life):
        """No crash in between, the connection was there, and the story is not over."""
        is_same = life == self.story.life and self.story.broker.node.is_up and not self.story.is_ending
        return is_same and client.connected_us is not None and client.connected_us > self.story.began_us
