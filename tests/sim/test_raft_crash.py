"""A sole voter that crashes at every disk operation of a life with rolls, snapshots and cleaning.

Whatever the moment and whatever of the unsynced bytes is left: the next start leads, everything that a listener was
told before is there again in the same order, the log begins at or before a snapshot (C5), and no half of a snapshot is
taken for one.
"""

import pytest

from odradek.raft import snapshots
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED
from odradek.sim.node import Node as SimNode
from raft_kit import DIRECTORY, Node, record

PROFILES = [LOSE_ALL, MIXED, KEEP_ALL, MIXED]
CONFIG = {"internal_segment_bytes": 300, "retention_bytes": 500, "internal_delete_delay_ms": 5}


class Story:
    """Appends numbered values. `told` is what was committed, `asked` everything that was ever appended."""

    def __init__(self, seed):
        self.node = Node(seed, **CONFIG)
        self.asked = []
        self.told = []

    def tell(self):
        """Ends early when the disk goes down."""
        self.boot()
        for number in range(14):
            self.append(f"value-{number:02d}")
            if number % 4 == 3:
                self.snapshot()
            if number == 9:
                self.stop()
                self.boot()
        self.stop()

    @property
    def is_down(self):
        return not self.node.node.is_up

    def until(self, condition):
        assert self.node.world.run_until(lambda: self.is_down or condition(), 10_000)
        if self.is_down:
            raise Down
        self.told = list(self.node.listener.values)

    def do(self, work):
        tasks = []

        def spawn():
            tasks.append(self.node.node.loop.spawn(work()))
            tasks[0].is_observed = True
            self.node.node.attend()

        self.node.node.after(0, spawn)
        self.until(lambda: tasks and tasks[0].is_done)
        return tasks[0].value()

    def boot(self):
        client = self.node.boot()
        self.do(lambda: client.start())
        self.until(lambda: self.node.listener.offset == client.high_watermark)

    def append(self, value):
        node, client = self.node, self.node.client
        self.asked.append(value)
        done = []
        node.node.after(0, lambda: done.append(client.append(client.epoch, [record(value)])) or node.node.attend())
        self.until(lambda: done and node.listener.offset > done[0])

    def snapshot(self):
        listener, client = self.node.listener, self.node.client
        records = [record(value) for value in listener.values]
        self.do(lambda: client.create_snapshot(listener.offset, listener.epoch, records))

    def stop(self):
        self.do(lambda: self.node.client.shutdown())

    def check(self, profile):
        """After the crash: starts, finds everything, goes on, and does so again."""
        told = self.told
        for value in ("after", "again"):
            if not self.is_down:
                self.node.node.crash(profile)
            self.boot()
            found = self.node.listener.values
            assert found[: len(told)] == told, "what was committed is lost"
            assert found == self.asked[: len(found)], "what was never appended, or in another order"
            self.check_snapshots()
            self.asked = list(found)
            self.append(value)
            told = self.told

    def check_snapshots(self):
        client = self.node.client
        names = self.node.files()
        ids = [found for name in names if (found := snapshots.id_of(name)) is not None]
        assert sorted(ids) == [facts.id for facts in client.log.snapshots]
        assert client.log.log_start_offset == 0 or max(ids).offset >= client.log.log_start_offset
        assert not [name for name in names if name.endswith(".part")]
        assert self.node.node.disk.exists(f"{DIRECTORY}/quorum-state")


class Down(Exception):  # noqa: N818 - a state of the story
    pass


def operations_of_the_story():
    story = Story(1)
    before = story.node.node.disk.operations
    story.tell()
    return story.node.node.disk.operations - before


def test_the_story_without_a_crash():
    story = Story(1)
    story.tell()
    assert len(story.told) == 14
    assert story.node.client.log.log_start_offset > 0
    assert operations_of_the_story() > 150
    story.check(LOSE_ALL)


@pytest.mark.parametrize("part", range(6))
def test_a_crash_at_every_disk_operation(part, monkeypatch):
    for nth in range(1 + part, operations_of_the_story() + 1, 6):
        profile = PROFILES[nth % len(PROFILES)]
        monkeypatch.setattr(SimNode.crash, "__defaults__", (profile,))  # of a disk that goes down
        story = Story(1)
        story.node.node.disk.crash_at(nth)
        with pytest.raises(Down):
            story.tell()
        story.check(profile)
