"""What `kafka-consumer-groups.sh` deletes: groups, and what they have committed."""

from collections.abc import Iterable, Mapping

from odradek.cli.kafka.columns import MISSING, line, widest
from odradek.cli.kafka.group_listing import consumer_groups, seconds
from odradek.cli.kafka.java_errors import as_java, words
from odradek.cli.kafka.java_order import in_java_order
from odradek.cli.kafka.options import Given
from odradek.cli.kafka.partitions_named import named_partitions
from odradek.client.admin.admin_client import AdminClient
from odradek.protocol.errors import (
    GroupAuthorizationFailed,
    GroupIdNotFound,
    GroupSubscribedToTopic,
    InvalidGroupId,
    KafkaError,
    NonEmptyGroup,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition

_OF_THE_GROUP = (InvalidGroupId, GroupIdNotFound, GroupAuthorizationFailed, NonEmptyGroup)
_OF_PARTITIONS = (GroupSubscribedToTopic, TopicAuthorizationFailed, UnknownTopicOrPartition)


def delete_groups(given: Given, admin: AdminClient) -> None:
    timeout = seconds(given)
    names = list(consumer_groups(admin, timeout)) if given.has("all-groups") else given.values("group")
    gone = admin.delete_groups(names, timeout=timeout)
    reasons = {name: as_java(error) for name, error in gone.errors.items()}
    tell_of_deletion("consumer", gone.values_ok, reasons)


def tell_of_deletion(kind: str, gone: Iterable[str], reasons: Mapping[str, str]) -> None:
    """`reasons`: why the others could not be deleted."""
    done = ", ".join(f"'{name}'" for name in in_java_order(gone))
    if not reasons:
        print(f"Deletion of requested {kind} groups ({done}) was successful.")
        return
    print(f"\nError: Deletion of some {kind} groups failed:")
    for name in in_java_order(reasons):
        print(f"* Group '{name}' could not be deleted due to: {reasons[name]}")
    if done:
        print(f"\nThese {kind} groups were deleted successfully: {done}")


def delete_offsets(given: Given, admin: AdminClient) -> None:
    group = given.text("group")
    places, unknown = named_partitions(admin, given.values("topic"))
    results = admin.delete_group_offsets(group, places, timeout=seconds(given))
    outcomes: dict[TopicPartition, KafkaError | None] = {place: results.errors.get(place) for place in results}
    outcomes |= {TopicPartition(topic, -1): error for topic, error in unknown.items()}
    _tell_of_all(group, list(results.errors.values()))
    width = widest(15, (place.topic for place in outcomes))
    print(f"\n{line([width, 10, 15], ['TOPIC', 'PARTITION', 'STATUS'])}")
    for place in sorted(outcomes, key=lambda each: f"{each.topic}{each.partition}"):
        number = MISSING if place.partition < 0 else place.partition
        print(line([width, 10, 15], [place.topic, number, _status(outcomes[place])]))


def _tell_of_all(group: str, errors: list[KafkaError]) -> None:
    if not errors:
        print(f"Request succeeded for deleting offsets from group {group}.")
    elif isinstance(errors[0], _OF_THE_GROUP):
        print(f"\nError: {words(errors[0])}")
    elif isinstance(errors[0], _OF_PARTITIONS):
        print("\nError: Encountered some partition-level error, see the follow-up details.")
    else:
        print(f"\nError: Encountered some unknown error: {errors[0].name}")


def _status(error: KafkaError | None) -> str:
    return "Successful" if error is None else f"Error: {as_java(error)}"
