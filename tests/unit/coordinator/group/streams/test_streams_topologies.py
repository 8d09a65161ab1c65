"""A topology against the topics of the cluster: how many tasks, which topics are missing, what does not fit."""

import pytest

from odradek.coordinator.group.streams import configured
from odradek.coordinator.group.streams.configured import (
    INCORRECTLY_PARTITIONED_TOPICS,
    MISSING_INTERNAL_TOPICS,
    MISSING_SOURCE_TOPICS,
    configure,
)
from odradek.coordinator.group.streams.topology import from_request
from odradek.protocol.errors import StreamsInvalidTopology
from streams_kit import StreamsStory, internal, subtopology, topology


def configured_with(subtopologies, **topics):
    return configure(from_request(topology(*subtopologies)), StreamsStory(topics).topics)


def task_counts(found):
    return {name: each.task_count for name, each in found.subtopologies.items()}


def test_the_topic_with_the_most_partitions_says_how_many_tasks():
    found = configured_with([subtopology("0", "a b")], a=2, b=5)
    assert found.is_ready
    assert task_counts(found) == {"0": 5}


def test_numbers_flow_along_a_chain_whatever_its_order():
    chain = [
        subtopology("2", repartition=[internal("s")], changelogs=[internal("c")]),
        subtopology("1", repartition=[internal("r")], sinks="s"),
        subtopology("0", "a", sinks="r"),
    ]
    found = configured_with(chain, a=3)
    assert found.problem == (MISSING_INTERNAL_TOPICS, "Internal topics are missing: c, r, s")
    assert {topic.name: topic.num_partitions for topic in found.missing} == {"r": 3, "s": 3, "c": 3}
    assert task_counts(found) == {"0": 3, "1": 3, "2": 3}


@pytest.mark.parametrize("partitions", [{"a": 2, "b": 5}, {"a": 5, "b": 2}])
def test_the_largest_writer_counts(partitions):
    writers = [subtopology("0", "a", sinks="r"), subtopology("1", "b", sinks="r")]
    found = configured_with([*writers, subtopology("2", repartition=[internal("r")])], **partitions)
    assert found.partition_counts == {"r": 5}


def test_a_number_of_its_own_wins():
    found = configured_with([subtopology("0", "a", sinks="r"), subtopology("1", repartition=[internal("r", 7)])], a=2)
    assert found.partition_counts == {"r": 7}


def test_a_loop_is_cut_where_something_is_known():
    found = configured_with([subtopology("0", "a", repartition=[internal("r")], sinks="r")], a=4)
    assert found.partition_counts == {"r": 4}


def test_a_writer_that_nothing_is_known_of_does_not_hold_up_the_others():
    found = configured_with(
        [
            subtopology("0", "a", sinks="r"),
            subtopology("1", repartition=[internal("r")], sinks="s"),
            subtopology("2", repartition=[internal("s")], sinks="r"),
        ],
        a=4,
    )
    assert found.partition_counts == {"r": 4, "s": 4}


def test_topics_that_are_there_are_not_missing():
    found = configured_with([subtopology("0", "a", changelogs=[internal("c")])], a=2, c=2)
    assert found.is_ready
    assert found.missing == []


def test_missing_source_topics_are_told_by_name_up_to_three():
    found = configured_with([subtopology("0", "e d c b a")], x=1)
    detail = "Source topics a, b, c and 2 additional topics are missing."
    assert found.problem == (MISSING_SOURCE_TOPICS, detail)
    assert found.missing == []


def test_topics_read_together_must_agree():
    found = configured_with([subtopology("0", "a b", together=[((0, 1), ())])], a=2, b=3)
    detail = "Following topics do not have the same number of partitions: [{a=2, b=3}]"
    assert found.problem == (INCORRECTLY_PARTITIONED_TOPICS, detail)


def test_a_repartition_topic_without_a_number_follows_those_it_is_read_with():
    found = configured_with(
        [subtopology("1", "b", repartition=[internal("r")], together=[((0,), (0,))]), subtopology("2", "a", sinks="r")],
        a=2,
        b=3,
    )
    assert found.partition_counts == {"r": 3}


def test_a_repartition_topic_with_another_number_does_not_fit():
    found = configured_with(
        [
            subtopology("1", "b", repartition=[internal("r", 5)], together=[((0,), (0,))]),
            subtopology("2", "a", sinks="r"),
        ],
        a=2,
        b=3,
    )
    detail = (
        "Number of partitions [5] of repartition topic [r] doesn't match number of partitions [3] of the source topic."
    )
    assert found.problem == (INCORRECTLY_PARTITIONED_TOPICS, detail)


def test_repartition_topics_follow_the_one_that_brings_a_number():
    both = [internal("r"), internal("s", 5)]
    found = configured_with(
        [subtopology("1", repartition=both, together=[((), (0, 1))]), subtopology("2", "a", sinks="r s")], a=2
    )
    assert found.partition_counts == {"r": 5, "s": 5}


def test_repartition_topics_that_bring_different_numbers():
    both = [internal("r", 4), internal("s", 5)]
    found = configured_with(
        [subtopology("1", repartition=both, together=[((), (0, 1))]), subtopology("2", "a", sinks="r s")], a=2
    )
    assert found.problem == (
        INCORRECTLY_PARTITIONED_TOPICS,
        "Following topics do not have the same number of partitions: [{r=4, s=5}]",
    )


def test_an_internal_topic_that_somebody_made_with_another_number():
    found = configured_with([subtopology("0", "a", changelogs=[internal("c")])], a=2, c=7)
    detail = "Existing topic c has different number of partitions: expected 2, found 7"
    assert found.problem == (INCORRECTLY_PARTITIONED_TOPICS, detail)


NEVER = [
    ([subtopology("0", repartition=[internal("r")])], "never used as a sink topic"),
    ([subtopology("0", repartition=[internal("r")], sinks="r")], "There may be loops"),
    ([subtopology("0")], "No source topics found for subtopology 0"),
]


@pytest.mark.parametrize(("subtopologies", "words"), NEVER)
def test_what_can_never_run(subtopologies, words):
    with pytest.raises(StreamsInvalidTopology, match=words):
        configured_with(subtopologies, a=1)


def test_more_tasks_than_are_assigned_in_one_turn(monkeypatch):
    monkeypatch.setattr(configured, "TASKS_MAX", 3)
    with pytest.raises(StreamsInvalidTopology, match="4 tasks"):
        configured_with([subtopology("0", "a"), subtopology("1", "a")], a=2)


def test_a_long_chain_backwards_takes_no_longer_than_one_forwards():
    """Each mention of a topic is looked at once; a chain whose order is the worst would else take the square."""
    links = [subtopology(f"{n}", repartition=[internal(f"r{n}")], sinks=f"r{n + 1}") for n in range(20_000)]
    found = configured_with([*reversed(links), subtopology("last", repartition=[internal("r20000")]),
                             subtopology("first", "a", sinks="r0")], a=1)  # fmt: skip
    assert len(found.missing) == 20_001
