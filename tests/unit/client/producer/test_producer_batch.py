"""A batch gets its stamp when it goes out, and the bytes of an earlier request stay what they were."""

from log_kit import batch
from odradek.client.producer.batch import ProducerBatch, ProducerIdAndEpoch
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.batch import sole_batch

PARTITION = TopicPartition("t", 0)


def made(*values):
    return ProducerBatch(PARTITION, bytes(batch(*values)), len(values), 0)


def test_the_stamp_is_in_the_header_and_the_crc_is_right():
    one = made(b"a", b"b")
    one.number(ProducerIdAndEpoch(7, 3), 40)
    sent = sole_batch(one.stamped(is_transactional=True))
    sent.ensure_valid()
    assert (sent.producer_id, sent.producer_epoch, sent.base_sequence, sent.is_transactional) == (7, 3, 40, True)
    assert [record.value for record in sent.records()] == [b"a", b"b"]
    assert not sole_batch(one.stamped(is_transactional=False)).is_transactional


def test_a_new_number_does_not_change_what_is_on_its_way():
    one = made(b"a")
    one.number(ProducerIdAndEpoch(7, 0), 5)
    on_its_way = one.stamped(is_transactional=False)
    one.number(ProducerIdAndEpoch(7, 1), 0)
    assert sole_batch(on_its_way).base_sequence == 5
    assert sole_batch(one.stamped(is_transactional=False)).base_sequence == 0


def test_numbers_begin_again_behind_the_largest():
    one = made(b"a", b"b", b"c")
    one.number(ProducerIdAndEpoch(7, 0), 2**31 - 2)
    assert (one.last_sequence, one.next_sequence) == (0, 1)
