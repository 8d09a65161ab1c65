"""What is said of a node's configs before it starts: why it must not, or what of them has no effect."""

from collections.abc import Mapping

from odradek.broker.start_refused import BadConfig
from odradek.config import ignored
from odradek.config.broker import TABLE
from odradek.config.parsed import Config, typed
from odradek.metadata.quorum_config import quorum_of
from odradek.security import protections

_ROLES = {"broker", "controller"}


def check(config: Config) -> None:
    """Raises BadConfig or ConfigError if the node could not serve, or would serve those who are to be kept out."""
    _check_voters(config)
    protections.check(config)


def check_roles(properties: Mapping[str, object]) -> None:
    """BadConfig for half a node, before anything else is said of its configs: it could not be run were they right."""
    roles = {role.strip() for role in str(properties.get("process.roles", "")).split(",")}
    if len(roles & _ROLES) == 1 and roles < _ROLES:
        raise BadConfig(
            "process.roles must be broker,controller: nodes with one of the two come with the cluster, "
            "which is not built yet"
        )


def check_login(properties: Mapping[str, object], release: str) -> None:
    """MissingProtectionError for configs that break a rule and ask for a login that is not built: that is said first.

    Whoever has mended them would learn only then that they cannot be run.
    """
    protections.check_login(typed(TABLE, properties, release))


def _check_voters(config: Config) -> None:
    """Refuses other voters: they would vote, but a broker asks no controller on another node yet."""
    voters = quorum_of(config).voters
    if len(voters) < 2:
        return
    own = next(voter for voter in voters if voter.id == config["node.id"])
    raise BadConfig(
        f"controller.quorum.voters names {len(voters)} voters: a quorum of several comes with the cluster, which is "
        f"not built yet; set controller.quorum.voters={own.id}@{own.host}:{own.port}"
    )


def warnings(config: Config) -> tuple[str, ...]:
    """Names that nobody knows, configs that have no effect, protection that is not as it looks."""
    return (*config.warnings, *protections.warnings(config), *ignored.lines(_without_effect(config)))


def _without_effect(config: Config) -> list[ignored.Unserved]:
    excused = "authorizer.class.name"  # it would have been refused, or `protections` has words for it
    return [found for found in ignored.in_file(config) if found[0] != excused]
