"""How what is said of records stands in a request."""

import pickle

from odradek.client.consumer.records import ConsumerRecord
from odradek.client.share_consumer.acknowledgement import ACCEPT, GAP, REJECT, RELEASE, Source, by_source, ranges
from odradek.client.share_consumer.share_record import ShareRecord
from odradek.protocol.topic_partition import TopicPartition

SOURCE = Source(1, b"t" * 16, TopicPartition("t", 0))
OTHER = Source(2, b"t" * 16, TopicPartition("t", 1))


def test_offsets_that_follow_each_other_are_one_range():
    assert ranges({3: ACCEPT, 1: ACCEPT, 2: ACCEPT}) == [(1, 3, [ACCEPT])]


def test_a_range_has_one_type_or_one_for_each():
    assert ranges({1: ACCEPT, 2: RELEASE, 3: GAP}) == [(1, 3, [ACCEPT, RELEASE, GAP])]


def test_what_does_not_follow_is_another_range():
    assert ranges({1: ACCEPT, 3: REJECT, 4: REJECT}) == [(1, 1, [ACCEPT]), (3, 4, [REJECT])]
    assert ranges({}) == []


def test_what_is_said_is_gathered_by_partition_and_broker():
    first, second = by_source([(SOURCE, 1, ACCEPT), (OTHER, 1, RELEASE), (SOURCE, 2, GAP)])
    assert (first.source, first.types) == (SOURCE, {1: ACCEPT, 2: GAP})
    assert (second.source, second.types) == (OTHER, {1: RELEASE})
    assert first.offsets == {1}, "the program knows nothing of gaps"


def test_a_record_with_its_count_is_a_record_and_survives_a_pickle():
    record = ShareRecord.of(ConsumerRecord("t", 1, 5, key=b"k", headers=[("a", b"1")]), "key", 7, 3)
    again = pickle.loads(pickle.dumps(record))
    for each in (record, again):
        assert isinstance(each, ConsumerRecord)
        assert (each.topic, each.partition, each.offset, each.key, each.value) == ("t", 1, 5, "key", 7)
        assert (each.headers, each.delivery_count) == ((("a", b"1"),), 3)
