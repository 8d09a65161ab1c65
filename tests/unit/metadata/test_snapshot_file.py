"""Snapshots of the metadata: one that is not whole is refused with a word, whatever is wrong with it."""

import pytest

from odradek.metadata.snapshot_file import CorruptSnapshot, read_snapshot, snapshot_bytes
from odradek.records import control
from odradek.records.batch import batches
from odradek.records.metadata_log import control_batch, snapshot_footer
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch


def test_a_record_without_a_value_is_refused():
    header, footer = batches(snapshot_bytes([], last_contained_log_timestamp=0, now_ms=0))
    empty = record_batch([Record(1, None, None)])
    with pytest.raises(CorruptSnapshot, match="frame version is cut off"):
        read_snapshot(b"".join([header.buffer, empty, footer.buffer]))


def test_a_control_record_without_a_value_is_refused():
    key = control.control_key(control.SNAPSHOT_HEADER)
    with pytest.raises(CorruptSnapshot):
        read_snapshot(record_batch([Record(0, key, None)], BatchFields(is_control=True)))


def test_nothing_may_follow_the_footer():
    whole = snapshot_bytes([], 1)
    with pytest.raises(CorruptSnapshot, match="something follows its footer"):
        read_snapshot(whole + control_batch([snapshot_footer()], 2, 0, 1))
