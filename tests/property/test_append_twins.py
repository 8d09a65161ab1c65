"""What an append does in a straight line for speed is what its parts do one after the other.

append_checked with PlainRecords    the same with a batch that was looked at; `place_plain` and `place`
`roll.is_due`, spelled out          a roll that was asked for before every append
Segment.append                      Segment.write and Segment.note, by which a follower takes the same bytes
advance_high_watermark_to_end       update_high_watermark to the same offset
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from log_kit import NOW, Partition, append_as_leader, config, marker
from odradek.log.append import CLIENT, COORDINATOR, append_checked
from odradek.log.roll import maybe_roll
from odradek.protocol import errors
from odradek.records.batch import RecordBatch
from odradek.records.check import check_common
from odradek.records.checked import CheckedRecords
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

configs = st.builds(
    config,
    segment_bytes=st.sampled_from([100, 300, 1 << 20]),
    segment_ms=st.sampled_from([1, 50, 1 << 40]),
    segment_index_bytes=st.sampled_from([24, 1 << 20]),
    index_interval_bytes=st.sampled_from([0, 100, 4096]),
    timestamp_type=st.sampled_from(["CreateTime", "LogAppendTime"]),
    compression_type=st.just("producer"),
)
sends = st.lists(
    st.tuples(
        st.lists(st.tuples(st.binary(max_size=80), st.sampled_from([0, 5, 60, -100])), min_size=1, max_size=3),
        st.sampled_from([-1, -1, 7, 8]),  # the producer
        st.integers(0, 3),  # its sequence
        st.booleans(),  # in a transaction
        st.sampled_from([0, 0, 1]),  # epochs that begin
        st.sampled_from([None, None, True, False]),  # a marker behind it: commit, abort
    ),
    min_size=1,
    max_size=12,
)


def data_of(values, producer, sequence, is_transactional):
    records = [Record(number, b"k", value, NOW + late) for number, (value, late) in enumerate(values)]
    has_producer = producer >= 0
    fields = BatchFields(
        producer_id=producer,
        producer_epoch=0 if has_producer else -1,
        base_sequence=sequence if has_producer else -1,
        is_transactional=is_transactional and has_producer,
    )
    return bytearray(record_batch(records, fields))


def straight(log, data, epoch, now_ms):
    return append_checked(log, check_common(data, log.rules, now_ms), epoch, now_ms, CLIENT)


def step_by_step(log, data, epoch, now_ms):
    """A batch object, looked at; the roll is asked for first, as `roll.maybe_roll` decides it."""
    common = check_common(data, log.rules, now_ms)
    looked_at = CheckedRecords.in_place(
        RecordBatch(common.buffer), log.rules, common.max_timestamp, common.index_of_max_timestamp
    )
    known = log.producers.duplicate_of(looked_at.batches[0]) if common.producer_id >= 0 else None
    if known is None and len(data) <= log.roll_bytes and accepts(log, looked_at.batches[0]):
        maybe_roll(log, len(data), now_ms, log.log_end_offset + common.count - 1, common.max_timestamp)
    return append_checked(log, looked_at, epoch, now_ms, CLIENT)


def accepts(log, batch):
    try:
        if batch.producer_id >= 0:
            log.producers.check_data(batch, is_from_client=True)
    except errors.KafkaError:
        return False
    return True


def outcome(append, log, data, epoch, now_ms):
    try:
        info = append(log, data, epoch, now_ms)
    except errors.KafkaError as error:
        return type(error), str(error)
    return info.first_offset, info.last_offset, info.log_append_time, info.log_start_offset, info.is_duplicate


def books(partition):
    log = partition.log
    segments = [
        (
            segment.base_offset,
            segment.size,
            segment.max_timestamp,
            segment.offset_of_max_timestamp,
            segment.first_timestamp,
            segment.bytes_since_last_index_entry,
        )
        for segment in log.segments
    ]
    return segments, log.log_end_offset, log.first_unstable_offset, log.epochs.entries


def files(partition):
    partition.close()
    found = partition.disk.snapshot().items()
    return {path: bytes(content) for path, content in found if not path.endswith("snapshot")}


@settings(max_examples=150)
@given(configs, sends)
def test_every_way_to_append_leaves_the_same_log(log_config, batches):
    fast, slow, follower = (Partition(log_config=log_config) for _ in range(3))
    epoch, now_ms = 0, NOW
    for values, producer, sequence, is_transactional, epochs, is_commit in batches:
        epoch += epochs
        now_ms += 7
        data = data_of(values, producer, sequence, is_transactional)
        again = bytearray(data)
        end_offset = fast.log.log_end_offset
        assert outcome(straight, fast.log, data, epoch, now_ms) == outcome(step_by_step, slow.log, again, epoch, now_ms)
        if fast.log.log_end_offset > end_offset:
            assert data == again
            follower.log.append_as_follower(bytes(data), now_ms)
        if is_commit is not None and producer >= 0:
            for each in (fast, slow):
                written = marker(producer, commit=is_commit, timestamp=now_ms)
                append_as_leader(each.log, written, epoch, now_ms, origin=COORDINATOR)
            follower.log.append_as_follower(bytes(written), now_ms)
        assert books(fast) == books(slow) == books(follower)
        follower.log.update_high_watermark(follower.log.log_end_offset)
        commit_all(fast.log, slow.log)
    assert files(fast) == files(slow) == files(follower)


def commit_all(fast, slow):
    fast.advance_high_watermark_to_end()
    slow.update_high_watermark(slow.log_end_offset)
    for place in ("high_watermark_place", "stable_place"):
        assert getattr(fast, place)() == getattr(slow, place)()
    assert (fast.high_watermark, fast.last_stable_offset) == (slow.high_watermark, slow.last_stable_offset)
    assert fast.first_unstable_offset == slow.first_unstable_offset
