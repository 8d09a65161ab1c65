"""Whether this cluster serves share groups (KIP-932)."""

from odradek.handlers.call import Call
from odradek.protocol import errors

FEATURE = "share.version"
MEMBER_ID_CHARACTERS_MAX = 36  # as long as an id in Java's form


def demand_share_groups(call: Call) -> None:
    """UnsupportedVersion while `share.version` is 0."""
    if not call.services.metadata.finalized_features.get(FEATURE, 0):
        raise errors.UnsupportedVersion()
