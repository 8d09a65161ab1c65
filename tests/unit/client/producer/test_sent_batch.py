"""The bytes that a request has of a batch: with the stamp of that day, whatever becomes of the batch afterwards."""

from sender_stories import Sending

from odradek.client.producer.batch import ProducerIdAndEpoch
from odradek.records.batch import sole_batch
from odradek.records.layout import TRANSACTIONAL_MASK


def sent(*values):
    sending = Sending()
    sending.put(*values)
    return sending.queue().take()


def read(parts):
    return sole_batch(b"".join(bytes(part) for part in parts))


def test_a_request_has_the_stamp_and_a_checksum_over_it():
    batch = sent(b"a", b"b")
    batch.number(ProducerIdAndEpoch(7, 3), 40)
    found = read(batch.encoded(TRANSACTIONAL_MASK))
    found.ensure_valid()
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 3, 40)
    assert found.is_transactional
    assert [record.value for record in found.records()] == [b"a", b"b"]
    assert not read(batch.encoded(0)).is_transactional


def test_what_lies_in_a_connection_does_not_change_with_the_number():
    batch = sent(b"a")
    batch.number(ProducerIdAndEpoch(7, 0), 5)
    first = batch.encoded(0)
    batch.number(ProducerIdAndEpoch(7, 1), 0)
    second = batch.encoded(0)
    assert (read(first).producer_epoch, read(first).base_sequence) == (0, 5)
    assert (read(second).producer_epoch, read(second).base_sequence) == (1, 0)
    batch.complete(0, -1, None)
    read(first).ensure_valid()


def test_the_numbers_go_on_behind_the_last_record_and_begin_again_behind_the_largest():
    batch = sent(b"a", b"b", b"c")
    assert not batch.has_sequence
    batch.number(ProducerIdAndEpoch(7, 0), 2**31 - 2)
    assert (batch.has_sequence, batch.last_sequence, batch.next_sequence) == (True, 0, 1)
