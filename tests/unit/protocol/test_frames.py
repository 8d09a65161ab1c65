"""The bytes before an internal record: written as Kafka writes them, and read with the same distrust as any others."""

import pytest

from odradek.protocol import frames, registry
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.frames import METADATA, OFFSETS, REMOTE_LOG, SHARE_STATE, TRANSACTIONS


def message(name, /, **values):
    return registry.by_name(name)(**values)


KEYS = {
    OFFSETS: message("OffsetCommitKey", group="g", topic="t", partition=3),
    TRANSACTIONS: message("TransactionLogKey", transactional_id="x"),
    SHARE_STATE: message("ShareSnapshotKey", group_id="g", topic_id=bytes(range(16)), partition=1),
}


@pytest.mark.parametrize("records", KEYS)
def test_a_key_is_framed_by_its_record_type(records):
    key = KEYS[records]
    data = records.encode_key(key)
    assert data == key.api_key.to_bytes(2, "big") + key.to_bytes(0)
    assert records.decode_key(data) == key
    assert records.decode_key(memoryview(data)) == key


def test_keys_of_one_topic_are_told_apart_by_their_type():
    offset = KEYS[OFFSETS]
    group = message("GroupMetadataKey", group="g")
    assert (offset.api_key, group.api_key) == (1, 2)
    assert type(OFFSETS.decode_key(OFFSETS.encode_key(group))) is type(group)


@pytest.mark.parametrize("version", range(5))
def test_a_value_is_framed_by_its_version(version):
    value = message("OffsetCommitValue", offset=5, metadata="m", commit_timestamp=9)
    data = OFFSETS.encode_value(value, version)
    assert data[:2] == version.to_bytes(2, "big")
    assert OFFSETS.decode_value(KEYS[OFFSETS], data) == value


def test_a_key_of_a_newer_release_is_left_to_it():
    assert OFFSETS.decode_key(b"\x7f\xff rest") is None
    assert OFFSETS.decode_key(b"\xff\xff rest") is None


@pytest.mark.parametrize(("data", "remains"), [(b"", "0 bytes remain"), (b"\0", "1 byte remains")])
def test_a_key_without_its_type(data, remains):
    with pytest.raises(PeerProtocolError, match=f"the record type needs 2 bytes, {remains} at byte 0"):
        OFFSETS.decode_key(data)


def test_a_value_without_its_version():
    with pytest.raises(PeerProtocolError, match="the value version needs 2 bytes, 1 byte remains at byte 0"):
        OFFSETS.decode_value(KEYS[OFFSETS], b"\0")


@pytest.mark.parametrize("version", [5, -1, 32767])
def test_a_value_in_a_version_that_nobody_declares(version):
    data = version.to_bytes(2, "big", signed=True) + bytes(40)
    with pytest.raises(PeerProtocolError, match=f"OffsetCommitValue has no version {version} at byte 0"):
        OFFSETS.decode_value(KEYS[OFFSETS], data)


def test_a_key_that_is_cut_off_tells_the_position_in_the_whole():
    data = OFFSETS.encode_key(KEYS[OFFSETS])
    with pytest.raises(PeerProtocolError) as refusal:
        OFFSETS.decode_key(data[:-1])
    assert (refusal.value.reason, refusal.value.position) == ("partition needs 4 bytes, 3 bytes remain", 8)


@pytest.mark.parametrize("records", [OFFSETS, TRANSACTIONS, SHARE_STATE])
def test_every_key_has_a_value_of_the_same_type(records):
    records.decode_key(b"\0\0" + bytes(40))
    assert set(records._keys) == set(records._values)


def test_a_metadata_record_is_framed_by_three_varints():
    record = message("TopicRecord", name="t", topic_id=bytes(range(16)))
    data = METADATA.encode(record, 0)
    assert data == b"\1\2\0" + record.to_bytes(0)
    assert METADATA.decode(data) == (record, 0)
    assert METADATA.decode(memoryview(data)) == (record, 0)


def test_a_remote_log_record_has_no_frame_version():
    record = message("RemotePartitionDeleteMetadataRecord")
    data = REMOTE_LOG.encode(record, 0)
    assert data == bytes([record.api_key, 0]) + record.to_bytes(0)
    assert REMOTE_LOG.decode(data) == (record, 0)


@pytest.mark.parametrize("records", [METADATA, REMOTE_LOG])
def test_every_type_comes_back(records):
    names = frames.registry.METADATA_RECORDS if records is METADATA else frames.registry.REMOTE_LOG_RECORDS
    for module in names:
        for cls in registry.messages_of(module).values():
            for version in cls.versions:
                assert records.decode(records.encode(cls(), version)) == (cls(), version)


@pytest.mark.parametrize(
    ("frame", "reason", "position"),
    [
        ("", "the frame version is cut off", 0),
        ("80", "the frame version is cut off", 1),
        ("00", "frame version 0, expected 1", 0),
        ("02", "frame version 2, expected 1", 0),
        ("01", "the record type is cut off", 1),
        ("0102", "the record version is cut off", 2),
        ("01ff7f00", "no record has the type 16383", 4),
        ("010263", "TopicRecord has no version 99", 3),
        ("01808080808001", "the record type is longer than five bytes", 6),
        ("010200", "a varint of name is cut off", 3),
    ],
)
def test_a_frame_that_does_not_parse(frame, reason, position):
    with pytest.raises(PeerProtocolError) as refusal:
        METADATA.decode(bytes.fromhex(frame))
    assert (refusal.value.reason, refusal.value.position) == (reason, position)


def test_tables_are_whole_for_every_thread_that_asks_first(monkeypatch):
    """A slow import lets a second thread look while the first one still gathers."""
    records = frames.CoordinatorRecords(("consumer_offsets", "consumer_groups"))
    messages_of, looked = frames.registry.messages_of, []

    def slowly(module):
        looked.append((dict(records._keys), dict(records._values)))
        return messages_of(module)

    monkeypatch.setattr(frames.registry, "messages_of", slowly)
    records._load()
    assert looked == [({}, {}), ({}, {})]
    assert records._keys and records._values
