"""Loading takes offsets apart by position; the codec is the judge of what they say, and of what is wrong with them."""

from hypothesis import given
from hypothesis import strategies as st

from manager_kit import layers
from odradek.coordinator.group.config import GroupConfig
from odradek.coordinator.group.core import GroupCore
from odradek.coordinator.group.loading import LoadedOffset, OffsetsDecoder
from odradek.protocol import errors
from odradek.protocol.frames import OFFSETS
from odradek.protocol.messages.consumer_offsets import GroupMetadataKey, OffsetCommitKey, OffsetCommitValue
from odradek.protocol.releases import RELEASE_4_3
from odradek.replicated.record_decoder import RecordDecoder

NOBODY = (-1, -1)
CONFIG = GroupConfig.from_config(layers("4.3").config)

names = st.text(st.characters(codec="utf-8"), max_size=12)
int32s = st.integers(-(1 << 31), (1 << 31) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
keys = st.builds(OffsetCommitKey, group=names, topic=names, partition=int32s)


@st.composite
def commits(draw):
    """A key and a value in one of the versions, encoded."""
    version = draw(st.integers(0, 4))
    value = OffsetCommitValue(
        offset=draw(int64s),
        metadata=draw(st.text(st.characters(codec="utf-8"), max_size=200)),
        commit_timestamp=draw(int64s),
    )
    if version >= 3:
        value.leader_epoch = draw(int32s)
    if version == 1:
        value.expire_timestamp = draw(int64s)
    if version == 4 and draw(st.booleans()):
        value.topic_id = draw(st.binary(min_size=16, max_size=16))
    return OFFSETS.encode_key(draw(keys)), OFFSETS.encode_value(value, version)


def stored(decoder, key, value, producer=NOBODY):
    """What a core holds after the record; or the error."""
    core = GroupCore(CONFIG, RELEASE_4_3, lambda: "id")
    try:
        record = decoder.decode(key, value, 7, producer)
    except errors.PeerProtocolError as error:
        return "error", str(error)
    if record is not None:
        core.replay(record, 7)
    core.validate()
    return core.offsets._committed, core.offsets._pending, sorted(core.classic.groups)


@given(commits(), st.sampled_from([NOBODY, (5, 0)]))
def test_both_ways_store_the_same(commit, producer):
    assert stored(OffsetsDecoder(OFFSETS), *commit, producer) == stored(RecordDecoder(OFFSETS), *commit, producer)


@given(commits(), st.data())
def test_damaged_records_are_judged_alike(commit, data):
    key, value = (bytearray(part) for part in commit)
    part = data.draw(st.sampled_from([key, value]))
    if data.draw(st.booleans()):
        del part[data.draw(st.integers(0, len(part))) :]
    else:
        part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(key), bytes(value)
    assert stored(OffsetsDecoder(OFFSETS), *damaged) == stored(RecordDecoder(OFFSETS), *damaged)


@given(st.lists(commits(), max_size=8))
def test_one_decoder_serves_a_whole_log(log):
    decoder = OffsetsDecoder(OFFSETS)
    assert [stored(decoder, *commit) for commit in log] == [stored(RecordDecoder(OFFSETS), *commit) for commit in log]


def test_what_todays_brokers_write_goes_the_short_way():
    key = OFFSETS.encode_key(OffsetCommitKey(group="g", topic="t", partition=3))
    value = OffsetCommitValue(offset=5, leader_epoch=1, metadata="m", commit_timestamp=9, topic_id=b"i" * 16)
    for version, topic_id in ((3, bytes(16)), (4, b"i" * 16)):
        record = OffsetsDecoder(OFFSETS).decode(key, OFFSETS.encode_value(value, version), 7, NOBODY)
        assert record == LoadedOffset("g", "t", 3, (5, 1, "m", 9, -1, topic_id, 7), -1)
        assert type(record) is LoadedOffset


def test_groups_and_tombstones_go_the_long_way():
    decoder = OffsetsDecoder(OFFSETS)
    key = OffsetCommitKey(group="g", topic="t", partition=3)
    assert decoder.decode(OFFSETS.encode_key(key), None, 7, NOBODY) == (key, None, -1, -1)
    group = GroupMetadataKey(group="g")
    assert decoder.decode(OFFSETS.encode_key(group), None, 7, NOBODY) == (group, None, -1, -1)
