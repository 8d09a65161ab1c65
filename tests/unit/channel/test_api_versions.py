"""The version to ask a node in."""

import re

import pytest

from odradek.channel.api_versions import ApiVersions, NodeApiVersions, known_versions, next_attempt
from odradek.channel.throttle import throttle_ms
from odradek.protocol import apis, registry
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey

METADATA, INIT_PRODUCER_ID = 3, 22


@pytest.mark.contract("C17")
@pytest.mark.parametrize(("served", "expected"), [((0, 5), 5), ((0, 99), 13), ((13, 20), 13)])
def test_the_newest_version_that_both_know(served, expected):
    assert NodeApiVersions({METADATA: served}).newest(METADATA) == expected


@pytest.mark.parametrize("served", [(14, 20), None])
def test_a_node_that_has_no_version_in_common_is_an_error_that_says_so(served):
    versions = NodeApiVersions({} if served is None else {METADATA: served})
    with pytest.raises(UnsupportedVersion, match="does not support METADATA"):
        versions.newest(METADATA)


def test_unstable_versions_are_not_spoken():
    assert known_versions(INIT_PRODUCER_ID) == (0, 5)


def test_a_response_is_read_into_ranges_and_features():
    response = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=3, min_version=1, max_version=7)],
        finalized_features=[FinalizedFeatureKey(name="metadata.version", max_version_level=20, min_version_level=20)],
    )
    versions = NodeApiVersions.from_response(response)
    assert versions.ranges == {3: (1, 7)}
    assert versions.finalized_features == {"metadata.version": 20}


def test_the_cache_chooses_by_node_and_forgets():
    cache = ApiVersions()
    cache.update(1, NodeApiVersions({METADATA: (0, 5)}))
    assert cache.version(1, METADATA) == 5
    assert cache.version(1, METADATA, 4) == 4
    with pytest.raises(UnsupportedVersion, match="METADATA in version 6; it has 0 to 5"):
        cache.version(1, METADATA, 6)
    cache.remove(1)
    assert cache.version(1, METADATA) == 13  # nothing is known: everything is assumed


@pytest.mark.contract("A35")
def test_what_all_connected_nodes_serve_is_usable():
    cache = ApiVersions()
    cache.update(1, NodeApiVersions({METADATA: (0, 12), 68: (0, 1)}))
    cache.update(2, NodeApiVersions({METADATA: (0, 9)}))
    assert cache.usable([METADATA, 68]) == {METADATA: 9}
    assert ApiVersions().usable([METADATA]) == {METADATA: 13}


@pytest.mark.parametrize(("served", "refused", "expected"), [(1, 4, 1), (9, 4, 3), (None, 4, 0)])
def test_the_next_attempt_is_always_a_lower_version(served, refused, expected):
    keys = [] if served is None else [ApiVersion(api_key=18, min_version=0, max_version=served)]
    assert next_attempt(ApiVersionsResponse(error_code=35, api_keys=keys), refused) == expected


def _first_version_the_client_waits(api):
    """As the history in the message's own file tells."""
    import sys

    history = sys.modules[registry.request(api.key).__module__].__doc__
    found = re.search(r"^ +(\d+) [^\n]*(?:\n {8,}[^\n]*)*?\(KIP-219\)", history, re.MULTILINE)
    return int(found[1]) if found else None


@pytest.mark.contract("C15")
@pytest.mark.parametrize("api", [api for api in apis.ALL if api.key < 43], ids=lambda api: api.name)
def test_who_waits_for_a_quota_is_as_the_messages_tell(api):
    class Throttled:
        throttle_time_ms = 7

    first = _first_version_the_client_waits(api)
    obeyed = [version for version in api.versions if throttle_ms(api.key, version, Throttled())]
    assert obeyed == ([] if first is None else [version for version in api.versions if version >= first])


def test_apis_that_came_later_leave_the_wait_to_the_client():
    class Throttled:
        throttle_time_ms = 7

    assert throttle_ms(68, 0, Throttled()) == 7
    assert throttle_ms(36, 2, object()) == 0
