"""A segment read as a whole: what of it is kept, and how little of it is looked at batch by batch."""

import pytest

from log_kit import NOW, Partition, batch, config, marker, run
from odradek.log import names
from odradek.log.batches.batch_check import EpochWitness
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.producers.producer_entry import BATCHES_KEPT
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment.pure_batch_scan import PRODUCERS_MAX
from odradek.log.segment.segment_scan import SegmentScan
from odradek.protocol import errors
from odradek.records import layout
from odradek.records.batch import RecordBatch
from odradek.records.crc import crc32c
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng


class CountingProducers(ProducerState):
    """Counts the batches that it is told of."""

    __slots__ = ("replays",)

    def __init__(self):
        super().__init__("topic-0")
        self.replays = 0

    def replay(self, batch):
        self.replays += 1
        return super().replay(batch)


def placed(*written, leader_epoch=0):
    """The bytes of a segment that begins with offset 0."""
    data, offset = bytearray(), 0
    for each in written:
        layout.BASE_OFFSET.pack_into(each, 0, offset)
        layout.LEADER_EPOCH.pack_into(each, layout.LEADER_EPOCH_OFFSET, leader_epoch)
        offset = RecordBatch(each).next_offset
        data += each
    return data


def scanned(data, producers=None, **options):
    file = SimDisk(SimRng(0)).open("segment.log", create=True)
    file.append([bytes(data)])
    scan = SegmentScan(0, 4096, producers, LeaderEpochs(), **options)
    run(scan.run(file, len(data)))
    return scan


def replayed(data):
    """The same of every batch by itself."""
    producers, at = ProducerState("topic-0"), 0
    while at < len(data):
        size = layout.LENGTH.unpack_from(data, at + layout.LENGTH_OFFSET)[0] + layout.LOG_OVERHEAD
        completed = producers.replay(RecordBatch(data[at : at + size]))
        if completed is not None:
            producers.complete(completed)
        at += size
    return producers


def sequence_of(producer, count, **fields):
    return [batch(b"v", producer=producer, sequence=number, **fields) for number in range(count)]


@pytest.mark.parametrize("witnessed_to", [0, 1000])
def test_of_many_batches_of_a_producer_only_the_last_are_looked_at(witnessed_to):
    data = placed(*sequence_of(7, 300))
    producers = CountingProducers()
    witness = EpochWitness(LeaderEpochs([(0, 0)]))
    scan = scanned(data, producers, witness=witness, witnessed_to=witnessed_to)
    assert (scan.fault, scan.next_offset, scan.valid_bytes) == (None, 300, len(data))
    assert producers.entries == replayed(data).entries
    assert producers.replays == 1 + BATCHES_KEPT  # and the first, which brought a new leader epoch


def test_batches_without_a_leader_epoch_are_no_reason_to_look_at_each():
    data = placed(*sequence_of(7, 300), leader_epoch=-1)
    producers = CountingProducers()
    scanned(data, producers, witness=EpochWitness(LeaderEpochs()), witnessed_to=1000)
    assert producers.replays == 1 + BATCHES_KEPT


def test_a_transaction_begins_with_its_first_batch_however_many_follow():
    data = placed(*sequence_of(7, 50), *sequence_of(8, 50, transactional=True), *sequence_of(9, 50, transactional=True))
    producers = CountingProducers()
    scanned(data, producers)
    assert producers.first_unstable_offset == 50
    assert producers.entries == replayed(data).entries
    assert producers.replays < 25


def test_a_marker_ends_the_transaction_of_its_place():
    first, second = sequence_of(8, 20, transactional=True), sequence_of(8, 20, transactional=True)
    data = placed(*first, marker(8, commit=False), *second)
    producers = CountingProducers()
    scan = scanned(data, producers)
    assert [(each.first_offset, each.last_offset) for each in scan.aborted] == [(0, 20)]
    assert producers.entries == replayed(data).entries
    producers.high_watermark_moved(21)
    assert producers.first_unstable_offset == 21


def test_more_producers_than_a_walk_remembers():
    count = PRODUCERS_MAX + 40
    data = placed(*[batch(b"v", producer=number << 32, sequence=0) for number in [*range(count), *range(count)]])
    producers = CountingProducers()
    scan = scanned(data, producers)
    assert scan.next_offset == 2 * count
    assert producers.entries == replayed(data).entries


def test_thousands_of_messages_of_an_old_format_are_recovered():
    """They were taken in each other's frames, and Python has only a thousand of those."""
    partition = Partition(log_config=config(retention_ms=-1))
    messages = [Record(offset, b"k", b"v", NOW) for offset in range(3000)]
    file = partition.disk.open(f"{partition.directory}/{names.file_name(0, names.LOG)}")
    file.append([bytes(message_set(messages, 1))])
    assert partition.load(clean=False).log_end_offset == 3000


def test_a_marker_that_does_not_parse_is_cut_off():
    """Kept, it would cut off whatever is written behind it at each start after a crash."""
    bad = batch(b"no marker", producer=1, sequence=1)
    bad[layout.ATTRIBUTES_OFFSET + 1] |= layout.CONTROL_MASK
    data = placed(batch(b"v", producer=1, sequence=0), bad)
    end = len(data) - len(bad)
    layout.CRC.pack_into(data, end + layout.CRC_OFFSET, crc32c(bytes(data[end + layout.ATTRIBUTES_OFFSET :])))
    with pytest.raises(errors.KafkaError):
        replayed(data)
    scan = scanned(data, ProducerState("topic-0"))
    assert scan.fault is not None
    assert (scan.next_offset, scan.valid_bytes) == (1, end)
