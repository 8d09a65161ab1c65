"""Which batches a share fetch delivers: none of those that tell of transactions, and none that was aborted if asked."""

import pytest

from log_kit import NOW, append_as_leader, batch, marker
from odradek.log.append import COORDINATOR
from odradek.replica.share.reading import read_batches
from replica_kit import SimPlane

ABORTED, COMMITTED = 7, 8


@pytest.fixture
def plane():
    """Offsets: 0 plain; 1-2 aborted by 4; 3 committed by 7; 5 of who had aborted, committed by 6; 8 plain."""
    made = SimPlane()
    made.create_topic()
    log = made.log()
    append_as_leader(log, batch(b"a"), 0, NOW)
    append_as_leader(log, batch(b"b", b"c", producer=ABORTED, transactional=True), 0, NOW)
    append_as_leader(log, batch(b"d", producer=COMMITTED, transactional=True), 0, NOW)
    append_as_leader(log, marker(ABORTED, commit=False), 0, NOW, origin=COORDINATOR)
    append_as_leader(log, batch(b"e", producer=ABORTED, sequence=2, transactional=True), 0, NOW)
    append_as_leader(log, marker(ABORTED, commit=True), 0, NOW, origin=COORDINATOR)
    append_as_leader(log, marker(COMMITTED, commit=True), 0, NOW, origin=COORDINATOR)
    append_as_leader(log, batch(b"f"), 0, NOW)
    made.partition().leader.advance_high_watermark()
    return made


def read(plane, *, reads_committed):
    return read_batches(plane.logs, plane.log(), 0, 1 << 20, reads_committed=reads_committed, min_one_message=True)


def test_who_reads_committed_gets_nothing_of_what_was_aborted(plane):
    found = read(plane, reads_committed=True)
    assert found.told == ((0, 0), (3, 3), (5, 5), (8, 8))
    assert found.read_to == 8


def test_who_reads_uncommitted_gets_all_but_the_markers(plane):
    found = read(plane, reads_committed=False)
    assert found.told == ((0, 0), (1, 2), (3, 3), (5, 5), (8, 8))
    assert found.read_to == 8
