"""Java's String.hashCode, and what Kafka lets it decide."""

from odradek.protocol.java_hash import in_java_order, java_hash, partition_of


def test_keys_hash_as_in_java():
    assert java_hash("") == 0
    assert java_hash("hello") == 99162322
    assert java_hash("Aa") == java_hash("BB") == 2112
    assert java_hash("\U0001f600") == 1772899
    assert partition_of("polygenelubricants", 50) == 0, "its hash is the one number that has no absolute value"


def test_names_come_by_bucket_of_a_table_that_grows():
    assert in_java_order(["b", "a", "q"]) == ["a", "q", "b"], "a and q share the second of sixteen buckets"
    many = [chr(ord("a") + number) for number in range(13)]
    assert in_java_order(["q", *many]) == [*many, "q"], "with more than twelve there are 32 of them"
