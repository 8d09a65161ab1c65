"""From committed batches to published images: catching up, transactions, slices, faults."""

import pytest

from metadata_kit import Batch, Snapshot, broker, config, image_of, level, topic, topic_id
from odradek.metadata import loader as loading
from odradek.metadata.cache import MetadataCache
from odradek.metadata.loader import MetadataLoader
from odradek.metadata.replay_error import ReplayError
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.protocol.messages import metadata_topics as topics
from odradek.reactor.loop import Loop
from odradek.reactor.slices import SLICE_MS
from odradek.sim.world import World

BEGIN, END, ABORT = cluster.BeginTransactionRecord(), cluster.EndTransactionRecord(), cluster.AbortTransactionRecord()


class Published:
    """Keeps what it is handed."""

    def __init__(self):
        self.deltas, self.images = [], []

    def publish(self, delta, image):
        self.deltas.append(delta)
        self.images.append(image)

    @property
    def names(self):
        return sorted(self.images[-1].topics.by_name)


@pytest.fixture
def loop():
    return Loop(World(1).node("n").ports)


@pytest.fixture
def published():
    return Published()


def make(loop, published, **options):
    loader = MetadataLoader(loop, **options)
    loader.add_publisher(published)
    return loader


def test_each_batch_is_published_with_its_offset_and_epoch(loop, published):
    loader = make(loop, published)
    assert loader.handle_commit(Batch(0, topic(1), epoch=3, append_ms=77)) is None
    loader.handle_commit(Batch(2, [cluster.NoOpRecord()], epoch=4))
    assert [(image.offset, image.epoch) for image in published.images] == [(1, 3), (2, 4)]
    assert published.images[0].append_ms == 77
    assert published.deltas[1].image is published.images[0]
    assert not published.deltas[1].topics.changed


def test_a_batch_of_control_records_moves_the_offset(loop, published):
    loader = make(loop, published)
    loader.handle_commit(Batch(0, [], last_offset=2))
    assert published.images[-1].offset == 2


def test_nothing_is_published_before_the_log_is_read_to_the_high_watermark(loop, published):
    loader = make(loop, published, high_watermark=lambda: 6)
    loader.handle_commit(Batch(0, [*topic(1), *topic(2)]))
    loader.handle_commit(Batch(4, [topics.RemoveTopicRecord(topic_id=topic_id(1))]))
    assert not published.images
    loader.handle_commit(Batch(5, [cluster.NoOpRecord()]))
    assert published.names == ["topic-2"]
    delta = published.deltas[0]
    assert (delta.topics.created, delta.topics.deleted) == ({topic_id(2)}, {})
    loader.handle_commit(Batch(6, topic(3)))
    assert len(published.images) == 2


def test_the_high_watermark_may_not_be_known_yet(loop, published):
    known = [None]
    loader = make(loop, published, high_watermark=lambda: known[0])
    loader.handle_commit(Batch(0, topic(1)))
    assert not loader.is_caught_up
    known[0] = 3
    loader.handle_commit(Batch(2, [cluster.NoOpRecord()]))
    assert loader.is_caught_up
    assert published.names == ["topic-1"]


def test_a_transaction_counts_all_at_once(loop, published):
    loader = make(loop, published)
    loader.handle_commit(Batch(0, [*topic(1), BEGIN, *topic(2)]))
    assert published.names == ["topic-1"]
    assert published.images[-1].offset == 1
    loader.handle_commit(Batch(5, topic(3)))
    assert len(published.images) == 1
    assert loader.last_offset == 6
    loader.handle_commit(Batch(7, [END, *topic(4)]))
    assert published.names == ["topic-1", "topic-2", "topic-3", "topic-4"]
    assert published.images[-1].offset == 9


def test_an_aborted_transaction_leaves_nothing(loop, published):
    loader = make(loop, published)
    loader.handle_commit(Batch(0, [*topic(1), BEGIN, *topic(2), ABORT, *topic(3)]))
    assert published.names == ["topic-1", "topic-3"]


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([BEGIN, BEGIN], "offset 11: a metadata transaction begins inside another one"),
        ([END], "offset 10: EndTransactionRecord outside of a metadata transaction"),
        ([ABORT], "offset 10: AbortTransactionRecord outside"),
        (
            [*topic(1), topics.RemoveTopicRecord(topic_id=topic_id(9))],
            "offset 12: RemoveTopicRecord: there is no topic",
        ),
    ],
)
def test_a_record_that_cannot_be_stops_the_loader(loop, published, records, reason):
    faults = []
    loader = make(loop, published, on_fault=faults.append)
    loader.handle_commit(Batch(10, records))
    with pytest.raises(ReplayError, match=reason):
        raise faults[0]
    loader.handle_commit(Batch(20, topic(5)))
    assert not published.images
    assert loader.is_faulty


def test_a_snapshot_replaces_what_was_there(loop, published):
    loader = make(loop, published)
    loader.handle_commit(Batch(0, [*topic(1), *topic(2), broker(1), config(2, "topic-1", "a", "1")]))
    fresh = image_of([level("metadata.version", 30), *topic(2, partitions=2), *topic(3)])
    records = [record for record, _ in fresh.records()]
    loader.handle_load_snapshot(Snapshot(100, [records[:2], records[2:]], epoch=8))
    image, delta = published.images[-1], published.deltas[-1]
    assert (image.offset, image.epoch) == (99, 8)
    assert image[3:] == fresh[3:]
    assert set(delta.topics.deleted) == {topic_id(1)}
    assert delta.topics.created == {topic_id(3)}
    assert set(delta.topics.changed[topic_id(2)].changed) == {1}
    assert delta.cluster.changed == {1: None}
    assert delta.configs.changed == {(2, "topic-1"): {}}
    assert delta.apply(99, 8)[3:] == image[3:]


