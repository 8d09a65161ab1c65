"""What `kafka-topics.sh` changes: topics created, given more partitions, deleted."""

from odradek.cli.failure import Refusal
from odradek.cli.kafka.options import Given
from odradek.cli.kafka.topic_reports import existing_topics
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.topics import NewTopic
from odradek.protocol.errors import TopicAlreadyExists

REPLICAS_MAX = 32767


def create(given: Given, admin: AdminClient) -> None:
    topic = _new_topic(given)
    if "." in topic.name or "_" in topic.name:
        print(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
            "collide. To avoid issues it is best to use either, but not both."
        )
    made = admin.create_topics([topic])
    if topic.name in made.errors and _is_there_already(given, made.errors[topic.name]):
        return
    made.raise_any()
    print(f"Created topic {topic.name}.")


def _is_there_already(given: Given, error: Exception) -> bool:
    return given.has("if-not-exists") and isinstance(error, TopicAlreadyExists)


def _new_topic(given: Given) -> NewTopic:
    name, configs = given.text("topic"), _configs(given)
    if given.has("replica-assignment"):
        return NewTopic(name, configs=configs, assignments=replica_assignment(given.text("replica-assignment")))
    partitions, replicas = given.integer("partitions"), given.integer("replication-factor")
    if partitions is not None and partitions < 1:
        raise Refusal("The partitions must be greater than 0")
    if replicas is not None and not 1 <= replicas <= REPLICAS_MAX:
        raise Refusal(f"The replication factor must be between 1 and {REPLICAS_MAX} inclusive")
    return NewTopic(name, -1 if partitions is None else partitions, -1 if replicas is None else replicas, configs)


def _configs(given: Given) -> dict[str, object]:
    configs: dict[str, object] = {}
    for text in given.values("config"):
        name, equals, setting = text.partition("=")
        if not equals:
            raise Refusal(
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        configs[name.strip()] = setting.strip()
    return configs


def replica_assignment(text: str) -> dict[int, list[int]]:
    """`1:2,2:3`: the brokers of partition 0, then those of partition 1."""
    assigned: dict[int, list[int]] = {}
    for number, brokers in enumerate(text.split(",")):
        try:
            replicas = [int(broker) for broker in brokers.split(":")]
        except ValueError:
            raise Refusal(f'For input string: "{brokers}"') from None
        again = [broker for broker in replicas if replicas.count(broker) > 1]
        if again:
            named = ", ".join(map(str, dict.fromkeys(again)))
            raise Refusal(f"Partition replica lists may not contain duplicate entries: {named}")
        if number and len(replicas) != len(assigned[0]):
            raise Refusal(f"Partition {number} has different replication factor: {replicas}")
        assigned[number] = replicas
    return assigned


def alter(given: Given, admin: AdminClient) -> None:
    names = existing_topics(given, admin)
    if not names:
        return
    wanted = given.integer("partitions") or 0
    described = admin.describe_topics(names)
    placed = None
    if given.has("replica-assignment"):
        brokers = list(replica_assignment(given.text("replica-assignment")).values())
        placed = {name: brokers[len(described[name].partitions) :] for name in names}
    admin.create_partitions(dict.fromkeys(names, wanted), assignments=placed).raise_any()


def delete(given: Given, admin: AdminClient) -> None:
    admin.delete_topics(existing_topics(given, admin)).raise_any()
