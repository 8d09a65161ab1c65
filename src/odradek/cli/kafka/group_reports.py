"""`--describe` of `kafka-consumer-groups.sh`: the offsets of groups, their members, their states."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from odradek.cli.kafka.columns import MISSING, line, widest
from odradek.cli.kafka.group_listing import consumer_groups, seconds
from odradek.cli.kafka.options import Given
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.groups import GroupDescription, MemberDescription
from odradek.client.admin.topics import LATEST
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition

_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def describe(given: Given, admin: AdminClient) -> None:
    timeout = seconds(given)
    names = list(consumer_groups(admin, timeout)) if given.has("all-groups") else given.values("group")
    described = admin.describe_groups(names, timeout=timeout)
    described.raise_any()
    groups = [described[name] for name in sorted(described)]
    if given.has("members"):
        for group in groups:
            _print_members(group, is_verbose=given.has("verbose"))
    elif given.has("state"):
        addresses = coordinator_addresses(admin)
        for group in groups:
            _print_state(group, addresses[group.coordinator], is_verbose=given.has("verbose"))
    else:
        committed = admin.list_group_offsets(names, timeout=timeout)
        for group in groups:
            rows = _offset_rows(admin, group, committed[group.group_id])
            _print_offsets(group, rows, is_verbose=given.has("verbose"))


def coordinator_addresses(admin: AdminClient) -> dict[int, str]:
    """Brokers as the column of coordinators shows them."""
    return {node.id: f"{node.host}:{node.port}  ({node.id})" for node in admin.describe_cluster().nodes}


def _tell_of_state(group: GroupDescription) -> None:
    if group.state == "Empty":
        print(f"\nConsumer group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", file=sys.stderr)


class OffsetRow(NamedTuple):
    place: TopicPartition
    committed: OffsetAndMetadata | None
    end_offset: int | None
    consumer_id: str
    host: str
    client_id: str

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end_offset is None:
            return None
        return self.end_offset - self.committed.offset


def _offset_rows(
    admin: AdminClient, group: GroupDescription, committed: Mapping[TopicPartition, OffsetAndMetadata]
) -> list[OffsetRow]:
    """Members with the most partitions first, then what nobody has."""
    owned = sorted((member for member in group.members if member.assignment), key=lambda each: -len(each.assignment))
    taken = {place for member in owned for place in member.assignment}
    ends = end_offsets(admin, {*taken, *committed})
    rows = []
    for member in owned:
        who = (member.member_id, member.host, member.client_id)
        rows += [OffsetRow(place, committed.get(place), ends.get(place), *who) for place in sorted(member.assignment)]
    left = sorted(place for place in committed if place not in taken)
    return rows + [OffsetRow(place, committed[place], ends.get(place), *[MISSING] * 3) for place in left]


def end_offsets(admin: AdminClient, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Of those whose leaders tell."""
    found = admin.list_offsets(dict.fromkeys(places, LATEST)).values_ok
    return {place: each.offset for place, each in found.items()}


def _print_offsets(group: GroupDescription, rows: Sequence[OffsetRow], *, is_verbose: bool) -> None:
    _tell_of_state(group)
    if not rows:
        return
    first = [widest(15, [group.group_id]), widest(15, (row.place.topic for row in rows)), 10]
    last = [widest(15, (row.consumer_id for row in rows)), widest(15, (row.host for row in rows))]
    widths = [*first, *[15] * (4 if is_verbose else 3), *last]
    heading = ["GROUP", "TOPIC", "PARTITION", *(["LEADER-EPOCH"] if is_verbose else [])]
    heading += ["CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]
    print(f"\n{line(widths, heading)}")
    for row in rows:
        values: list[object] = [group.group_id, row.place.topic, row.place.partition]
        values += [_epoch(row.committed)] if is_verbose else []
        values += [None if row.committed is None else row.committed.offset, row.end_offset, row.lag]
        print(line(widths, [*values, row.consumer_id, row.host, row.client_id]))


def _epoch(committed: OffsetAndMetadata | None) -> int | None:
    return None if committed is None or committed.leader_epoch < 0 else committed.leader_epoch


def _print_members(group: GroupDescription, *, is_verbose: bool) -> None:
    _tell_of_state(group)
    members = group.members
    has_instances = any(member.instance_id for member in members)
    widths = [
        widest(15, [group.group_id] if members else []),
        widest(15, (member.member_id for member in members)),
        *([widest(17, (member.instance_id or "" for member in members))] if has_instances else []),
        widest(15, (member.host for member in members)),
        widest(15, (member.client_id for member in members)),
        15,
    ]
    heading = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if has_instances else [])]
    heading += ["HOST", "CLIENT-ID", "#PARTITIONS"]
    more = [widest(20, (assigned(each.assignment) for each in members))]
    more += [widest(20, (assigned(each.target) for each in members))]
    verbose_widths = [15, more[0], 15, more[1] - 1]
    verbose = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    print("\n" + line(widths, heading) + " " + (line(verbose_widths, verbose) + " " if is_verbose else ""))
    for member in members:
        text = line(widths, _member_values(group, member, has_instances)) + " "
        print(text + (line(verbose_widths, _verbose_values(group, member)) + " " if is_verbose else ""))


def _member_values(group: GroupDescription, member: MemberDescription, has_instances: bool) -> list[object]:
    instance = [member.instance_id or ""] if has_instances else []
    return [group.group_id, member.member_id, *instance, member.host, member.client_id, len(member.assignment)]


def _verbose_values(group: GroupDescription, member: MemberDescription) -> list[object]:
    epoch = None if group.group_epoch is None else member.epoch
    return [epoch, assigned(member.assignment), group.assignment_epoch, assigned(member.target)]


def assigned(places: Iterable[TopicPartition] | None) -> str:
    """`orders:0,1;letters:0`."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(places or ()):
        by_topic.setdefault(topic, []).append(number)
    return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in by_topic.items()) or MISSING


def _print_state(group: GroupDescription, coordinator: str, *, is_verbose: bool) -> None:
    _tell_of_state(group)
    widths = [widest(15, [group.group_id]), widest(25, [coordinator]), 20, 20, *([15, 25] if is_verbose else [])]
    heading = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    heading += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"] if is_verbose else []
    values: list[object] = [group.group_id, coordinator, group.assignor or None, group.state]
    values += [group.group_epoch, group.assignment_epoch] if is_verbose else []
    print(f"\n{line(widths, [*heading, '#MEMBERS'])}")
    print(line(widths, [*values, len(group.members)]))
