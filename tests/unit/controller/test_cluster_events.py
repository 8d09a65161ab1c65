"""Features, ACLs, client quotas and SCRAM credentials. Codes and words are those of a 4.3.0, asked the same."""

import hashlib
import hmac
from typing import Any

import pytest

from controllers import Harness
from odradek.protocol import releases
from odradek.protocol.errors import SecurityDisabled, UnsupportedVersion
from odradek.protocol.messages import k30_create_acls as k30
from odradek.protocol.messages import k31_delete_acls as k31
from odradek.protocol.messages import k49_alter_client_quotas as k49
from odradek.protocol.messages import k51_alter_user_scram_credentials as k51
from odradek.protocol.messages import k57_update_features as k57
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord

FAILED = "The update failed for all features since the following feature had an error: "


@pytest.fixture
def harness() -> Harness:
    made = Harness()
    made.brokers(1)
    return made


# Features


def update(harness: Harness, *updates: tuple[str, int, int], version: int = 1, validate_only: bool = True) -> Any:
    wanted = [k57.FeatureUpdateKey(feature=f, max_version_level=level, upgrade_type=t) for f, level, t in updates]
    request = k57.UpdateFeaturesRequest(feature_updates=wanted, validate_only=validate_only)
    return harness.run(lambda core: core.update_features(request, version, 1))


@pytest.mark.parametrize(
    ("feature", "level", "upgrade_type", "words"),
    [
        (
            "metadata.version",
            99,
            1,
            "Invalid update version 99 for feature metadata.version. Local controller 1 only supports versions 7-30",
        ),
        (
            "metadata.version",
            29,
            1,
            "Invalid update version 29 for feature metadata.version. Can't downgrade the version of this feature"
            " without setting the upgrade type to either safe or unsafe downgrade.",
        ),
        (
            "metadata.version",
            29,
            2,
            "Unsupported metadata.version downgrade from 30 to 29. Refusing to perform the requested downgrade because"
            " it might delete metadata information.",
        ),
        (
            "metadata.version",
            29,
            3,
            "Unsupported metadata.version downgrade from 30 to 29. Unsafe metadata downgrade is not supported in this"
            " version.",
        ),
        (
            "group.version",
            1,
            0,
            "Invalid update version 1 for feature group.version. The controller does not support the given upgrade"
            " type.",
        ),
        (
            "group.version",
            -1,
            2,
            "Invalid update version -1 for feature group.version. A feature version cannot be less than 0.",
        ),
        ("nope", 0, 2, "Invalid update version 0 for feature nope. Feature nope not found."),
        ("", 1, 1, "Invalid update version 1 for feature . Local controller 1 does not support this feature."),
    ],
)
def test_updates_that_are_refused(harness: Harness, feature: str, level: int, upgrade_type: int, words: str) -> None:
    response = update(harness, (feature, level, upgrade_type))
    assert (response.error_code, response.error_message) == (95, FAILED + words)


def test_levels_go_up_and_down_as_asked(harness: Harness) -> None:
    assert update(harness, ("group.version", 1, 1), ("transaction.version", 2, 1)).error_code == 0
    assert harness.core.features.finalized == {"metadata.version": 30}, "it was a dry run"
    update(harness, ("group.version", 1, 1), ("transaction.version", 2, 1), validate_only=False)
    assert harness.core.features.finalized == {"metadata.version": 30, "group.version": 1, "transaction.version": 2}
    response = update(harness, ("group.version", 0, 2), ("nope", 1, 1), validate_only=False)
    assert response.error_code == 95
    assert harness.core.features.finalized["group.version"] == 1, "all or none"
    update(harness, ("group.version", 0, 2), validate_only=False)
    assert "group.version" not in harness.core.features.finalized
    assert update(harness, ("kraft.version", 1, 1)).error_code == 0


def test_a_level_that_a_broker_does_not_know_is_refused(harness: Harness) -> None:
    features = [f for f in harness.registration(2).features if f.name != "group.version"]
    harness.register(2, features=features)
    response = update(harness, ("group.version", 1, 1))
    assert "Broker 2 does not support this feature." in response.error_message


def test_a_3_3_answers_for_each_feature() -> None:
    harness = Harness(release=releases.RELEASE_3_3)
    harness.brokers(1)
    response = update(harness, ("metadata.version", 8, 1), ("metadata.version", 7, 1))
    assert (response.error_code, response.results[0].error_code) == (0, 0)
    response = update(harness, ("metadata.version", 8, 1))
    assert response.results[0].error_code == 95
    (refused,) = update(harness, ("metadata.version", 3, 2)).results
    assert refused.error_message == "Invalid metadata.version 3. Unable to set a metadata.version less than 3.3-IV0"


def test_a_safe_downgrade_over_levels_that_changed_nothing() -> None:
    harness = Harness()
    harness.core.replay(FeatureLevelRecord(name="metadata.version", feature_level=29), 0)
    assert update(harness, ("metadata.version", 24, 2)).error_code == 0
    assert update(harness, ("metadata.version", 22, 2)).error_code == 95, "23 brought eligible leader replicas"


# ACLs

