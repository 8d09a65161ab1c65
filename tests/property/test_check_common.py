"""The short way to check records says the same as the long one, or nothing."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol import errors
from odradek.records import check as checks
from odradek.records.batch import RecordBatch
from odradek.records.checked import CheckedRecords
from odradek.records.crc import crc32c
from odradek.records.layout import CREATE_TIME, HEADER_SIZE, LOG_APPEND_TIME
from odradek.records.record import Record
from odradek.records.rules import ProduceRules
from odradek.records.writer import BatchFields, record_batch

NOW = 1_700_000_000_000

records = st.lists(
    st.tuples(
        st.none() | st.binary(max_size=8),
        st.none() | st.binary(max_size=40),
        st.sampled_from([-1, 0, NOW, NOW + 10**9]),
    ),
    min_size=1,
    max_size=6,
)
fields = st.builds(
    BatchFields,
    producer_id=st.sampled_from([-1, 0, 9]),
    producer_epoch=st.sampled_from([-1, 0, 3]),
    base_sequence=st.sampled_from([-1, 0, 7]),
    is_transactional=st.booleans(),
    is_control=st.booleans(),
)
rules = st.builds(
    ProduceRules,
    st.just("t-0"),
    max_message_bytes=st.sampled_from([80, 200, 1 << 20]),
    timestamp_type=st.sampled_from([CREATE_TIME, LOG_APPEND_TIME]),
    timestamp_before_max_ms=st.sampled_from([1000, (1 << 63) - 1]),
    timestamp_after_max_ms=st.sampled_from([1000, (1 << 63) - 1]),
    is_compacted=st.booleans(),
    codec=st.sampled_from([None, 0, 1]),
)
damage = st.none() | st.tuples(st.integers(0, HEADER_SIZE + 20), st.integers(1, 255))


def outcome(work):
    try:
        checked = work()
    except errors.KafkaError as error:
        return type(error), str(error)
    batch = checked.batches[0]
    facts = [getattr(checked, name) for name in CheckedRecords.__slots__ if name not in ("batches", "rules")]
    return facts, [getattr(batch, name) for name in RecordBatch.__slots__ if name != "buffer"], bytes(batch.buffer)


@given(records, fields, rules, damage, st.booleans())
def test_the_same_or_nothing(items, batch_fields, produce_rules, flip, fixes_crc):
    made = [Record(number, *item) for number, item in enumerate(items)]
    data = bytearray(record_batch(made, batch_fields))
    if flip is not None:
        data[flip[0] % len(data)] ^= flip[1]
        if fixes_crc and len(data) >= HEADER_SIZE and data[16] == 2:
            data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    common = checks.check_common(data, produce_rules, NOW)
    if common is None:
        return
    checks.check_request(data, 9)
    # What `check` would find without the short way: it is never asked of records that are not a client's.
    found = checks._found(data)
    for batch in found:
        checks._check_batch(batch, produce_rules, True)
    assert len(found) == 1
    long_way = outcome(lambda: checks._check_magic_2(found[0], produce_rules, NOW, True))
    assert outcome(lambda: common) == long_way
    assert (common.producer_id, common.told_max_timestamp) == (found[0].producer_id, found[0].max_timestamp)
