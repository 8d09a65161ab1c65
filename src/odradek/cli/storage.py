"""`odradek storage`, which is `kafka-storage.sh`: format the directories of a node, and say what they are.

Exit status 0: done. 1: refused, with the reason in one line. A mistake in the command or in the config is 2, but 1 in
`kafka-storage.sh`, as Kafka has it.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.command_parser import ToolParser
from odradek.cli.failure import Failure, Refusal

if TYPE_CHECKING:
    from odradek.config.parsed import Config
    from odradek.metadata.formatting import FormatPlan
    from odradek.protocol.releases import Release

_CONFIG_HELP = "The Kafka configuration file to use."
_DATA_HELP = "the data dir of `odradek start`, in place of a configuration file"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("storage", help="the directories of a node: format, info, random-uuid")
    fill(parser)
    parser.set_defaults(has_built_in_node=True)  # on which a file of a few configs is set, as for `odradek start`
    parser.set_defaults(run=lambda _: print(parser.format_help()) or 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """`kafka-storage.sh`, kafka.tools.StorageTool."""
    parser = ToolParser(prog="kafka-storage", description="The Kafka storage tool.")
    fill(parser)
    parser.set_defaults(has_built_in_node=False)
    try:
        options = parser.parse_args(arguments)
        return int(options.run(options))
    except SystemExit as stop:  # argparse has helped or complained already
        return 1 if stop.code else 0
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1


def fill(parser: argparse.ArgumentParser) -> None:
    """The actions of the tool, for `odradek storage` and for `kafka-storage.sh` alike."""
    parser.set_defaults(run=lambda _: parser.error("too few arguments"))
    names = "{info,format,version-mapping,feature-dependencies,random-uuid}"
    actions = parser.add_subparsers(metavar=names)

    info = actions.add_parser("info", help="Get information about the Kafka log directories on this node.")
    _add_place(info)
    info.set_defaults(run=_info)

    _add_format(actions)

    mapping = actions.add_parser("version-mapping", help="The features that a new cluster of a release begins with.")
    mapping.add_argument("--release-version", "-r", metavar="RELEASE_VERSION", help="for example 3.9")
    mapping.set_defaults(run=_version_mapping)

    needs = actions.add_parser("feature-dependencies", help="What a level of a feature needs of other features.")
    needs.add_argument("--feature", "-f", action="append", required=True, metavar="FEATURE", help="NAME=LEVEL")
    needs.set_defaults(run=_feature_dependencies)

    uuid = actions.add_parser("random-uuid", help="Print a random UUID.")
    uuid.set_defaults(run=_random_uuid)


def _add_place(parser: argparse.ArgumentParser) -> None:
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--config", "-c", metavar="CONFIG", help=_CONFIG_HELP)
    place.add_argument("--data", metavar="DIR", help=_DATA_HELP)


def _add_format(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Kafka's options, one after the other."""
    parser = actions.add_parser("format", help="Format the Kafka log directories on this node.")
    _add_place(parser)
    parser.add_argument(
        "--cluster-id",
        "-t",
        required=True,
        metavar="CLUSTER_ID",
        help="The cluster ID to use; `odradek storage random-uuid` prints a new one.",
    )
    parser.add_argument(
        "--add-scram",
        "-S",
        action="append",
        default=[],
        metavar="ADD_SCRAM",
        help="a credential for the first user, as SCRAM-SHA-256=[name=alice,password=alice-secret]",
    )
    parser.add_argument("--ignore-formatted", "-g", action="store_true", help="skip directories that are formatted")
    parser.add_argument(
        "--release-version",
        "-r",
        metavar="RELEASE_VERSION",
        help="the release whose features the cluster begins with: from 3.3 on (default: the newest)",
    )
    parser.add_argument(
        "--feature",
        "-f",
        action="append",
        default=[],
        metavar="FEATURE",
        help="the level of one feature, as kraft.version=1",
    )
    quorum = parser.add_mutually_exclusive_group()
    quorum.add_argument("--standalone", "-s", action="store_true", help="the only voter of a dynamic quorum")
    quorum.add_argument(
        "--no-initial-controllers", "-N", action="store_true", help="a node that joins a dynamic quorum later"
    )
    quorum.add_argument(
        "--initial-controllers",
        "-I",
        metavar="INITIAL_CONTROLLERS",
        help="the voters of a dynamic quorum, as id@host:port:directory, separated by commas",
    )
    parser.set_defaults(run=_format)


