"""From the options of the storage tool to a plan, and Kafka's refusals for options that do not go together."""

from collections.abc import Mapping, Sequence

from odradek.config.parsed import Config
from odradek.metadata import versions
from odradek.metadata.bootstrap import bootstrap_of_levels
from odradek.metadata.formatting import FormatPlan
from odradek.metadata.quorum_config import is_controller, parse_dynamic_voters, quorum_of
from odradek.metadata.scram_argument import credential_of
from odradek.metadata.storage import StorageRefused
from odradek.metadata.versions import KRAFT_VERSION, METADATA_VERSION
from odradek.protocol.releases import Release
from odradek.protocol.uuids import parse_uuid
from odradek.reactor.ports import Stream

_FLAGS = "--standalone, --initial-controllers, or --no-initial-controllers"
_CLUSTER_ID_MAX_CHARS = 255


class FormatOptions:
    """What was asked for; None and empty where nothing was."""

    __slots__ = (
        "add_scram",
        "cluster_id",
        "features",
        "has_no_initial_controllers",
        "initial_controllers",
        "is_standalone",
    )

    def __init__(
        self,
        cluster_id: str,
        *,
        features: Mapping[str, int] | None = None,
        add_scram: Sequence[str] = (),
        is_standalone: bool = False,
        has_no_initial_controllers: bool = False,
        initial_controllers: str | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.features = dict(features or {})
        self.add_scram = add_scram
        self.is_standalone = is_standalone
        self.has_no_initial_controllers = has_no_initial_controllers
        self.initial_controllers = initial_controllers

    @property
    def names_controllers(self) -> bool:
        return self.is_standalone or self.initial_controllers is not None


def plan_of(config: Config, release: Release, level: int, options: FormatOptions, chance: Stream) -> FormatPlan:
    """The plan, or StorageRefused, ConfigError, UnknownVersion or BadScramArgument with one line each."""
    _check_cluster_id(options.cluster_id, release)
    _check_quorum(config, release, options)
    levels = _levels(config, release, level, options)
    credentials = [credential_of(argument, chance) for argument in options.add_scram]
    if credentials and levels[METADATA_VERSION] < versions.SCRAM:
        needed = versions.name_of(versions.SCRAM)
        raise StorageRefused(f"SCRAM is only supported in metadata.version {needed} or later.")
    return FormatPlan(
        config,
        release,
        options.cluster_id,
        levels,
        bootstrap_of_levels(levels, credentials),
        options.is_standalone,
        () if options.initial_controllers is None else parse_dynamic_voters(options.initial_controllers),
    )


def _check_cluster_id(cluster_id: str, release: Release) -> None:
    """A 3.3 takes ids only; a 4.3 whatever can be written down."""
    if not cluster_id or len(cluster_id) > _CLUSTER_ID_MAX_CHARS or not cluster_id.isprintable():
        raise StorageRefused("A cluster ID is a printable text; `odradek storage random-uuid` makes one.")
    if release.has_directory_id:
        return
    try:
        parse_uuid(cluster_id)
    except ValueError:
        raise StorageRefused(
            f"Cluster ID string {cluster_id} does not appear to be a valid UUID: expected 22 characters of URL-safe "
            "base64; `kafka-storage.sh random-uuid` makes one"
        ) from None


def _check_quorum(config: Config, release: Release, options: FormatOptions) -> None:
    if options.names_controllers:
        if not quorum_of(config).is_dynamic:
            raise StorageRefused(
                "You cannot specify controller.quorum.voters and format the node with --initial-controllers or "
                "--standalone. For a dynamic quorum, remove controller.quorum.voters and set "
                "controller.quorum.bootstrap.servers instead."
            )
        if options.is_standalone and not is_controller(config):
            raise StorageRefused("You can only use --standalone on a controller.")
        if not release.has_directory_id:
            raise StorageRefused(f"Release {release.name} has fixed quorums only: set controller.quorum.voters.")
    elif quorum_of(config).is_dynamic and is_controller(config) and not options.has_no_initial_controllers:
        raise StorageRefused(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the "
            f"following: {_FLAGS}."
        )


def _levels(config: Config, release: Release, level: int, options: FormatOptions) -> dict[str, int]:
    """kraft.version follows from how the quorum is named: whoever asks for the other one is mistaken."""
    level = options.features.get(METADATA_VERSION, level)
    versions.check_levels(release, {**options.features, METADATA_VERSION: level})
    levels = {**versions.levels_at_format(release, level), **options.features}
    is_dynamic = quorum_of(config).is_dynamic and (options.names_controllers or options.has_no_initial_controllers)
    asked = options.features.get(KRAFT_VERSION)
    if asked == 1 and not is_dynamic:
        raise StorageRefused(
            f"Cannot set kraft.version to 1 unless controller.quorum.voters is empty and one of the flags {_FLAGS} "
            "is used."
        )
    if asked == 0 and is_dynamic:
        raise StorageRefused(
            f"Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags {_FLAGS} is used."
        )
    if KRAFT_VERSION in levels:
        levels[KRAFT_VERSION] = 1 if is_dynamic else 0
    return levels
