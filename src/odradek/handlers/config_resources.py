"""The kinds of things that have configs, in the numbers of the protocol."""

from odradek.metadata.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from odradek.protocol.releases import Release

__all__ = ["BROKER", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP", "TOPIC", "is_known"]

_SINCE_3_3 = (TOPIC, BROKER, BROKER_LOGGER)
_SINCE_4_3 = (*_SINCE_3_3, CLIENT_METRICS, GROUP)


def is_known(release: Release, resource_type: int) -> bool:
    return resource_type in (_SINCE_3_3 if release.name == "3.3" else _SINCE_4_3)
