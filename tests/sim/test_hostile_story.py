"""Stories of a broker with peers that mean no good: nothing that was promised to its clients is lost."""

import os

import pytest
from broker_story import PROPERTIES, Story
from hostile_peer import CLOSED, IDLE_MS, HostilePeer

from odradek.network.server_connection import ServerConnection

SEEDS = int(os.environ.get("ODRADEK_SEEDS", "20"))
SEEDS_PER_TEST = 10


class HostileStory(Story):
    properties = {**PROPERTIES, "connections.max.idle.ms": str(IDLE_MS)}

    def make_scripts(self):
        self.hostile = [HostilePeer(self, f"hostile-{number}") for number in range(3)]
        return [*super().make_scripts(), *self.hostile]

    def cut_off(self, name):
        """A hostile peer must see what becomes of its connection."""
        if not name.startswith("hostile"):
            super().cut_off(name)


@pytest.mark.parametrize("first", range(5000, 5000 + SEEDS, SEEDS_PER_TEST))
def test_hostile_peers_harm_nobody(first):
    stories = [HostileStory(seed) for seed in range(first, first + SEEDS_PER_TEST)]
    for story in stories:
        story.run()
    peers = [peer for story in stories for peer in story.hostile]
    for rule in CLOSED:
        assert sum(peer.closed[rule] for peer in peers) > 0, rule
    assert sum(len(send.oks) for story in stories for send in story.history.sends) > 100


def test_half_a_frame_expires():
    """In a story without crashes, so that it is the broker's doing."""
    story = HostileStory(5100)
    story.live = lambda: story.pass_ms(2 * IDLE_MS)
    story.end_life = story.start = lambda: None
    story.run()
    assert sum(peer.expired for peer in story.hostile) > 0


def test_a_broker_that_does_not_look_at_lengths_is_found_out(monkeypatch):
    monkeypatch.setattr(ServerConnection, "_checked", lambda self, size: 1 << 30)
    with pytest.raises(AssertionError, match="X1"):
        for seed in range(5010, 5060):  # one in seven finds it
            HostileStory(seed).run()
