"""Requests that older brokers have no words for."""

from odradek.channel.core import ByVersion
from odradek.protocol.declare import Request
from odradek.protocol.errors import UnsupportedVersion


def from_version(version_min: int, request: Request, what: str) -> ByVersion:
    """The request, or UnsupportedVersion where the broker does not know `what` it asks for."""

    def build(version: int) -> Request:
        if version < version_min:
            raise UnsupportedVersion(f"The broker does not support {what}.")
        return request

    return ByVersion(request.api_key, build)
