"""Topics and groups by the names that somebody has typed: one that is not there says which are near."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from odradek.cli.client.near import unknown

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.groups import GroupListing
    from odradek.client.admin.topics import TopicDescription


def described_topics(admin: "AdminClient", names: Iterable[str]) -> "dict[str, TopicDescription]":
    """In the order of the names; Refusal for one that is not there."""
    wanted = list(dict.fromkeys(names))
    there = admin.list_topics(internal=True)
    for name in wanted:
        if name not in there:
            raise unknown("topic", name, there, "odradek topics list")
    described = admin.describe_topics(wanted) if wanted else {}
    return {name: described[name] for name in wanted}


def partition_counts(admin: "AdminClient", names: Iterable[str]) -> dict[str, int]:
    return {name: len(topic.partitions) for name, topic in described_topics(admin, names).items()}


def listed_groups(admin: "AdminClient", names: Sequence[str]) -> "dict[str, GroupListing]":
    """Those that are named, all of them if none is; Refusal for one that is not there."""
    there = admin.list_groups()
    for name in names:
        if name not in there:
            raise unknown("group", name, there, "odradek groups list")
    return {name: there[name] for name in dict.fromkeys(names)} if names else there


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether it is one of the names, in which * stands for anything; without any, everything is."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
