"""CreateTopics, CreatePartitions and DeleteTopics as the core decides them."""

import pytest

from controllers import Harness
from odradek.protocol import releases
from odradek.protocol.errors import PolicyViolation, TopicDeletionDisabled
from odradek.protocol.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.k37_create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)


@pytest.fixture
def harness() -> Harness:
    made = Harness()
    made.brokers(1)
    return made


def test_a_topic_is_there_with_its_partitions(harness: Harness) -> None:
    result = harness.create("t", partitions=3, retention_ms="1000")
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 3, 1)
    topic = harness.core.topics.by_name["t"]
    assert result.topic_id == topic.id
    assert [(p.replicas, p.isr, p.leader, p.leader_epoch) for p in topic.partitions.values()] == [
        ((1,), (1,), 1, 0)
    ] * 3
    assert harness.core.configs.of(2, "t") == {"retention.ms": "1000"}
    told = {config.name: (config.value, config.config_source) for config in result.configs}
    assert told["retention.ms"] == ("1000", 1)
    assert told["cleanup.policy"] == ("delete", 5)
    harness.core.validate()


def test_its_replicas_lie_in_the_only_directory(harness: Harness) -> None:
    harness.create("t")
    assert harness.partition("t").directories == (bytes([101]) * 16,)


def test_validate_only_changes_nothing(harness: Harness) -> None:
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)], validate_only=True
    )
    end = harness.quorum.log_end_offset
    response = harness.run(lambda core: core.create_topics(request))
    assert response.topics[0].error_code == 0
    assert response.topics[0].topic_id != bytes(16)
    assert harness.quorum.log_end_offset == end
    assert "t" not in harness.core.topics.by_name


def test_minus_one_takes_the_configured_defaults() -> None:
    harness = Harness(**{"num.partitions": "4", "default.replication.factor": "2"})
    harness.brokers(1, 2)
    result = harness.create("t", partitions=-1, replicas=-1)
    assert (result.num_partitions, result.replication_factor) == (4, 2)


def test_a_request_is_one_batch(harness: Harness) -> None:
    topics = [CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in ("a", "b")]
    before = len(harness.quorum.batches)
    harness.run(lambda core: core.create_topics(CreateTopicsRequest(topics=topics)))
    assert len(harness.quorum.batches) == before + 1


def test_hostile_numbers_are_refused_before_any_work(harness: Harness) -> None:
    for count in (10_001, 2**31 - 1):
        topic = CreatableTopic(name="t", num_partitions=count, replication_factor=1)
        with pytest.raises(PolicyViolation, match="Excessively large number of partitions"):
            harness.run(lambda core, topic=topic: core.create_topics(CreateTopicsRequest(topics=[topic])))
    just_too_many = CreatableTopic(name="t", num_partitions=10_000, replication_factor=1)
    with pytest.raises(PolicyViolation, match="excessively large batch"):
        harness.run(lambda core: core.create_topics(CreateTopicsRequest(topics=[just_too_many])))
    more = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=2**31 - 1, assignments=None)])
    harness.create("t")
    assert harness.run(lambda core: core.create_partitions(more)).results[0].error_code == PolicyViolation.code
    assert len(harness.core.topics.by_name) == 1


@pytest.mark.parametrize(
    ("assignments", "code", "words"),
    [
        ([(0, [7])], 39, "broker 7, but no such broker"),
        ([(0, [1]), (0, [1])], 39, "multiple manual partition assignments for partition 0"),
        ([(0, [1, 2]), (1, [1])], 39, "not consistent with previous partitions, which have 2"),
        ([(0, [3])], 39, "are fenced or in controlled shutdown"),
        ([(1, [1])], 39, "consecutive 0-based"),
    ],
)
def test_assignments_by_hand(assignments: list[tuple[int, list[int]]], code: int, words: str) -> None:
    harness = Harness()
    harness.brokers(1, 2)
    harness.register(3)  # and stays fenced
    topic = CreatableTopic(
        name="t",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=i, broker_ids=ids) for i, ids in assignments],
    )
    result = harness.run(lambda core: core.create_topics(CreateTopicsRequest(topics=[topic]))).topics[0]
    assert result.error_code == code
    assert words in result.error_message


