"""ApiVersions: what is told to whom."""

import pytest

from handler_kit import Handlers, Peer, broker, features
from odradek.protocol import releases
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest

CLIENT = {"client_software_name": "apache-kafka-java", "client_software_version": "4.3.0"}
LEVELS_4_3 = features(metadata_version=30, group_version=1, transaction_version=2)


def told(response):
    return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}


def test_what_a_4_3_tells():
    handlers = Handlers(broker(), *LEVELS_4_3)
    response = handlers.ask(ApiVersionsRequest(**CLIENT), 4)
    apis = told(response)
    assert apis[0] == (0, 13)
    assert apis[1] == (4, 18)
    assert apis[3] == (0, 13)
    assert apis[22] == (0, 5)
    assert not apis.keys() & {52, 62, 71, 72}  # not for clients
    assert list(apis) == sorted(apis)
    supported = {feature.name: (feature.min_version, feature.max_version) for feature in response.supported_features}
    assert supported["metadata.version"] == (7, 30)
    assert supported["group.version"] == (0, 1)
    finalized = {feature.name: feature.max_version_level for feature in response.finalized_features}
    assert finalized == {"metadata.version": 30, "group.version": 1, "transaction.version": 2}
    assert all(feature.min_version_level == feature.max_version_level for feature in response.finalized_features)
    assert response.finalized_features_epoch == handlers.cache.image.offset == 3


def test_version_3_leaves_out_features_that_may_be_off():
    response = Handlers(broker(), *LEVELS_4_3).ask(ApiVersionsRequest(**CLIENT), 3)
    assert [feature.name for feature in response.supported_features] == ["metadata.version"]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_old_versions_tell_the_same_apis(version):
    handlers = Handlers()
    assert told(handlers.ask(ApiVersionsRequest(), version)) == told(handlers.ask(ApiVersionsRequest(**CLIENT), 3))


def test_what_a_3_3_tells():
    handlers = Handlers(*features(metadata_version=7), release=releases.RELEASE_3_3)
    response = handlers.ask(ApiVersionsRequest(**CLIENT), 3)
    apis = told(response)
    assert apis[0] == (0, 9)
    assert apis[18] == (0, 3)
    assert not apis.keys() & {38, 50, 51, 74, 75, 80}
    assert [(f.name, f.min_version, f.max_version) for f in response.supported_features] == [("metadata.version", 1, 7)]
    assert [(f.name, f.max_version_level) for f in response.finalized_features] == [("metadata.version", 7)]


def test_a_controller_tells_its_own_apis():
    handlers = Handlers(*LEVELS_4_3, kind=releases.CONTROLLER)
    apis = told(handlers.ask(ApiVersionsRequest(**CLIENT), 3))
    assert {1, 18, 19, 52, 55, 60, 62, 63} <= apis.keys()
    assert 3 not in apis
    of_3_3 = Handlers(*features(metadata_version=7), kind=releases.CONTROLLER, release=releases.RELEASE_3_3)
    response = of_3_3.ask(ApiVersionsRequest(**CLIENT), 3)
    assert (response.finalized_features, response.finalized_features_epoch) == ([], -1)


@pytest.mark.contract("E34")
@pytest.mark.parametrize("name", ["", "bad name!", "-a", "a-", ".a", "a\n"])
def test_a_software_name_is_a_plain_word(name):
    peer = Peer()
    response = Handlers().ask(ApiVersionsRequest(client_software_name=name, client_software_version="1"), 3, peer)
    assert (response.error_code, response.api_keys) == (42, [])
    assert peer.client_software_name == ""


def test_of_a_long_name_only_the_beginning_is_kept():
    peer = Peer()
    long = {"client_software_name": "n" * 30_000, "client_software_version": "v" * 30_000}
    assert Handlers().ask(ApiVersionsRequest(**long), 3, peer).error_code == 0
    assert (peer.client_software_name, peer.client_software_version) == ("n" * 128, "v" * 128)


@pytest.mark.contract("E33", "E34")
def test_the_connection_learns_the_clients_software():
    peer = Peer()
    Handlers().ask(ApiVersionsRequest(**CLIENT), 3, peer)
    assert (peer.client_software_name, peer.client_software_version) == ("apache-kafka-java", "4.3.0")


def test_without_metadata_no_finalized_features_are_told():
    assert Handlers().ask(ApiVersionsRequest(**CLIENT), 3).finalized_features_epoch == -1


def test_a_connection_that_has_not_authenticated_gets_the_same_answer():
    handlers, peer = Handlers(), Peer()
    peer.authenticator = object()
    assert handlers.ask(ApiVersionsRequest(**CLIENT), 3, peer) == handlers.ask(ApiVersionsRequest(**CLIENT), 3)
