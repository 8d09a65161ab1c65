"""`kafka-features.sh`: the features of a cluster described, upgraded, downgraded, disabled."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, flag, value
from odradek.cli.kafka.subcommands import Subcommands
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.features import FeatureMetadata, VersionRange

_FEATURES = value("feature", "NAME=LEVEL", "may be repeated")
_METADATA = value("metadata", "VERSION", "the same as --feature metadata.version=")
_RELEASE = value("release-version", "VERSION", "the levels of a release")
_DRY_RUN = flag("dry-run", "ask whether it could be done")
_UNSAFE = flag("unsafe", "even if it loses metadata")
COMMANDS = Subcommands(
    "kafka-features.sh",
    "the features of a cluster and their levels",
    [
        options.BOOTSTRAP,
        value("bootstrap-controller", "HOST:PORT,...", "left out: brokers pass it on"),
        options.COMMAND_CONFIG,
    ],
    {
        "describe": [value("node-id", "ID", "the broker to ask")],
        "upgrade": [_METADATA, _FEATURES, _RELEASE, _DRY_RUN],
        "downgrade": [_METADATA, _FEATURES, _RELEASE, _DRY_RUN, _UNSAFE],
        "disable": [value("feature", "NAME", "may be repeated"), _DRY_RUN, _UNSAFE],
        "version-mapping": [_RELEASE],
        "feature-dependencies": [_FEATURES],
    },
    {},
    complaint="Command line error: {reason}. Type --help for help.",
)
_ORDER = (
    "kraft.version",
    "transaction.version",
    "group.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
)
_DONE = {"upgrade": "upgraded to", "downgrade": "downgraded to", "disable": "disabled"}


@tool
def main(arguments: Sequence[str]) -> int:
    command, given = COMMANDS.parse(arguments)
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        COMMANDS.fail("You must specify either --bootstrap-controller or --bootstrap-server.")
    if command == "version-mapping":
        _version_mapping(given.value("release-version"))
        return 0
    if command == "feature-dependencies":
        _feature_dependencies(given.values("feature"))
        return 0
    if command == "describe":
        with opened_admin(given) as admin:
            _describe(given, admin)
        return 0
    levels = _levels(command, given)
    with opened_admin(given) as admin:
        return _update(command, given, admin, levels)


def _version_mapping(text: str | None) -> None:
    """The levels that a new cluster of a release begins with."""
    from odradek.metadata import versions

    try:
        level = versions.HIGHEST if text is None else versions.level_of(text)
    except versions.UnknownVersion as unknown:
        raise Refusal(str(unknown)) from None
    levels = versions.levels_at_format(versions.release_of_level(level), level)
    print(f"{versions.METADATA_VERSION}={level} ({text or versions.name_of(level)})")
    for name in _ORDER:
        print(f"{name}={levels.get(name, 0)}")


def _feature_dependencies(features: Sequence[str]) -> None:
    from odradek.metadata import versions

    for name, level in map(_feature, features):
        if name not in (versions.METADATA_VERSION, *_ORDER):
            raise Refusal(f"Unknown feature: {name}")
        needed = versions.needs(name, level)
        shown = f"{name}={level}" + (f" ({versions.name_of(level)})" if name == versions.METADATA_VERSION else "")
        if needed:
            print(f"{shown} requires:\n    {versions.METADATA_VERSION}={needed} ({versions.name_of(needed)})")
        else:
            print(f"{shown} has no dependencies.")


def _describe(given: Given, admin: "AdminClient") -> None:
    found = admin.describe_features(node_id=given.integer("node-id"))
    for name in sorted(found.supported):
        print(_line(name, found.supported[name], found))


def _line(name: str, supported: "VersionRange", found: "FeatureMetadata") -> str:
    finalized = found.finalized[name].high if name in found.finalized else 0
    shown = [_level_name(name, level) for level in (*supported, finalized)]
    epoch = "-" if found.finalized_epoch is None else found.finalized_epoch
    return (
        f"Feature: {name:<42}SupportedMinVersion: {shown[0]:<17}SupportedMaxVersion: {shown[1]:<17}"
        f"FinalizedVersionLevel: {shown[2]:<17}Epoch: {epoch}"
    )


def _level_name(feature: str, level: int) -> str:
    from odradek.metadata import versions

    if feature != versions.METADATA_VERSION:
        return str(level)
    if not versions.LOWEST_TO_FORMAT <= level <= versions.HIGHEST:  # Kafka's tool has forgotten the older ones
        return f"UNKNOWN {level}"
    return versions.name_of(level)


def _levels(command: str, given: Given) -> dict[str, int]:
    """The levels that are asked for; 0 disables a feature."""
    from odradek.metadata import versions

    if command == "disable":
        names = given.values("feature")
        if not names:
            raise Refusal("You must specify at least one feature to disable")
        return dict.fromkeys(names, 0)
    if given.has("release-version") and (given.has("feature") or given.has("metadata")):
        raise Refusal("Can not specify `release-version` with other feature flags.")
    try:
        levels = _of_release(given.text("release-version")) if given.has("release-version") else {}
        if given.has("metadata"):
            print(" `metadata` flag is deprecated and may be removed in a future release.")
            levels[versions.METADATA_VERSION] = versions.level_of(given.text("metadata"))
    except versions.UnknownVersion as unknown:
        raise Refusal(str(unknown)) from None
    for text in given.values("feature"):
        name, level = _feature(text)
        if name in levels:
            raise Refusal(f"Feature {name} was specified more than once.")
        levels[name] = level
    if not levels:
        raise Refusal(f"You must specify at least one feature to {command}")
    return levels


def _of_release(text: str) -> dict[str, int]:
    from odradek.metadata import versions

    level = versions.level_of(text)
    levels = versions.levels_at_format(versions.release_of_level(level), level)
    return {**levels, versions.METADATA_VERSION: level}


def _feature(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals:
        raise Refusal(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        return name.strip(), int(level)
    except ValueError:
        raise Refusal(f"Can't parse feature=level string {text}: unable to parse {level} as a short.") from None


def _update(command: str, given: Given, admin: "AdminClient", levels: dict[str, int]) -> int:
    from odradek.cli.kafka.java_errors import words
    from odradek.client.admin.features import FeatureUpdate
    from odradek.protocol.vocabulary import UpgradeType

    kind = UpgradeType.UPGRADE if command == "upgrade" else UpgradeType.SAFE_DOWNGRADE
    kind = UpgradeType.UNSAFE_DOWNGRADE if given.has("unsafe") else kind
    updates = {name: FeatureUpdate(level, kind) for name, level in levels.items()}
    done = admin.update_features(updates, validate_only=given.has("dry-run"))
    verb = "can be" if given.has("dry-run") else "was"
    for name in sorted(levels):
        to = "" if command == "disable" else f" {levels[name]}"
        error = done.errors.get(name)
        if error is None:
            print(f"{name} {verb} {_DONE[command]}{to}.")
        else:
            aim = f" to{to}" if to else ""
            could = "Can" if given.has("dry-run") else "Could"
            print(f"{could} not {command} {name}{aim}. {words(error)}")
    if done.errors:
        print(f"{len(done.errors)} out of {len(levels)} operation(s) failed.", file=sys.stderr)
    return 1 if done.errors else 0
