"""How much of the brokers' bandwidth moves may take: configs of brokers, and of the topics that move."""

from collections.abc import Iterable, Mapping, Sequence

from odradek.cli.kafka.java_order import in_java_order
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.configs import DELETE, SET, ConfigChange, ConfigResource
from odradek.protocol.topic_partition import TopicPartition

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"


def limit_brokers(admin: AdminClient, brokers: Iterable[int], names: Sequence[str], rate: int) -> None:
    changes = [ConfigChange(name, rate, SET) for name in names]
    _alter(admin, {ConfigResource.broker(broker): changes for broker in brokers})


def limit_topics(
    admin: AdminClient,
    current: Mapping[TopicPartition, Sequence[int]],
    wanted: Mapping[TopicPartition, Sequence[int]],
) -> None:
    """Who has a partition sends it, who shall have it as well receives it."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for place in sorted(wanted):
        there = current.get(place, ())
        leaders.setdefault(place.topic, []).extend(f"{place.partition}:{broker}" for broker in there)
        new = [broker for broker in wanted[place] if broker not in there]
        followers.setdefault(place.topic, []).extend(f"{place.partition}:{broker}" for broker in new)
    _alter(
        admin,
        {
            ConfigResource.topic(topic): [
                ConfigChange(LEADERS, ",".join(leaders[topic]), SET),
                ConfigChange(FOLLOWERS, ",".join(followers[topic]), SET),
            ]
            for topic in leaders
        },
    )


def clear(admin: AdminClient, wanted: Mapping[TopicPartition, Sequence[int]]) -> None:
    """All throttles of the brokers of the cluster and of a plan, and of its topics."""
    brokers = {node.id for node in admin.describe_cluster().nodes}
    brokers |= {broker for replicas in wanted.values() for broker in replicas}
    named = in_java_order(sorted(brokers))
    print(f"Clearing broker-level throttles on broker{_s(named)} {','.join(map(str, named))}")
    _delete(admin, [ConfigResource.broker(broker) for broker in named], (LEADER_RATE, FOLLOWER_RATE, DIR_RATE))
    topics = in_java_order(place.topic for place in wanted)
    print(f"Clearing topic-level throttles on topic{_s(topics)} {','.join(topics)}")
    _delete(admin, [ConfigResource.topic(topic) for topic in topics], (LEADERS, FOLLOWERS))


def _s(things: Sequence[object]) -> str:
    return "" if len(things) == 1 else "s"


def _delete(admin: AdminClient, resources: Iterable[ConfigResource], names: Sequence[str]) -> None:
    _alter(admin, {resource: [ConfigChange(name, None, DELETE) for name in names] for resource in resources})


def _alter(admin: AdminClient, changes: Mapping[ConfigResource, Sequence[ConfigChange]]) -> None:
    admin.incremental_alter_configs(changes).raise_any()