def _format(options: argparse.Namespace) -> int:
    from odradek.metadata import versions
    from odradek.metadata.formatting import format_dirs
    from odradek.metadata.storage import StorageRefused
    from odradek.reactor.adapters.clock import SystemClock
    from odradek.reactor.adapters.disk import SystemDisk
    from odradek.reactor.adapters.rng import SystemRng

    plan = _plan(options)
    try:
        done = format_dirs(SystemDisk(), SystemClock(), SystemRng(), plan, ignore_formatted=options.ignore_formatted)
    except StorageRefused as refused:
        raise Refusal(str(refused)) from None
    if not done:
        print("All of the log directories are already formatted.")
    for directory, kind in done:
        shown = f"{kind} {directory}" if plan.release.has_directory_id else directory
        print(f"Formatting {shown} with metadata.version {versions.name_of(plan.levels[versions.METADATA_VERSION])}.")
    return 0


def _plan(options: argparse.Namespace) -> "FormatPlan":
    """Failure for flags and configs that make no sense, alone or together."""
    from odradek.config.errors import ConfigError
    from odradek.metadata.scram_argument import BadScramArgument
    from odradek.metadata.storage import StorageRefused
    from odradek.metadata.versions import UnknownVersion

    try:
        return _plan_of(options)
    except (ConfigError, BadScramArgument, StorageRefused, UnknownVersion) as mistake:
        raise Failure(str(mistake)) from None


def _plan_of(options: argparse.Namespace) -> "FormatPlan":
    from odradek.metadata import versions
    from odradek.metadata.format_options import FormatOptions, plan_of
    from odradek.reactor.adapters.rng import SystemRng

    features = dict(_feature(text) for text in options.feature)
    level = _level(options, features)
    release = versions.release_of_level(level)
    asked = FormatOptions(
        options.cluster_id,
        features=features,
        add_scram=options.add_scram,
        is_standalone=options.standalone or _is_lone(options, release),
        has_no_initial_controllers=options.no_initial_controllers,
        initial_controllers=options.initial_controllers,
    )
    return plan_of(_config(options, release), release, level, asked, SystemRng().stream("scram"))


def _is_lone(options: argparse.Namespace, release: "Release") -> bool:
    """The built-in node is the only voter of its quorum, as `odradek start` formats it, unless it is said otherwise."""
    says_otherwise = options.no_initial_controllers or options.initial_controllers is not None
    return release.has_directory_id and not says_otherwise and (options.data is not None or _is_of_a_few(options))


def _level(options: argparse.Namespace, features: dict[str, int]) -> int:
    from odradek.metadata import versions

    if options.release_version is not None and versions.METADATA_VERSION in features:
        raise versions.UnknownVersion("Use --release-version or --feature metadata.version=LEVEL, not both.")
    if options.release_version is not None:
        return versions.level_of(options.release_version)
    return features.get(versions.METADATA_VERSION, versions.HIGHEST)


