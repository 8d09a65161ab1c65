"""What scripts share: the order of Java's maps, its names for errors, times, columns, plans."""

import pytest

from odradek import TopicPartition, errors
from odradek.cli.failure import Refusal
from odradek.cli.kafka.columns import line, widest
from odradek.cli.kafka.java_errors import as_java
from odradek.cli.kafka.java_order import in_java_order, string_hash
from odradek.cli.kafka.reassignment_plans import spread
from odradek.cli.kafka.scripts import SCRIPTS, by_class
from odradek.cli.kafka.times import duration_ms, time_ms
from odradek.cli.kafka.topic_filter import TopicFilter
from odradek.cli.run_class import find


def test_a_string_has_the_hash_that_java_gives_it():
    assert string_hash("a") == 97
    assert string_hash("ab") == 97 * 31 + 98


def test_keys_come_in_the_order_of_a_hash_map():
    assert in_java_order(["alone", "old", "live"]) == ["alone", "old", "live"]
    assert in_java_order(["classic", "modern", "shared", "simple"]) == ["shared", "classic", "modern", "simple"]
    places = [TopicPartition("letters", 0), TopicPartition("orders", 0), TopicPartition("orders", 1)]
    assert in_java_order(places) == [*places[1:], places[0]]


def test_an_error_is_named_after_its_java_exception_with_the_words_of_the_broker_if_it_sent_any():
    assert as_java(errors.NonEmptyGroup()).startswith("org.apache.kafka.common.errors.GroupNotEmptyException: ")
    told = as_java(errors.UnknownTopicOrPartition("no such thing"))
    assert told == "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: no such thing"


def test_a_time_is_in_utc_unless_it_names_its_zone():
    assert time_ms("2023-11-14T22:13:20.000") == 1_700_000_000_000
    assert time_ms("2023-11-15T00:13:20.000+02:00") == 1_700_000_000_000
    assert time_ms("2023-11-14T22:13:20.000Z") == 1_700_000_000_000
    for text in ("yesterday", "2023-11-14T22:13", "2023-13-14T22:13:20.000"):
        with pytest.raises(Refusal):
            time_ms(text)


def test_a_duration_is_written_as_iso_has_it():
    assert duration_ms("P1DT2H3M4.5S") == ((26 * 60 + 3) * 60 + 4) * 1000 + 500
    assert duration_ms("-PT1S") == -1000
    for text in ("P", "PT", "1h", "P1X"):
        with pytest.raises(Refusal):
            duration_ms(text)


def test_columns_are_padded_but_for_the_last():
    assert line([3, 4], ["a", None, "b"]) == "a   -    b"
    assert widest(3, ["ab", "abcde"]) == 5


def test_a_filter_matches_whole_names_and_may_leave_out_internal_topics():
    wanted = TopicFilter("'o.*, letters'")
    assert [name for name in ("orders", "letters", "no") if wanted.allows(name)] == ["orders", "letters"]
    assert not TopicFilter(".*").allows("__consumer_offsets", excludes_internal=True)


def test_a_plan_spreads_leaders_evenly_and_replicas_over_different_brokers():
    current = {TopicPartition("orders", number): (1, 2) for number in range(6)}
    proposed = spread(current, [1, 2, 3])
    assert sorted(replicas[0] for replicas in proposed.values()) == [1, 1, 2, 2, 3, 3]
    assert all(len(set(replicas)) == 2 for replicas in proposed.values())


def test_every_script_has_a_module_and_is_found_by_the_names_of_its_classes():
    assert len(by_class()) >= len(SCRIPTS)
    for name in by_class():
        assert callable(find(name))
