"""The levels of metadata.version and of the other features, and what each level brought.

A level is a number in the log and a name for people: 7 is `3.3-IV3`. A release's plain number, `3.3`, stands for its
last level. Which levels a release opens, and which features it turns on, is in `protocol/releases.py`; in which version
a record is written at a level, in `record_versions.py`.
"""

from collections.abc import Mapping

from odradek.protocol import releases
from odradek.protocol.releases import Release

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"

# fmt: off
NAMES = {
    1: "3.0-IV1", 2: "3.1-IV0", 3: "3.2-IV0", 4: "3.3-IV0", 5: "3.3-IV1", 6: "3.3-IV2", 7: "3.3-IV3",
    8: "3.4-IV0", 9: "3.5-IV0", 10: "3.5-IV1", 11: "3.5-IV2", 12: "3.6-IV0", 13: "3.6-IV1", 14: "3.6-IV2",
    15: "3.7-IV0", 16: "3.7-IV1", 17: "3.7-IV2", 18: "3.7-IV3", 19: "3.7-IV4", 20: "3.8-IV0", 21: "3.9-IV0",
    22: "4.0-IV0", 23: "4.0-IV1", 24: "4.0-IV2", 25: "4.0-IV3", 26: "4.1-IV0", 27: "4.1-IV1", 28: "4.2-IV0",
    29: "4.2-IV1", 30: "4.3-IV0",
}
# fmt: on

# From which level of metadata.version on the log may hold what the name says.
FEATURE_RECORDS = 4  # and metadata.version itself: below it no level is written
NO_OP_RECORDS = 5  # KIP-835
REGISTRATION_CHANGES = 6  # one record for what fence and unfence told before
CONTROLLED_SHUTDOWN = 7  # KIP-841
ZK_MIGRATION = 8  # KIP-866
SCRAM = 11  # KIP-900
TRANSACTIONS = 13  # KIP-868
DELEGATION_TOKENS = 14
CONTROLLER_REGISTRATIONS = 15  # KIP-919
DIRECTORY_ASSIGNMENT = 17  # KIP-858
ELIGIBLE_LEADER_REPLICAS = 23  # KIP-966
CORDONED_LOG_DIRS = 30  # KIP-1066

# From which level on a controller decides otherwise, with records that every level reads.
NO_BUMP_ON_SHRINK = 12  # a shrinking in-sync set needs no new leader epoch
NO_ZOOKEEPER = 22  # no migration from ZooKeeper is under way, and its state is not written

# The levels that brought records, or fields of them, which the level before cannot read: Kafka goes back over none of
# them. 3 brought the recovery state of a leader; 4 is none of them, though it brought features as records.
CHANGED_METADATA = frozenset(
    {
        3,
        NO_OP_RECORDS,
        REGISTRATION_CHANGES,
        CONTROLLED_SHUTDOWN,
        ZK_MIGRATION,
        SCRAM,
        TRANSACTIONS,
        DELEGATION_TOKENS,
        CONTROLLER_REGISTRATIONS,
        DIRECTORY_ASSIGNMENT,
        ELIGIBLE_LEADER_REPLICAS,
        CORDONED_LOG_DIRS,
    }
)

LOWEST = min(NAMES)
LOWEST_TO_FORMAT = releases.RELEASE_4_3.supported_features(api_version=4)[METADATA_VERSION][0]
HIGHEST = max(NAMES)

_LEVELS = {name: level for level, name in NAMES.items()} | {name.partition("-")[0]: n for n, name in NAMES.items()}

# What each level of a feature needs metadata.version to be before a new cluster turns it on by itself.
_ON_FROM = {
    KRAFT_VERSION: {1: 21},
    "transaction.version": {1: 24, 2: 24},
    "group.version": {1: 22},
    ELIGIBLE_LEADER_REPLICAS_VERSION: {1: 26},
    "share.version": {1: 28},
    "streams.version": {1: 29},
}
# And what it needs at all.
_NEEDS = {(ELIGIBLE_LEADER_REPLICAS_VERSION, 1): ELIGIBLE_LEADER_REPLICAS}


class UnknownVersion(ValueError):  # noqa: N818 - what was asked for, not what went wrong
    """A version or a feature that is not there; the text is for the user."""


def name_of(level: int) -> str:
    return NAMES.get(level, str(level))


def level_of(name: str) -> int:
    """The level of `3.9-IV0`, or of the last one of `3.9` or `3.9.1`."""
    level = _LEVELS.get(name) or _LEVELS.get(".".join(name.split(".")[:2]))
    if level is None or level < LOWEST_TO_FORMAT:
        known = ", ".join(NAMES[level] for level in range(LOWEST_TO_FORMAT, HIGHEST + 1))
        raise UnknownVersion(f"Unknown metadata.version '{name}'. Supported metadata.version are: {known}")
    return level


def release_of_level(level: int) -> Release:
    """The profile that a cluster formatted at this level speaks."""
    return releases.RELEASE_3_3 if level <= LOWEST_TO_FORMAT else releases.RELEASE_4_3


def levels_at_format(release: Release, metadata_version: int) -> dict[str, int]:
    """Every feature of a new cluster: what the release turns on, as far as the metadata.version allows it."""
    levels = {METADATA_VERSION: metadata_version}
    for name, level in release.finalized_at_format.items():
        if name != METADATA_VERSION:
            levels[name] = _highest(name, level, metadata_version)
    return levels


def check_levels(release: Release, levels: Mapping[str, int]) -> None:
    """UnknownVersion for a feature or a level that the release does not have."""
    supported = release.supported_features(api_version=4)
    for name, level in levels.items():
        if name not in supported:
            known = ", ".join(sorted(set(supported) - {METADATA_VERSION}))
            raise UnknownVersion(f"Unsupported feature: {name}. Supported features are: {known}")
        low, high = supported[name]
        if not low <= level <= high:
            raise UnknownVersion(f"No feature:{name} with feature level {level}")
        needed = needs(name, level)
        if levels.get(METADATA_VERSION, HIGHEST) < needed:
            raise UnknownVersion(
                f"{name} could not be set to {level} because it depends on metadata.version level {needed}"
            )


def needs(name: str, level: int) -> int:
    """The lowest metadata.version with which a feature may have this level."""
    return _NEEDS.get((name, level), 0)


def _highest(name: str, level: int, metadata_version: int) -> int:
    while level and _ON_FROM.get(name, {}).get(level, 0) > metadata_version:
        level -= 1
    return level
