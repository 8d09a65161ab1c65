"""A chunk of an internal topic's segment becomes records with their offsets, in a job."""

import pytest

from odradek.coordinator.transaction.coordinator import TransactionsDecoder
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.frames import TRANSACTIONS
from odradek.protocol.messages.transaction_state import TransactionLogKey, TransactionLogValue
from odradek.records import control
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.replicated.log_record import EndMarker
from odradek.replicated.record_decoder import RecordDecoder, decode_job


class File:
    def __init__(self, *batches):
        self.data = b"".join(batches)

    def pread(self, size, position):
        return self.data[position : position + size]


def key(name):
    return TRANSACTIONS.encode_key(TransactionLogKey(transactional_id=name))


def value(producer_id):
    return TRANSACTIONS.encode_value(TransactionLogValue(producer_id=producer_id), 0)


def batch(offset, *pairs, fields=None):
    records = [Record(offset + at, key(name), value(number), 1) for at, (name, number) in enumerate(pairs)]
    return record_batch(records, fields, base_offset=offset)


def decoded(decoder, file, from_offset=0):
    job = decode_job(file, 0, len(file.data), decoder, from_offset)
    try:
        while True:
            next(job)
    except StopIteration as end:
        return end.value


def told(placed):
    """The transactional id, what it says, and where."""
    return [(record.key.transactional_id, record.value.producer_id, offset) for record, offset in placed]


def test_all_records_come_in_order():
    file = File(batch(0, ("a", 1), ("b", 2)), batch(2, ("a", 3)))
    placed, next_offset = decoded(RecordDecoder(TRANSACTIONS), file)
    assert told(placed) == [("a", 1, 0), ("b", 2, 1), ("a", 3, 2)]
    assert next_offset == 3


def test_where_only_the_last_counts_the_others_are_left_out():
    file = File(batch(0, ("a", 1), ("b", 2)), batch(2, ("a", 3)), batch(3, ("c", 4), ("b", 5)))
    placed, next_offset = decoded(TransactionsDecoder(TRANSACTIONS), file)
    assert told(placed) == [("a", 3, 2), ("c", 4, 3), ("b", 5, 4)]
    assert next_offset == 5


def test_a_tombstone_is_the_last_word_too():
    tombstone = record_batch([Record(1, key("a"), None, 1)], base_offset=1)
    placed, _ = decoded(TransactionsDecoder(TRANSACTIONS), File(batch(0, ("a", 1)), tombstone))
    assert [(record.key.transactional_id, record.value, offset) for record, offset in placed] == [("a", None, 1)]


def test_reading_goes_on_within_a_batch():
    placed, _ = decoded(RecordDecoder(TRANSACTIONS), File(batch(0, ("a", 1), ("b", 2))), from_offset=1)
    assert told(placed) == [("b", 2, 1)]


def test_records_of_a_transaction_name_their_producer_and_markers_stand_between():
    fields = BatchFields(producer_id=7, producer_epoch=2, base_sequence=-1, is_transactional=True)
    marker = bytearray(control.end_transaction_marker(True, 4, 1, producer_id=7, producer_epoch=2))
    marker[:8] = (1).to_bytes(8, "big")
    file = File(batch(0, ("a", 1), fields=fields), bytes(marker), batch(2, ("b", 2)))
    placed, next_offset = decoded(RecordDecoder(TRANSACTIONS), file)
    (first, _), (second, at), (third, _) = placed
    assert (first.producer_id, first.producer_epoch) == (7, 2)
    assert (second, at) == (EndMarker(7, 2, True, 4), 1)
    assert third.producer_id == -1
    assert next_offset == 3


def test_a_type_that_nobody_knows_is_passed_over():
    unknown = record_batch([Record(0, b"\0\x63abc", b"\0\0", 1)], base_offset=0)
    placed, next_offset = decoded(RecordDecoder(TRANSACTIONS), File(unknown, batch(1, ("a", 1))))
    assert told(placed) == [("a", 1, 1)]
    assert next_offset == 2


def test_a_value_of_a_version_that_nobody_knows_is_an_error():
    newer = record_batch([Record(0, key("a"), b"\0\x63", 1)], base_offset=0)
    with pytest.raises(PeerProtocolError):
        decoded(RecordDecoder(TRANSACTIONS), File(newer))
