"""A topology as the topics of the cluster let it run: how many tasks each subtopology has, and what is in the way."""

from typing import NamedTuple

from odradek.coordinator.group.streams.partition_counts import IncorrectlyPartitionedError, decide, task_count
from odradek.coordinator.group.streams.topology import Subtopology, Topology, required_topics
from odradek.coordinator.group.topics import GroupTopics
from odradek.protocol import errors
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig
from odradek.protocol.messages.streams_groups import TopicInfo

# The status of a group, as its members are told.
STALE_TOPOLOGY, MISSING_SOURCE_TOPICS, INCORRECTLY_PARTITIONED_TOPICS = 0, 1, 2
MISSING_INTERNAL_TOPICS, SHUTDOWN_APPLICATION, ASSIGNMENT_DELAYED = 3, 4, 5

TASKS_MAX = 100_000  # of a topology: they are assigned in one turn
_TOLD_TOPICS_MAX = 3  # by name; of the others how many they are

Status = tuple[int, str]  # code, detail


class ConfiguredSubtopology(NamedTuple):
    subtopology: Subtopology
    task_count: int

    @property
    def is_stateful(self) -> bool:
        return bool(self.subtopology.state_changelog_topics)


class ConfiguredTopology(NamedTuple):
    """`problem` is why it cannot run, None if it can; without source topics nothing is known of `subtopologies`."""

    epoch: int
    subtopologies: dict[str, ConfiguredSubtopology]  # by id, sorted
    partition_counts: dict[str, int]  # of internal topics
    missing: list[CreatableTopic]  # internal topics that the broker shall make
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


def configure(topology: Topology, topics: GroupTopics) -> ConfiguredTopology:
    """StreamsInvalidTopology if no state of the cluster could make it run."""
    missing = sorted(_missing_source_topics(topology, topics))
    if missing:
        return _cannot_run(topology, (MISSING_SOURCE_TOPICS, f"Source topics {_summary(missing)} are missing."))

    def existing(name: str) -> int | None:
        topic = topics.by_name(name)
        return None if topic is None else len(topic.partitions)

    try:
        counts = decide(topology, existing)
        creatable = _missing_internal_topics(topology, topics, counts)
    except IncorrectlyPartitionedError as error:
        return _cannot_run(topology, (INCORRECTLY_PARTITIONED_TOPICS, str(error)))
    subtopologies = {
        each.subtopology_id: ConfiguredSubtopology(each, task_count(each, lambda name: existing(name) or counts[name]))
        for each in sorted(topology.subtopologies, key=lambda each: each.subtopology_id)
    }
    _check_size(subtopologies)
    problem = None
    if creatable:
        names = _summary([topic.name for topic in creatable])
        problem = (MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {names}")
    return ConfiguredTopology(topology.epoch, subtopologies, counts, creatable, problem)


def _cannot_run(topology: Topology, problem: Status) -> ConfiguredTopology:
    return ConfiguredTopology(topology.epoch, {}, {}, [], problem)


def _check_size(subtopologies: dict[str, ConfiguredSubtopology]) -> None:
    tasks = sum(each.task_count for each in subtopologies.values())
    if tasks > TASKS_MAX:
        raise errors.StreamsInvalidTopology(f"The topology has {tasks} tasks; at most {TASKS_MAX} are served.")


def _missing_source_topics(topology: Topology, topics: GroupTopics) -> set[str]:
    return {
        name
        for subtopology in topology.subtopologies
        for name in subtopology.source_topics
        if topics.by_name(name) is None
    }


def _missing_internal_topics(topology: Topology, topics: GroupTopics, counts: dict[str, int]) -> list[CreatableTopic]:
    infos = {
        topic.name: topic
        for subtopology in topology.subtopologies
        for topic in (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics)
    }
    for name in sorted(required_topics(topology)):
        topic = topics.by_name(name)
        if topic is not None and infos.pop(name, None) is not None and len(topic.partitions) != counts[name]:
            raise IncorrectlyPartitionedError(
                f"Existing topic {name} has different number of partitions: "
                f"expected {counts[name]}, found {len(topic.partitions)}"
            )
    return [_creatable(infos[name], counts[name]) for name in sorted(infos)]


def _creatable(topic: TopicInfo, partitions: int) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=partitions,
        replication_factor=topic.replication_factor or -1,
        configs=[CreatableTopicConfig(name=each.key, value=each.value) for each in topic.topic_configs],
    )


def _summary(names: list[str]) -> str:
    told = ", ".join(names[:_TOLD_TOPICS_MAX])
    more = len(names) - _TOLD_TOPICS_MAX
    return f"{told} and {more} additional topics" if more > 0 else told
