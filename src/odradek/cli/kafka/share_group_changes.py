"""What `kafka-share-groups.sh` changes: where share groups begin, which topics they know, and that they are there."""

from odradek.cli.kafka.columns import line, widest
from odradek.cli.kafka.group_changes import tell_of_deletion
from odradek.cli.kafka.group_listing import seconds
from odradek.cli.kafka.group_resets import (
    Offsets,
    existing_partitions,
    offsets_at,
    offsets_at_time,
    print_offsets_to_reset,
)
from odradek.cli.kafka.java_errors import as_java, words
from odradek.cli.kafka.options import Given, Misuse
from odradek.cli.kafka.share_group_reports import share_groups
from odradek.cli.kafka.times import time_ms
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.topics import EARLIEST, LATEST
from odradek.protocol.errors import GroupAuthorizationFailed, GroupIdNotFound, KafkaError, NonEmptyGroup

_OF_THE_GROUP = (GroupIdNotFound, NonEmptyGroup, GroupAuthorizationFailed)


def delete_groups(given: Given, admin: AdminClient) -> None:
    there = share_groups(admin, seconds(given))
    names = list(there) if given.has("all-groups") else given.values("group")
    reasons = {
        name: f"java.lang.IllegalArgumentException: Group '{name}' is not a share group."
        for name in names
        if name not in there
    }
    if reasons:  # then none of them is deleted
        tell_of_deletion("share", [], reasons)
        return
    described = admin.describe_share_groups(names, timeout=seconds(given))
    full = [name for name, group in described.values_ok.items() if group.state != "Empty"]
    reasons = {name: as_java(NonEmptyGroup(f"Share group '{name}' is not EMPTY.")) for name in full}
    if reasons:
        tell_of_deletion("share", [], reasons)
        return
    gone = admin.delete_groups(names, timeout=seconds(given))
    tell_of_deletion("share", gone.values_ok, {name: as_java(error) for name, error in gone.errors.items()})


def delete_offsets(given: Given, admin: AdminClient) -> None:
    topics = given.values("topic")
    outcomes: dict[str, KafkaError | None] = {}
    try:
        results = admin.delete_share_group_offsets(given.text("group"), topics, timeout=seconds(given))
        outcomes = {topic: results.errors.get(topic) for topic in topics}
    except KafkaError as error:
        outcomes = dict.fromkeys(topics, error)
    whole = next((error for error in outcomes.values() if isinstance(error, _OF_THE_GROUP)), None)
    if whole is not None:
        print(f"\nError: {words(whole)}")
    widths = [widest(15, topics)]
    print(f"\n{line(widths, ['TOPIC', 'STATUS'])}")
    for topic, failed in sorted(outcomes.items()):
        print(line(widths, [topic, "Successful" if failed is None else f"Error: {words(failed)}"]))


def reset(given: Given, admin: AdminClient) -> None:
    group = given.text("group")
    described = admin.describe_share_groups([group], timeout=seconds(given))
    error = described.errors.get(group)
    if error is not None and not isinstance(error, GroupIdNotFound):
        raise error
    if error is None and described[group].state not in ("Empty", "Dead"):
        raise Misuse(f"Share group '{group}' is not empty.")
    offsets = _offsets(given, admin, group)
    if given.has("execute"):
        admin.alter_share_group_offsets(group, offsets, timeout=seconds(given)).raise_any()
    print_offsets_to_reset({group: offsets})


def _offsets(given: Given, admin: AdminClient, group: str) -> Offsets:
    if given.has("all-topics"):
        known = admin.list_share_group_offsets({group: None})[group]
        places = existing_partitions(admin, sorted({place.topic for place in known}))
    else:
        places = existing_partitions(admin, given.values("topic"))
    if given.has("to-datetime"):
        return offsets_at_time(admin, places, time_ms(given.text("to-datetime")))
    return offsets_at(admin, places, EARLIEST if given.has("to-earliest") else LATEST)
