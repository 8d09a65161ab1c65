"""The kinds of things that have configs, in the numbers of the protocol."""

from odradek.config.vocabulary import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from odradek.protocol.releases import Release

__all__ = ["BROKER", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP", "TOPIC", "is_known"]

_ALWAYS = (TOPIC, BROKER, BROKER_LOGGER)


def is_known(release: Release, resource_type: int) -> bool:
    if resource_type == CLIENT_METRICS:
        return release.behaviour.has_client_metrics
    return resource_type in _ALWAYS or (resource_type == GROUP and release.behaviour.has_group_configs)
