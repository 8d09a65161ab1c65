"""Whether this cluster serves share groups (KIP-932)."""

from odradek.broken_rule import present
from odradek.handlers.broker_parts import Shares
from odradek.handlers.call import BrokerCall
from odradek.protocol import errors

FEATURE = "share.version"
MEMBER_ID_CHARACTERS_MAX = 36  # as long as an id in Java's form


def demand_share_groups(call: BrokerCall) -> None:
    """Raises UnsupportedVersion while the feature `share.version` is 0."""
    if not call.services.metadata.finalized_features.get(FEATURE, 0):
        raise errors.UnsupportedVersion()


def shares_of(call: BrokerCall) -> Shares:
    """What serves share groups on this broker, for the APIs that no release without share groups has."""
    return present(call.services.shares, "a release that serves the APIs of share groups has share groups")