def test_fenced_replicas_of_a_hand_made_assignment_are_not_in_sync() -> None:
    harness = Harness()
    harness.brokers(1, 2)
    harness.register(3)
    topic = CreatableTopic(
        name="t",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[3, 2, 1])],
    )
    harness.run(lambda core: core.create_topics(CreateTopicsRequest(topics=[topic])))
    partition = harness.partition("t")
    assert (partition.replicas, partition.isr, partition.leader) == ((3, 2, 1), (2, 1), 2)
    harness.core.validate()


def test_more_partitions(harness: Harness) -> None:
    harness.create("t", partitions=2)
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=4, assignments=None), CreatePartitionsTopic(name="no", count=2)]
    )
    response = harness.run(lambda core: core.create_partitions(request))
    assert [(result.name, result.error_code) for result in response.results] == [("t", 0), ("no", 3)]
    assert sorted(harness.core.topics.by_name["t"].partitions) == [0, 1, 2, 3]
    for count, words in ((4, "Topic already has 4 partition(s)."), (3, "3 would not be an increase.")):
        same = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=count, assignments=None)])
        (result,) = harness.run(lambda core, wanted=same: core.create_partitions(wanted)).results
        assert result.error_code == 37 and result.error_message.endswith(words)
    by_hand = [CreatePartitionsAssignment(broker_ids=[1])]
    again = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=5, assignments=by_hand)])
    assert harness.run(lambda core: core.create_partitions(again)).results[0].error_code == 0
    harness.core.validate()


def test_deletion_by_name_and_by_id(harness: Harness) -> None:
    ids = {name: harness.create(name, retention_ms="5").topic_id for name in ("a", "b", "c.d")}
    request = DeleteTopicsRequest(
        topics=[
            DeleteTopicState(name="a"),
            DeleteTopicState(topic_id=ids["b"]),
            DeleteTopicState(name="c.d", topic_id=ids["c.d"]),
            DeleteTopicState(topic_id=b"9" * 16),
            DeleteTopicState(name="nope"),
            DeleteTopicState(),
        ]
    )
    response = harness.run(lambda core: core.delete_topics(request, 6))
    assert [(item.name, item.error_code) for item in response.responses] == [
        ("a", 0),
        ("b", 0),
        ("c.d", 42),
        (None, 100),
        ("nope", 3),
        (None, 42),
    ]
    assert list(harness.core.topics.by_name) == ["c.d"]
    assert harness.core.configs.of(2, "a") == {}, "a topic of the same name must not inherit them"
    harness.core.validate()
    assert harness.create("c_d").error_code == 17
    harness.run(lambda core: core.delete_topics(DeleteTopicsRequest(topic_names=["c.d"]), 5))
    assert harness.create("c_d").error_code == 0, "nobody is there to collide with any more"


def test_deletion_can_be_switched_off() -> None:
    harness = Harness(**{"delete.topic.enable": "false"})
    harness.brokers(1)
    harness.create("t")
    with pytest.raises(TopicDeletionDisabled):
        harness.run(lambda core: core.delete_topics(DeleteTopicsRequest(topic_names=["t"]), 3))
    assert "t" in harness.core.topics.by_name


def test_a_3_3_writes_records_that_a_3_3_reads() -> None:
    harness = Harness(release=releases.RELEASE_3_3)
    harness.brokers(1)
    harness.create("t", retention_ms="5")
    kinds = [type(record).__name__ for record in harness.quorum.messages()]
    assert kinds[0] == "FeatureLevelRecord", "no metadata transaction below level 13"
    assert kinds[-3:] == ["ConfigRecord", "TopicRecord", "PartitionRecord"]
    assert harness.partition("t").directories == (bytes(16),)


def test_a_thousand_topics_of_ten_partitions_take_seconds(harness: Harness) -> None:
    """No work per request may grow with the number of topics that there are."""
    import time

    def batch(start: int) -> float:
        began = time.process_time()
        for number in range(start, start + 100):
            assert harness.create(f"topic.{number}", partitions=10).error_code == 0
        return time.process_time() - began

    first = batch(0)
    for start in range(100, 900, 100):
        batch(start)
    last = batch(900)
    assert last < 3 * first + 0.2, f"the first hundred took {first:.2f} s, the last {last:.2f} s"
    harness.core.validate()
