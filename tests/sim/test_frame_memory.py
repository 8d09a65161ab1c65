"""Many connections share a small memory pool: every frame is answered at last, and the pool is whole again.

Drawn from a seed: frames that are longer than half of the pool, in pieces that come slowly; several requests in flight;
answers that are larger than what the peer takes at once, parked or throttled ones; peers that read nothing for a while
and peers that go away in the middle of a frame. There is no fault in it that would excuse a request without an answer.
"""

import os

import pytest

from network_kit import SimRig, answer_of, correlation_id_of, request

SEEDS = int(os.environ.get("ODRADEK_SEEDS", "100"))
FIRST_SEED = int(os.environ.get("ODRADEK_FIRST_SEED", "0"))
SEEDS_PER_TEST = 25

POOL_BYTES = 100_000
ALL_SENT_MS = 2000
ANSWERED_SECONDS = 120  # of simulated time: much less than until an idle connection expires
ANSWERS = ("small", "small", "large", "parked", "throttled")  # in what way a request is answered
LARGE_BODY = bytes(100_000)


class Peer:
    """Sends its requests in pieces, one after the other; reads, or does not for a while."""

    def __init__(self, story, client):
        chance = self.chance = story.chance
        self.story = story
        self.client = client
        self.count = 1 + chance.below(4)
        self.wanted_bytes = 0  # of answers
        self.is_leaving = chance.below(5) == 0
        stream = b"".join(self.drawn_request(number) for number in range(self.count))
        self.left = stream[: chance.below(len(stream))] if self.is_leaving else stream
        if chance.below(3) == 0:
            client.reads = False
            story.after_ms(chance.below(ALL_SENT_MS), self.read_again)
        self.send()

    def drawn_request(self, number):
        chance = self.chance
        size = chance.below(3000) if chance.below(4) == 0 else chance.between(POOL_BYTES // 2, POOL_BYTES - 1000)
        kind = chance.below(len(ANSWERS))
        self.wanted_bytes += len(answer_of(number, LARGE_BODY if ANSWERS[kind] == "large" else b""))
        return request(number, bytes([kind]) + bytes(size))

    def send(self):
        if self.left:
            size = 1 + self.chance.below((5000, 40_000, 400_000)[self.chance.below(3)])
            piece, self.left = self.left[:size], self.left[size:]
            self.client.send(piece)
            self.story.after_ms(self.chance.below(40), self.send)
        elif self.is_leaving:
            self.client.close()
        self.story.rig.attend()

    def read_again(self):
        self.client.reads = True
        self.client.pump()

    @property
    def is_answered(self):
        if self.is_leaving:
            return self.client.is_closed
        return len(self.client.received) == self.wanted_bytes


class PoolStory:
    def __init__(self, seed):
        self.seed = seed
        self.rig = SimRig(seed)
        self.chance = self.rig.world.rng.stream("story")
        self.waited = 0  # the most that ever waited for memory

    def tell(self):
        overrides = {"queued.max.request.bytes": str(POOL_BYTES), "socket.request.max.bytes": str(POOL_BYTES)}
        rig = self.rig.start(self.serve, overrides)
        self.draw_network()
        self.peers = [Peer(self, rig.connect()) for _ in range((4, 8, 20)[self.chance.below(3)])]
        rig.until(self.are_all_answered, ANSWERED_SECONDS)
        rig.until(lambda: len(rig.server.connections()) == sum(not peer.is_leaving for peer in self.peers))
        assert not rig.errors
        for peer in self.peers:
            assert peer.is_leaving or peer.client.correlation_ids() == list(range(peer.count))
        memory = rig.server.memory
        assert (memory.used_bytes, memory.waiting) == (0, 0)
        rig.close()

    def draw_network(self):
        fabric = self.rig.world.fabric
        fabric.buffer_bytes = (32, 64, 512)[self.chance.below(3)] * 1024
        fabric.short_percent = (0, 10)[self.chance.below(2)]
        fabric.split_percent = (0, 3)[self.chance.below(2)]

    def serve(self, connection, frame):
        kind = ANSWERS[frame[10]]
        answer = answer_of(correlation_id_of(frame), LARGE_BODY if kind == "large" else b"")
        if kind == "parked":
            pending = self.rig.loop.pending()
            self.rig.loop.after(self.chance.below(200), lambda: pending.resolve([answer]))
            return pending
        if kind == "throttled":
            connection.throttle(1 + self.chance.below(200))
        return [answer]

    def after_ms(self, milliseconds, callback):
        self.rig.world.after(milliseconds * 1000, callback)

    def are_all_answered(self):
        self.waited = max(self.waited, self.rig.server.memory.waiting)
        return all(peer.is_answered for peer in self.peers)


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, SEEDS_PER_TEST))
def test_every_frame_is_answered_and_the_pool_is_whole_again(first):
    stories = [PoolStory(seed) for seed in range(first, first + SEEDS_PER_TEST)]
    for story in stories:
        try:
            story.tell()
        except BaseException as error:
            error.add_note(f"seed {story.seed}: {story.rig.state()}")
            raise
    assert sum(story.waited for story in stories) > SEEDS_PER_TEST, "of them have waited for memory"
