"""What each node serves, as its ApiVersions answer told, and the version to ask it in. No I/O."""

from collections.abc import Iterable, Mapping
from functools import cache

from odradek.protocol import apis
from odradek.protocol.apis import API_VERSIONS
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.messages.k18_api_versions import ApiVersionsResponse


class NodeApiVersions:
    """`ranges` is by API key: the lowest and the highest version that the node serves."""

    __slots__ = ("_newest", "finalized_features", "ranges")

    def __init__(self, ranges: Mapping[int, tuple[int, int]], finalized_features: Mapping[str, int] | None = None):
        self.ranges = ranges
        self.finalized_features = finalized_features or {}
        self._newest: dict[int, int] = {}  # those that were asked for

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> "NodeApiVersions":
        ranges = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
        features = {each.name: each.max_version_level for each in response.finalized_features}
        return cls(ranges, features)

    def newest(self, api_key: int) -> int:
        """The highest version that both sides know; UnsupportedVersion if there is none."""
        newest = self._newest.get(api_key)
        if newest is None:
            newest = self._newest[api_key] = self._newest_of(api_key)
        return newest

    def _newest_of(self, api_key: int) -> int:
        api = apis.by_key(api_key)
        if api_key not in self.ranges:
            raise UnsupportedVersion(f"The node does not support {api.name}.")
        lowest, highest = self.ranges[api_key]
        oldest, latest = known_versions(api_key)
        usable = min(latest, highest)
        if usable < max(oldest, lowest):
            raise UnsupportedVersion(
                f"The node does not support {api.name} in any version from {oldest} to {latest}; it has {lowest} to "
                f"{highest}."
            )
        return usable

    def check(self, api_key: int, version: int) -> None:
        """UnsupportedVersion if the node does not serve just this version."""
        lowest, highest = self.ranges.get(api_key, (0, -1))
        if not lowest <= version <= highest:
            has = f"it has {lowest} to {highest}" if highest >= lowest else "it does not have this API"
            raise UnsupportedVersion(
                f"The node does not support {apis.by_key(api_key).name} in version {version}; {has}."
            )


class ApiVersions:
    """The cache: what the nodes that are connected serve."""

    __slots__ = ("_by_node",)

    def __init__(self) -> None:
        self._by_node: dict[int, NodeApiVersions] = {}

    def update(self, node_id: int, versions: NodeApiVersions) -> None:
        self._by_node[node_id] = versions

    def remove(self, node_id: int) -> None:
        self._by_node.pop(node_id, None)

    def get(self, node_id: int) -> NodeApiVersions | None:
        return self._by_node.get(node_id)

    def version(self, node_id: int, api_key: int, wanted: int | None = None) -> int:
        """The version to ask the node in: the wanted one, or the newest; UnsupportedVersion if it cannot be.

        Of a node that was not asked what it serves, everything is assumed.
        """
        versions = self._by_node.get(node_id)
        if versions is None:
            return known_versions(api_key)[1] if wanted is None else wanted
        if wanted is None:
            return versions.newest(api_key)
        versions.check(api_key, wanted)
        return wanted

    def version_up_to(self, node_id: int, api_key: int, newest: int | None) -> int:
        """The newest version that is none of those after `newest`."""
        version = self.version(node_id, api_key)
        if newest is None or version <= newest:
            return version
        return self.version(node_id, api_key, newest)

    def usable(self, api_keys: Iterable[int]) -> dict[int, int]:
        """By API key, the newest version that every connected node serves; those that one of them lacks are left out.

        A core is made with such a table (`client.core.Versions`).
        """
        found: dict[int, int] = {}
        for key in api_keys:
            try:
                found[key] = min((each.newest(key) for each in self._by_node.values()), default=known_versions(key)[1])
            except UnsupportedVersion:
                continue
        return found


@cache
def known_versions(api_key: int) -> tuple[int, int]:
    """What we speak ourselves: all that was ever released as stable."""
    api = apis.by_key(api_key)
    stable = [version for version in api.versions if version not in api.unstable]
    if not stable:
        raise UnsupportedVersion(f"{api.name} has no stable version.")
    return stable[0], stable[-1]


def next_attempt(response: ApiVersionsResponse, refused: int) -> int:
    """In which version to ask a node again that does not serve the refused one (KIP-511): always a lower one."""
    served = [each.max_version for each in response.api_keys if each.api_key == API_VERSIONS]
    return min(served[0], refused - 1) if served else 0