def test_a_snapshot_ends_a_transaction_that_was_open(loop, published):
    loader = make(loop, published)
    loader.handle_commit(Batch(0, [BEGIN, *topic(1)]))
    loader.handle_load_snapshot(Snapshot(50, [topic(2)]))
    assert published.names == ["topic-2"]
    loader.handle_commit(Batch(50, topic(3)))
    assert published.names == ["topic-2", "topic-3"]


def test_a_late_publisher_is_handed_everything(loop, published):
    loader = make(loop, published)
    loader.handle_commit(Batch(0, [*topic(1), broker(1), config(4, "", "a", "1")]))
    late = Published()
    loader.add_publisher(late)
    assert late.images == [loader.image]
    assert late.deltas[0].apply(3, 1)[3:] == loader.image[3:]
    assert late.deltas[0].topics.created == {topic_id(1)}


def test_a_failing_publisher_does_not_keep_the_others_from_it(loop, published):
    class Broken:
        def publish(self, delta, image):
            raise RuntimeError("broken")

    loader = MetadataLoader(loop)
    loader.add_publisher(Broken())
    loader.add_publisher(published)
    loader.handle_commit(Batch(0, topic(1)))
    assert published.names == ["topic-1"]


def ticking(monkeypatch):
    """A loop whose clock moves a millisecond per look."""
    node = World(1).node("n")
    ticks = iter(range(10**9))
    monkeypatch.setattr(type(node.ports.clock), "mono_ms", lambda self: next(ticks))
    return Loop(node.ports)


def test_a_long_load_is_cut_into_slices(published, monkeypatch):
    """After a few looks the loader lets the loop turn."""
    loop = ticking(monkeypatch)
    loader = make(loop, published)
    records = [record for number in range(2000) for record in topic(number)]
    waiting = loader.handle_load_snapshot(Snapshot(4000, [records]))
    assert waiting is not None
    assert not published.images
    before = loop.turns
    loop.run_until(waiting)
    assert loop.turns - before > len(records) // loading.RECORDS_PER_LOOK // (SLICE_MS + 1)
    assert len(published.images[-1].topics.by_id) == 2000


def test_making_an_image_of_much_that_was_read_is_cut_into_slices(published, monkeypatch):
    """All that was read before the log was caught up goes into the first image, with whatever record comes last."""
    loop = ticking(monkeypatch)
    loader = make(loop, published, high_watermark=lambda: 8001)
    records = [record for number in range(4000) for record in topic(number)]
    loop.run_until(loader.handle_commit(Batch(0, records)))
    assert not published.images
    before = loop.turns
    waiting = loader.handle_commit(Batch(len(records), [cluster.NoOpRecord()]))
    assert waiting is not None and not published.images
    loop.run_until(waiting)
    assert loop.turns > before
    assert len(published.images[-1].topics.by_id) == 4000


def test_the_leader_is_remembered(loop, published):
    loader = make(loop, published)
    loader.handle_leader_change(4, 9)
    assert (loader.leader_id, loader.leader_epoch) == (4, 9)


# The cache


def test_the_cache_answers_for_one_listener():
    cache = MetadataCache()
    records = [
        broker(1, listeners=("INSIDE", "OUTSIDE"), fenced=False, rack="a"),
        broker(2, listeners=("INSIDE",), fenced=False),
        broker(3, listeners=("INSIDE", "OUTSIDE")),
        *topic(1, leader=1),
        *topic(2, leader=2),
        *topic(3, leader=3),
        *topic(4, leader=-1),
    ]
    cache.set_image(image_of(records, offset=42))
    assert list(cache.alive_nodes("INSIDE")) == [1, 2]
    assert list(cache.alive_nodes("OUTSIDE").values()) == [(1, "host-1", 9001, "a")]
    assert cache.leader("topic-1", 0, "OUTSIDE").port == 9001
    assert cache.leader("topic-2", 0, "OUTSIDE") is None
    assert cache.leader("topic-3", 0, "INSIDE") is None
    assert cache.leader("topic-4", 0, "INSIDE") is None
    assert cache.leader("topic-1", 9, "INSIDE") is None
    assert cache.leader("nosuch", 0, "INSIDE") is None
    assert (cache.is_alive(1), cache.is_alive(3), cache.is_alive(9)) == (True, False, False)
    assert cache.endpoint(3, "INSIDE") is None
    assert cache.endpoint(2, "INSIDE").port == 9000
    assert cache.topic_id("topic-2") == topic_id(2)
    assert cache.topic_name(topic_id(2)) == "topic-2"
    assert (cache.topic_id("nosuch"), cache.topic_name(bytes(16))) == (None, None)
    assert cache.finalized_features_epoch == 42


def test_the_cache_sees_a_broker_go():
    cache = MetadataCache(image_of([broker(1, fenced=False), broker(2, fenced=False)]))
    assert list(cache.alive_nodes("PLAINTEXT")) == [1, 2]
    cache.set_image(image_of([broker(2, epoch=5)], cache.image))
    assert list(cache.alive_nodes("PLAINTEXT")) == [1]
    assert [each.id for each in cache.alive_brokers()] == [1]
