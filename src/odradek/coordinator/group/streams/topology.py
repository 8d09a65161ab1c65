"""What a topology asks of the topics.

A subtopology reads source topics, which the user has made, and repartition topics, which other subtopologies write and
which are internal to the application; it keeps its state in changelog topics, internal too. It is here as its record
has it: `StreamsGroupTopologyValue`.
"""

from collections.abc import Iterable, Iterator

from odradek.protocol.messages import k88_streams_group_heartbeat as k88
from odradek.protocol.messages import streams_groups as records

Topology = records.StreamsGroupTopologyValue
Subtopology = records.Subtopology


def from_request(told: k88.Topology) -> Topology:
    return Topology(epoch=told.epoch, subtopologies=[_subtopology(each) for each in told.subtopologies])


def _subtopology(told: k88.Subtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=told.subtopology_id,
        source_topics=list(told.source_topics),
        source_topic_regex=list(told.source_topic_regex),
        state_changelog_topics=_infos(told.state_changelog_topics),
        repartition_sink_topics=list(told.repartition_sink_topics),
        repartition_source_topics=_infos(told.repartition_source_topics),
        copartition_groups=[
            records.CopartitionGroup(
                source_topics=list(group.source_topics),
                source_topic_regex=list(group.source_topic_regex),
                repartition_source_topics=list(group.repartition_source_topics),
            )
            for group in told.copartition_groups
        ],
    )


def _infos(told: Iterable[k88.TopicInfo]) -> list[records.TopicInfo]:
    return [
        records.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[records.TopicConfig(key=each.key, value=each.value) for each in topic.topic_configs],
        )
        for topic in told
    ]


def read_by(subtopology: Subtopology) -> Iterator[str]:
    """The topics whose partitions are its tasks."""
    yield from subtopology.source_topics
    for topic in subtopology.repartition_source_topics:
        yield topic.name


def subtopology_ids_by_topic(topology: Topology) -> dict[str, str]:
    """Which subtopology reads a topic."""
    return {name: each.subtopology_id for each in topology.subtopologies for name in read_by(each)}


def required_topics(topology: Topology) -> set[str]:
    """Everything that must be there before a task can run."""
    names: set[str] = set()
    for subtopology in topology.subtopologies:
        names.update(read_by(subtopology))
        names.update(topic.name for topic in subtopology.state_changelog_topics)
    return names
