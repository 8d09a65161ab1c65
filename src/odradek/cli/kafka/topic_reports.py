"""What `kafka-topics.sh` tells of topics: their names, and their partitions, a line each."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.cli.failure import Refusal
from odradek.cli.kafka.java_order import in_java_order
from odradek.cli.kafka.options import Given
from odradek.cli.kafka.topic_filter import TopicFilter
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.configs import ConfigEntry, ConfigResource
from odradek.client.admin.reassignments import PartitionReassignment
from odradek.client.admin.topics import PartitionDescription, TopicDescription
from odradek.protocol.errors import ClusterAuthorizationFailed, UnsupportedVersion
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import format_uuid, parse_uuid

MIN_ISR = "min.insync.replicas"

Reassignments = Mapping[TopicPartition, PartitionReassignment]


def found_topics(given: Given, admin: AdminClient) -> list[str]:
    """Those that --topic matches, all without it, sorted."""
    wanted = TopicFilter(given.text("topic")) if given.has("topic") else None
    is_short = given.has("exclude-internal")
    names = sorted(admin.list_topics(internal=not is_short))
    if wanted is None:
        return names
    return [name for name in names if wanted.allows(name, excludes_internal=is_short)]


def existing_topics(given: Given, admin: AdminClient) -> list[str]:
    """Refusal if a topic was asked for that is not there, unless --if-exists."""
    names = found_topics(given, admin)
    if given.has("topic") and not names and not given.has("if-exists"):
        raise Refusal(f"Topic '{given.text('topic')}' does not exist as expected")
    return names


def describe(given: Given, admin: AdminClient) -> None:
    names = _named_by_id(given, admin) if given.has("topic-id") else existing_topics(given, admin)
    if not names:
        return
    described = admin.describe_topics(names)
    described.raise_any()
    resources = {name: ConfigResource.topic(name) for name in names}
    configs = admin.describe_configs(resources.values())
    view = _View(given, frozenset(node.id for node in admin.describe_cluster().nodes), _reassignments(admin, described))
    for name in in_java_order(described, len(names)):
        _describe_topic(view, described[name], configs[resources[name]])


def _named_by_id(given: Given, admin: AdminClient) -> list[str]:
    text = given.text("topic-id")
    try:
        topic_id = format_uuid(parse_uuid(text))
    except ValueError as error:
        raise Refusal(_why_no_id(text) or str(error)) from None
    names = [topic.name for topic in admin.list_topics(internal=True).values() if topic.topic_id == topic_id]
    if not names and not given.has("if-exists"):
        raise Refusal(f"TopicId '{text}' does not exist as expected")
    return names


def _why_no_id(text: str) -> str | None:
    if len(text) > 24:
        return f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID"
    size = len(text) * 6 // 8
    return f"Input string `{text}` decoded as {size} bytes, which is not equal to the expected 16 bytes of a " + (
        "base64-encoded UUID"
    )


class _View(NamedTuple):
    """What is to be shown, and what is known besides the topics."""

    given: Given
    live_brokers: frozenset[int]
    reassignments: Reassignments


def _reassignments(admin: AdminClient, described: Mapping[str, TopicDescription]) -> Reassignments:
    places = [TopicPartition(name, each.partition) for name, topic in described.items() for each in topic.partitions]
    try:
        return admin.list_partition_reassignments(places)
    except (UnsupportedVersion, ClusterAuthorizationFailed):  # whoever may not know of moves is told the rest
        return {}


def _describe_topic(view: _View, topic: TopicDescription, configs: Mapping[str, ConfigEntry]) -> None:
    given = view.given
    is_filtered = any(map(given.has, ("under-replicated-partitions", "unavailable-partitions")))
    is_filtered |= any(map(given.has, ("under-min-isr-partitions", "at-min-isr-partitions")))
    own = [f"{name}={configs[name].value}" for name in in_java_order(configs) if not configs[name].is_default]
    if not is_filtered and (own or not given.has("topics-with-overrides")):
        print(_heading(view, topic, own))
    if given.has("topics-with-overrides"):
        return
    needed = int(configs[MIN_ISR].value or 1) if MIN_ISR in configs else 1
    for partition in topic.partitions:
        move = view.reassignments.get(TopicPartition(topic.name, partition.partition))
        if not is_filtered or _is_wanted(view, partition, move, needed):
            print(_line(topic.name, partition, move))


def _heading(view: _View, topic: TopicDescription, own: Sequence[str]) -> str:
    first = topic.partitions[0]
    replicas = _count(first, view.reassignments.get(TopicPartition(topic.name, first.partition)))
    return (
        f"Topic: {topic.name}\tTopicId: {topic.topic_id}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {replicas}\tConfigs: {','.join(own)}"
    )


def _count(partition: PartitionDescription, move: PartitionReassignment | None) -> int:
    """How many replicas there shall be: those that are only coming do not count."""
    return len(partition.replicas) - (len(move.adding_replicas) if move else 0)


def _is_wanted(view: _View, partition: PartitionDescription, move: PartitionReassignment | None, needed: int) -> bool:
    given, in_sync = view.given, len(partition.isr)
    return (
        (given.has("under-replicated-partitions") and _count(partition, move) > in_sync)
        or (given.has("unavailable-partitions") and _leader(partition) not in view.live_brokers)
        or (given.has("under-min-isr-partitions") and in_sync < needed)
        or (given.has("at-min-isr-partitions") and in_sync == needed)
    )


def _leader(partition: PartitionDescription) -> int | None:
    return None if partition.leader is None else partition.leader.id


def _line(topic: str, partition: PartitionDescription, move: PartitionReassignment | None) -> str:
    leader = _leader(partition)
    line = (
        f"\tTopic: {topic}\tPartition: {partition.partition}\tLeader: {'none' if leader is None else leader}"
        f"\tReplicas: {_numbers(partition.replicas)}\tIsr: {_numbers(partition.isr)}"
    )
    if move is not None:
        line += f"\tAdding Replicas: {_numbers(move.adding_replicas)}"
        line += f"\tRemoving Replicas: {_numbers(move.removing_replicas)}"
    line += f"\tElr: {_numbers(partition.eligible_leader_replicas)}"
    return line + f"\tLastKnownElr: {_numbers(partition.last_known_elr)}"


def _numbers(brokers: Sequence[int] | None) -> str:
    return "N/A" if brokers is None else ",".join(map(str, brokers))