ENTRY = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:z",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
FILTER = {
    "resource_type_filter": 2,
    "resource_name_filter": "t",
    "pattern_type_filter": 3,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def create_acls(harness: Harness, *changes: dict[str, Any]) -> list[tuple[int, str | None]]:
    creations = [k30.AclCreation(**{**ENTRY, **change}) for change in changes]
    response = harness.run(lambda core: core.create_acls(k30.CreateAclsRequest(creations=creations)))
    return [(result.error_code, result.error_message) for result in response.results]


def delete_acls(harness: Harness, *changes: dict[str, Any]) -> list[list[tuple[str, int]]]:
    filters = [k31.DeleteAclsFilter(**{**FILTER, **change}) for change in changes]
    response = harness.run(lambda core: core.delete_acls(k31.DeleteAclsRequest(filters=filters)))
    return [
        sorted((acl.resource_name, acl.pattern_type) for acl in result.matching_acls)
        for result in response.filter_results
    ]


def test_entries_are_checked_one_by_one(harness: Harness) -> None:
    assert create_acls(harness, {}, {"resource_name": ""}, {"permission_type": 1}, {"principal": ""}, {"host": ""}) == [
        (0, ""),
        (42, "Invalid empty resource name"),
        (-1, None),
        (
            42,
            "Could not parse principal from `` (no colon is present separating the principal type from the principal"
            " name)",
        ),
        (0, ""),
    ]
    assert len(harness.core.acls.by_key) == 2


def test_an_entry_that_is_there_is_not_written_again(harness: Harness) -> None:
    create_acls(harness, {}, {})
    end = harness.quorum.log_end_offset
    assert create_acls(harness, {}) == [(0, "")]
    assert harness.quorum.log_end_offset == end


def test_filters(harness: Harness) -> None:
    every = [{"resource_name": "topic"}, {"resource_name": "*"}, {"resource_name": "to", "resource_pattern_type": 4}]
    create_acls(harness, *every, {"resource_name": "other"}, {"resource_type": 3, "resource_name": "topic"})
    assert delete_acls(harness, {"resource_name_filter": "top"}) == [[]]
    any_of_them = {"resource_name_filter": "topic", "pattern_type_filter": 2}
    assert delete_acls(harness, any_of_them, {"resource_name_filter": "topic"}) == [
        [("*", 3), ("to", 4), ("topic", 3)],
        [("topic", 3)],
    ], "one that matches twice is told twice, and removed once"
    assert delete_acls(harness, {"resource_type_filter": 1, "resource_name_filter": None}) == [
        [("other", 3), ("topic", 3)]
    ]
    assert harness.core.acls.by_key == {}
    harness.core.validate()


def test_no_acls_without_an_authorizer() -> None:
    harness = Harness(**{"authorizer.class.name": ""})
    with pytest.raises(SecurityDisabled):
        create_acls(harness, {})
    with pytest.raises(SecurityDisabled):
        delete_acls(harness, {})


# Client quotas


def quota(
    harness: Harness, entity: list[tuple[str, str | None]], *ops: tuple[str, float, bool], validate_only: bool = False
) -> tuple[int, str | None]:
    entry = k49.EntryData(
        entity=[k49.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[k49.OpData(key=key, value=value, remove=remove) for key, value, remove in ops],
    )
    request = k49.AlterClientQuotasRequest(entries=[entry], validate_only=validate_only)
    result = harness.run(lambda core: core.alter_client_quotas(request)).entries[0]
    return result.error_code, result.error_message


@pytest.mark.parametrize(
    ("entity", "op", "words"),
    [
        ([("user", "u")], ("producer_byte_rate", 0.0, False), "Quota producer_byte_rate must be greater than 0"),
        ([("user", "u")], ("producer_byte_rate", 1.5, False), "producer_byte_rate cannot be a fractional value."),
        ([("user", "u")], ("request_percentage", 1.5, False), None),
        ([("user", "u")], ("request_percentage", float("nan"), False), None),
        ([("ip", "1.2.3.4")], ("producer_byte_rate", 5.0, False), "Invalid configuration key producer_byte_rate"),
        (
            [("ip", "1.2.3.4")],
            ("connection_creation_rate", 5.5, False),
            "connection_creation_rate cannot be a fractional value.",
        ),
        ([("user", "u")], ("SCRAM-SHA-256", 5.0, False), "Invalid configuration key SCRAM-SHA-256"),
        ([("user", "")], ("producer_byte_rate", 5.0, False), "Empty user not supported"),
        ([("user", "zz")], ("producer_byte_rate", 5.0, True), None),
        ([("ip", "localhost")], ("connection_creation_rate", 5.0, False), None),
        ([("client-id", "c"), ("user", None)], ("consumer_byte_rate", 5.0, False), None),
        (
            [("user", "u")],
            ("producer_byte_rate", float("inf"), False),
            "Proposed value for producer_byte_rate is too large for a LONG.",
        ),
        ([("user", "u")], ("producer_byte_rate", 2.0**63, False), None),
        ([("user", "u")], ("producer_byte_rate", float("nan"), False), None),
        ([("user", "u")], ("producer_byte_rate", 1.0000009, False), None),
        ([("user", "u")], ("producer_byte_rate", 2.9999999, False), "producer_byte_rate cannot be a fractional value."),
        ([("ip", "1.2.3.4")], ("connection_creation_rate", 2.0**31 - 1, False), None),
        (
            [("ip", "1.2.3.4")],
            ("connection_creation_rate", 2.0**31, False),
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
    ],
)
def test_quotas(
    harness: Harness, entity: list[tuple[str, str | None]], op: tuple[str, float, bool], words: str | None
) -> None:
    assert quota(harness, entity, op) == (0 if words is None else 42, words)


@pytest.mark.parametrize("key", ["producer_byte_rate", "connection_creation_rate"])
def test_quotas_of_a_3_3_are_whole_numbers_from_0_on(key: str) -> None:
    harness = Harness(release=releases.RELEASE_3_3)
    entity: list[tuple[str, str | None]] = [("user", "u") if key == "producer_byte_rate" else ("ip", "1.2.3.4")]
    for value in (0.0, -1e-7, 1.0000009, 2.9999999, 2.0**63, float("nan")):
        assert quota(harness, entity, (key, value, False)) == (0, None), value
    refused = (42, f"Configuration {key} must be a Long value")
    for value in (-1.0, -0.5, -1e300, 0.5, 1.0000011, 2.999998, 1e300, float("inf")):
        assert quota(harness, entity, (key, value, False)) == refused, value


def test_other_quotas_of_a_3_3_are_any_numbers() -> None:
    harness = Harness(release=releases.RELEASE_3_3)
    for value in (-1.0, 0.0, 0.5, 1e300):
        assert quota(harness, [("user", "u")], ("request_percentage", value, False)) == (0, None)


def test_quotas_are_set_changed_and_removed(harness: Harness) -> None:
    user = [("user", "u"), ("client-id", "c")]
    quota(harness, user, ("producer_byte_rate", 10.0, False), ("consumer_byte_rate", 20.0, False))
    key = (("client-id", "c"), ("user", "u"))
    assert harness.core.client_quotas.by_key == {key: {"producer_byte_rate": 10.0, "consumer_byte_rate": 20.0}}
    quota(harness, user, ("producer_byte_rate", 10.0, True), validate_only=True)
    quota(harness, user, ("consumer_byte_rate", 0.0, True))
    assert harness.core.client_quotas.by_key == {key: {"producer_byte_rate": 10.0}}
    quota(harness, user, ("producer_byte_rate", 0.0, True))
    assert harness.core.client_quotas.by_key == {}
    harness.core.validate()


# SCRAM credentials

GOOD = {"mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"x" * 32}


def scram(harness: Harness, upsertions: list[Any], deletions: list[Any] | None = None) -> dict[str, Any]:
    request = k51.AlterUserScramCredentialsRequest(upsertions=upsertions, deletions=deletions or [])
    results = harness.run(lambda core: core.alter_scram_credentials(request)).results
    return {result.user: (result.error_code, result.error_message) for result in results}


def test_credentials_hold_keys_and_no_password(harness: Harness) -> None:
    assert scram(harness, [k51.ScramCredentialUpsertion(name="u", **GOOD)]) == {"u": (0, None)}
    credential = harness.core.scram.by_key[1, "u"]
    client_key = hmac.digest(b"x" * 32, b"Client Key", "sha256")
    assert credential.stored_key == hashlib.sha256(client_key).digest()
    assert credential.server_key == hmac.digest(b"x" * 32, b"Server Key", "sha256")
    deletion = k51.ScramCredentialDeletion(name="u", mechanism=1)
    assert scram(harness, [], [deletion]) == {"u": (0, None)}
    assert harness.core.scram.by_key == {}


def test_credentials_that_are_refused(harness: Harness) -> None:
    def upsert(name: str, **changes: Any) -> Any:
        return k51.ScramCredentialUpsertion(name=name, **{**GOOD, **changes})

    answers = scram(
        harness,
        [
            upsert("many", iterations=20_000),
            upsert("twice"),
            upsert("twice"),
            upsert("both", mechanism=1),
            upsert("both", mechanism=2),
            upsert("gone"),
            upsert("bare", salted_password=b""),
            upsert("fine"),
        ],
        [k51.ScramCredentialDeletion(name="gone", mechanism=1), k51.ScramCredentialDeletion(name="x", mechanism=7)],
    )
    assert answers == {
        "gone": (91, "Attempt to delete a user credential that does not exist"),
        "x": (33, "Unknown SCRAM mechanism"),
        "many": (93, "Too many iterations"),
        "twice": (92, "A user credential cannot be altered twice in the same request"),
        "both": (92, "A user credential cannot be altered twice in the same request"),
        "bare": (-1, None),
        "fine": (0, None),
    }
    assert list(harness.core.scram.by_key) == [(1, "fine")]


def test_a_3_3_has_no_scram_in_its_metadata() -> None:
    harness = Harness(release=releases.RELEASE_3_3)
    with pytest.raises(UnsupportedVersion):
        scram(harness, [k51.ScramCredentialUpsertion(name="u", **GOOD)])
