"""The API table against the tables of three releases of Kafka."""

import json
from pathlib import Path

import pytest

from odradek.protocol import apis, errors

DATA = Path(__file__).parents[2] / "golden" / "data"
NEWEST_FIRST = ("4.3.0", "3.9.1", "3.3.2")


def kafka_rows(release):
    """The rows of a release; 4.3.0 still names a few APIs of which it has no version, and these do not count."""
    rows = json.loads((DATA / f"apis-{release}.json").read_text())
    return {row["id"]: row for row in rows if row["has_valid_version"]}


KAFKA = {release: kafka_rows(release) for release in NEWEST_FIRST}
KEYS = sorted(set().union(*KAFKA.values()))


def rows_of(key):
    return [KAFKA[release][key] for release in NEWEST_FIRST if key in KAFKA[release]]


def test_every_key_of_every_release_has_a_row():
    assert [api.key for api in apis.ALL] == KEYS
    assert len(KEYS) == 93


@pytest.mark.parametrize("key", KEYS)
def test_row_is_that_of_the_newest_release_that_has_the_api(key):
    api, newest = apis.by_key(key), rows_of(key)[0]
    assert (api.name, api.message) == (newest["name"], newest["message"])
    assert api.listeners == set(newest["listeners"])
    assert api.forwardable is newest["forwardable"]
    assert api.cluster_action is newest["cluster_action"]


@pytest.mark.parametrize("key", KEYS)
def test_versions_are_the_union_of_the_releases(key):
    api = apis.by_key(key)
    assert api.versions.start == min(row["min"] for row in rows_of(key))
    assert api.versions[-1] == max(row["max"] for row in rows_of(key))


@pytest.mark.parametrize("key", KEYS)
def test_unstable_versions_are_stable_in_no_release(key):
    api = apis.by_key(key)
    stable = {version for row in rows_of(key) for version in range(row["min"], row["max_stable"] + 1)}
    assert set(api.unstable) == set(api.versions) - stable


def test_the_known_unstable_versions():
    unstable = {api.message: list(api.unstable) for api in apis.ALL if api.unstable}
    assert unstable == {
        "InitProducerId": [6],
        "ShareGroupHeartbeat": [0],
        "ShareGroupDescribe": [0],
        "ShareFetch": [0],
        "ShareAcknowledge": [0],
    }


@pytest.mark.parametrize("release", NEWEST_FIRST)
def test_header_versions_of_every_api_and_version(release):
    ours, kafkas = {}, {}
    for key, row in KAFKA[release].items():
        api = apis.by_key(key)
        for version in range(row["min"], row["max"] + 1):
            kafkas[key, version] = (
                row["request_header_version"][str(version)],
                row["response_header_version"][str(version)],
            )
            ours[key, version] = (api.request_header_version(version), api.response_header_version(version))
    assert len(kafkas) > 200
    assert ours == kafkas


def test_the_two_exceptions_to_the_header_rule():
    shutdown, api_versions = apis.by_name("CONTROLLED_SHUTDOWN"), apis.by_name("API_VERSIONS")
    assert [shutdown.request_header_version(version) for version in shutdown.versions] == [0, 1, 1, 2]
    assert [api_versions.response_header_version(version) for version in api_versions.versions] == [0] * 5


def test_flexible_since_none_means_never():
    handshake = apis.by_name("SaslHandshake")
    assert handshake.flexible_since is None
    assert not handshake.is_flexible(1000)


def test_header_of_a_future_api_versions_can_be_read():
    assert 99 not in apis.by_key(18).versions
    assert apis.by_key(18).request_header_version(99) == 2


def test_both_spellings_of_a_name():
    assert apis.by_name("DESCRIBE_ACLS") is apis.by_name("DescribeAcls") is apis.by_key(29)


@pytest.mark.parametrize("key", [-1, 93, 32767])
def test_unknown_key_is_an_invalid_request(key):
    with pytest.raises(errors.InvalidRequest, match=str(key)):
        apis.by_key(key)


def test_unknown_name():
    with pytest.raises(LookupError, match="'Fetsch'"):
        apis.by_name("Fetsch")
