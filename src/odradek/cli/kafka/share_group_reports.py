"""What `kafka-share-groups.sh` tells: names of share groups, where they begin, their members, their states."""

import sys

from odradek.cli.kafka.columns import line, widest
from odradek.cli.kafka.group_listing import seconds, words_among
from odradek.cli.kafka.group_reports import assigned, coordinator_addresses
from odradek.cli.kafka.java_order import in_java_order
from odradek.cli.kafka.options import Given
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.groups import GroupListing
from odradek.client.admin.share_groups import ShareGroupDescription, ShareOffsets

STATES = ("Dead", "Empty", "Stable")
SHARE = "share"


def share_groups(admin: AdminClient, timeout: float) -> dict[str, GroupListing]:
    listed = admin.list_groups(timeout=timeout)
    return {name: listed[name] for name in in_java_order(listed) if listed[name].kind == SHARE}


def list_groups(given: Given, admin: AdminClient) -> None:
    found = share_groups(admin, seconds(given))
    if not given.has("state"):
        for name in found:
            print(name)
        return
    states = words_among(given.value("state"), STATES, "state list", "states")
    widths = [widest(15, found)]
    print(line(widths, ["GROUP", "STATE"]))
    for name, each in found.items():
        if not states or each.state.lower() in states:
            print(line(widths, [name, each.state]))


def describe(given: Given, admin: AdminClient) -> None:
    timeout = seconds(given)
    names = list(share_groups(admin, timeout)) if given.has("all-groups") else given.values("group")
    described = admin.describe_share_groups(names, timeout=timeout)
    described.raise_any()
    is_verbose = given.has("verbose")
    offsets = {} if given.has("members") or given.has("state") else admin.list_share_group_offsets(dict.fromkeys(names))
    addresses = coordinator_addresses(admin) if given.has("state") else {}
    for name in sorted(described):
        group = described[name]
        if given.has("members"):
            _print_members(group, is_verbose=is_verbose)
        elif given.has("state"):
            _print_state(group, addresses[group.coordinator], is_verbose=is_verbose)
        else:
            _print_offsets(name, offsets[name], is_verbose=is_verbose)


def _tell_if_empty(group: ShareGroupDescription) -> None:
    if group.state == "Empty":
        print(f"\nShare group '{group.group_id}' has no active members.", file=sys.stderr)


def _print_offsets(name: str, offsets: ShareOffsets, *, is_verbose: bool) -> None:
    offsets.raise_any()
    if not offsets:
        return
    widths = [widest(15, [name]), widest(15, (place.topic for place in offsets)), 10, *[13] * (1 + is_verbose)]
    epoch = ["LEADER-EPOCH"] if is_verbose else []
    print(f"\n{line(widths, ['GROUP', 'TOPIC', 'PARTITION', *epoch, 'START-OFFSET', 'LAG'])}")
    for place in sorted(offsets):
        found = offsets[place]
        values: list[object] = [None, None] if found is None else [found.start_offset, found.lag]
        told = [None if found is None or found.leader_epoch < 0 else found.leader_epoch] if is_verbose else []
        print(line(widths, [name, place.topic, place.partition, *told, *values]))


def _print_members(group: ShareGroupDescription, *, is_verbose: bool) -> None:
    _tell_if_empty(group)
    members = group.members
    if not members:
        return
    widths = [
        widest(15, [group.group_id]),
        widest(15, (member.member_id for member in members)),
        widest(15, (member.host for member in members)),
        widest(15, (member.client_id for member in members)),
        12,
        *([13] if is_verbose else []),
    ]
    heading = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", *(["MEMBER-EPOCH"] if is_verbose else [])]
    print(f"\n{line(widths, [*heading, 'ASSIGNMENT'])}")
    for member in members:
        epoch = [member.epoch] if is_verbose else []
        values = [group.group_id, member.member_id, member.host, member.client_id, len(member.assignment), *epoch]
        print(line(widths, [*values, assigned(member.assignment)]))


def _print_state(group: ShareGroupDescription, coordinator: str, *, is_verbose: bool) -> None:
    _tell_if_empty(group)
    widths = [widest(15, [group.group_id]), widest(25, [coordinator]), 15, *([12, 17] if is_verbose else [])]
    heading = ["GROUP", "COORDINATOR (ID)", "STATE", *(["GROUP-EPOCH", "ASSIGNMENT-EPOCH"] if is_verbose else [])]
    epochs = [group.group_epoch, group.assignment_epoch] if is_verbose else []
    print(f"\n{line(widths, [*heading, '#MEMBERS'])}")
    print(line(widths, [group.group_id, coordinator, group.state, *epochs, len(group.members)]))
