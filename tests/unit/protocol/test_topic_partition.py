from odradek.protocol.topic_partition import TopicPartition


def test_a_partition_is_written_as_kafka_writes_it():
    assert str(TopicPartition("orders", 0)) == "orders-0"


def test_the_plain_pair_finds_what_was_kept_under_the_name():
    assert {TopicPartition("orders", 0): 7}["orders", 0] == 7