def _feature(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals or not name or not level.isascii() or not level.isdecimal() or len(level) > 5:
        raise Failure(f"--feature is NAME=LEVEL with a whole number, not {text}")
    return name.strip(), int(level)


def _config(options: argparse.Namespace, release: "Release") -> "Config":
    """ConfigError for one that no node could start with."""
    from odradek.config.broker import TABLE
    from odradek.config.errors import missing
    from odradek.config.parsed import parse

    config = parse(TABLE, _values(options, release), release.name)
    if not config["process.roles"]:
        raise missing("process.roles")
    return config


def _values(options: argparse.Namespace, release: "Release") -> dict[str, str]:
    from odradek.cli import single_node
    from odradek.cli.server_properties import read_properties
    from odradek.config.legacy_cluster import refuse_legacy_cluster

    if options.data is not None:
        return single_node.completed({"log.dirs": single_node.absolute(options.data)}, release.name)
    values = read_properties(options.config)
    refuse_legacy_cluster(values, options.config)
    if options.has_built_in_node and not single_node.describes_a_node(values):
        single_node.refuse_foreign_file(values, options.config)
        return single_node.completed(values, release.name)
    return values


def _is_of_a_few(options: argparse.Namespace) -> bool:
    """Whether the file has but a few configs for the built-in node, and describes none of its own."""
    from odradek.cli import single_node
    from odradek.cli.server_properties import read_properties

    return options.has_built_in_node and not single_node.describes_a_node(read_properties(options.config))


def _info(options: argparse.Namespace) -> int:
    from odradek.config.errors import ConfigError
    from odradek.protocol import releases

    try:
        config = _config(options, releases.DEFAULT)
    except ConfigError as mistake:
        raise Failure(str(mistake)) from None
    return _show(config)


def _show(config: "Config") -> int:
    from odradek.metadata import lost_meta, storage
    from odradek.metadata.meta_properties import VERSION_1
    from odradek.metadata.quorum_config import all_dirs
    from odradek.reactor.adapters.disk import SystemDisk

    disk, directories = SystemDisk(), all_dirs(config)
    found = storage.look(disk, directories)
    _list("Found log director", "y", "ies", sorted((*found.formatted, *found.unformatted)))
    first = next(iter(found.formatted.values()), None)
    if first is not None:
        print(f"Found metadata: {first}\n")
    problems = [*found.problems, *found.offline.values()]
    problems += [f"{directory} does not exist" for directory in found.missing]
    for directory in found.unformatted:
        lost = lost_meta.lost(disk, directory, directories[0], found.formatted)
        problems.append(lost or f"{directory} is not formatted.")
    problems += [storage.of_zookeeper(each) for each, meta in found.formatted.items() if meta.version != VERSION_1]
    if len({meta.cluster_id for meta in found.formatted.values()}) > 1:
        problems.append("Mismatched cluster IDs between storage directories.")
    if len({meta.node_id for meta in found.formatted.values()}) > 1:
        problems.append("Mismatched node IDs between storage directories.")
    _list("Found problem", "", "s", problems)
    return 1 if problems else 0


def _list(title: str, one: str, many: str, lines: list[str]) -> None:
    if lines:
        print(f"{title}{one if len(lines) == 1 else many}:", *(f"  {line}" for line in lines), "", sep="\n")


def _version_mapping(options: argparse.Namespace) -> int:
    from odradek.metadata import versions

    try:
        level = versions.HIGHEST if options.release_version is None else versions.level_of(options.release_version)
    except versions.UnknownVersion as unknown:
        raise Failure(str(unknown)) from None
    print(f"{versions.METADATA_VERSION}={level} ({versions.name_of(level)})")
    for name, at in versions.levels_at_format(versions.release_of_level(level), level).items():
        if name != versions.METADATA_VERSION:
            print(f"{name}={at}")
    return 0


def _feature_dependencies(options: argparse.Namespace) -> int:
    from odradek.metadata import versions
    from odradek.protocol import releases

    try:
        for name, level in map(_feature, options.feature):
            versions.check_levels(releases.DEFAULT, {name: level})
            shown = f"{name}={level}" + (f" ({versions.name_of(level)})" if name == versions.METADATA_VERSION else "")
            needed = versions.needs(name, level)
            if needed:
                print(
                    f"{shown} requires:",
                    f"    {versions.METADATA_VERSION}={needed} ({versions.name_of(needed)})",
                    sep="\n",
                )
            else:
                print(f"{shown} has no dependencies.")
    except versions.UnknownVersion as unknown:
        raise Failure(str(unknown)) from None
    return 0


def _random_uuid(_: argparse.Namespace) -> int:
    from odradek.metadata.formatting import random_uuid
    from odradek.protocol.uuids import format_uuid
    from odradek.reactor.adapters.rng import SystemRng

    print(format_uuid(random_uuid(SystemRng().stream("uuid"))))
    return 0
