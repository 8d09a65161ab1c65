"""Plans of `kafka-reassign-partitions.sh`: read, written, and made for brokers that shall share topics evenly."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from odradek.cli.failure import Refusal
from odradek.cli.kafka.json_file import parsed, read_file, required
from odradek.cli.kafka.options import Given
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.log_dirs import TopicPartitionReplica
from odradek.protocol.topic_partition import TopicPartition

ANY_DIR = "any"

Replicas = dict[TopicPartition, tuple[int, ...]]
Dirs = dict[TopicPartitionReplica, str]


class Plan(NamedTuple):
    """The replicas of each partition, and the dirs of those that shall lie in a certain one."""

    replicas: Replicas
    dirs: Dirs


def read_plan(path: str) -> Plan:
    found = parsed(read_file(path))
    version = found.get("version", 1) if isinstance(found, dict) else 1
    if version != 1:
        raise Refusal(f"Not supported version field value {version}")
    listed = [_partition(each) for each in required(found, "partitions")]
    if not listed:
        raise Refusal("Partition reassignment list cannot be empty")
    places = [place for place, _, _ in listed]
    twice = [str(place) for place in dict.fromkeys(places) if places.count(place) > 1]
    if twice:
        raise Refusal(f"Partition reassignment contains duplicate topic partitions: {','.join(twice)}")
    return Plan(
        {place: replicas for place, replicas, _ in listed},
        {
            TopicPartitionReplica(*place, broker): path
            for place, replicas, dirs in listed
            for broker, path in zip(replicas, dirs, strict=True)
            if path != ANY_DIR
        },
    )


def _partition(found: Any) -> tuple[TopicPartition, tuple[int, ...], list[str]]:
    """Any: of whichever of JSON's types, until `required` has looked."""
    place = TopicPartition(str(required(found, "topic")), int(required(found, "partition")))
    replicas = tuple(map(int, required(found, "replicas")))
    if not replicas:
        raise Refusal(f"Partition replica list cannot be empty for {place}")
    again = [broker for broker in dict.fromkeys(replicas) if replicas.count(broker) > 1]
    if again:
        raise Refusal(
            f"Partition replica lists may not contain duplicate entries: {place} contains multiple entries for "
            f"{','.join(map(str, again))}"
        )
    dirs = list(map(str, found.get("log_dirs", [ANY_DIR] * len(replicas))))
    if len(dirs) != len(replicas):
        raise Refusal(
            f"Size of replicas list {list(replicas)} is different from size of log dirs list {dirs} for partition "
            f"{place}"
        )
    return place, replicas, dirs


def as_json(replicas: Mapping[TopicPartition, Sequence[int]], dirs: Mapping[TopicPartitionReplica, str]) -> str:
    partitions = [
        {
            "topic": place.topic,
            "partition": place.partition,
            "replicas": list(replicas[place]),
            "log_dirs": [dirs.get(TopicPartitionReplica(*place, broker), ANY_DIR) for broker in replicas[place]],
        }
        for place in sorted(replicas)
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def current_dirs(admin: AdminClient, replicas: Mapping[TopicPartition, Sequence[int]]) -> Dirs:
    """Where replicas lie now; brokers that do not answer are left out."""
    wanted = [TopicPartitionReplica(*place, broker) for place, brokers in replicas.items() for broker in brokers]
    found = admin.describe_replica_log_dirs(wanted).values_ok
    return {each: info.current_log_dir for each, info in found.items() if info.current_log_dir is not None}


def current_replicas(admin: AdminClient, topics: Iterable[str]) -> Replicas:
    names = list(dict.fromkeys(topics))
    described = admin.describe_topics(names)
    for name in described.errors:
        raise Refusal(f"org.apache.kafka.common.errors.UnknownTopicOrPartitionException: Topic {name} not found.")
    return {
        TopicPartition(name, each.partition): each.replicas for name in names for each in described[name].partitions
    }


def generate(given: Given, admin: AdminClient) -> None:
    brokers = _brokers(given.text("broker-list"))
    found = parsed(read_file(given.text("topics-to-move-json-file")))
    topics = [str(required(each, "topic")) for each in required(found, "topics")]
    current = current_replicas(admin, topics)
    racks = {node.id: node.rack for node in admin.describe_cluster().nodes if node.id in brokers}
    if not racks:
        raise Refusal("All brokers are currently fenced, or have all their log directories cordoned.")
    order = _alternating(brokers, racks, is_rack_aware=not given.has("disable-rack-aware"))
    proposed = spread(current, [broker for broker in order if broker in racks])
    print(f"Current partition replica assignment\n{as_json(current, current_dirs(admin, current))}\n")
    print(f"Proposed partition reassignment configuration\n{as_json(proposed, {})}")


def _brokers(text: str) -> list[int]:
    found = []
    for word in text.split(","):
        try:
            found.append(int(word))
        except ValueError:
            raise Refusal(f'For input string: "{word}"') from None
    twice = [broker for broker in dict.fromkeys(found) if found.count(broker) > 1]
    if twice:
        raise Refusal(f"Broker list contains duplicate entries: {twice}")
    return found


def _alternating(brokers: Sequence[int], racks: Mapping[int, str | None], *, is_rack_aware: bool) -> list[int]:
    """Brokers of different racks beside each other, so that a partition's replicas are in different ones."""
    if not is_rack_aware or not all(racks.get(broker) for broker in brokers):
        return sorted(brokers)
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(brokers):
        by_rack.setdefault(str(racks[broker]), []).append(broker)
    rows = [by_rack[rack] for rack in sorted(by_rack)]
    return [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)]


def spread(current: Mapping[TopicPartition, Sequence[int]], brokers: Sequence[int]) -> Replicas:
    """As many replicas as before; the first ones in turns, the others at a distance that grows with every round."""
    proposed: Replicas = {}
    for at, place in enumerate(sorted(current)):
        count = len(current[place])
        if count > len(brokers):
            raise Refusal(
                f"The target replication factor of {count} cannot be reached because only {len(brokers)} broker(s) are "
                "registered."
            )
        first, distance = at % len(brokers), at // len(brokers)
        others = [(first + 1 + (distance + step) % (len(brokers) - 1)) % len(brokers) for step in range(count - 1)]
        proposed[place] = tuple(brokers[each] for each in (first, *others))
    return proposed
