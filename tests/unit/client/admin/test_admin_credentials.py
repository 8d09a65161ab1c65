"""SCRAM credentials of users, which a broker keeps and never tells."""

import hashlib

from admin_kit import kinds, until

from odradek import errors
from odradek.client.admin.credentials import (
    ScramCredentialInfo,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
    _change,
)
from odradek.protocol.vocabulary import ScramMechanism
from odradek.reactor.adapters.rng import SystemRng

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
CHANCE = SystemRng().stream("salts")
Upsertion, Deletion = UserScramCredentialUpsertion, UserScramCredentialDeletion


def test_credentials_are_set_described_and_deleted(admin):
    wanted = [Upsertion("alice", SHA_256, "secret"), Upsertion("alice", SHA_512, b"other", iterations=8192)]
    assert kinds(admin.alter_user_scram_credentials(wanted)) == {"alice": errors.DuplicateResource}
    for each in wanted:
        assert admin.alter_user_scram_credentials([each])["alice"] is None
    both = (ScramCredentialInfo(SHA_256, 4096), ScramCredentialInfo(SHA_512, 8192))
    until(lambda: admin.describe_user_scram_credentials().values_ok == {"alice": both})
    assert admin.describe_user_scram_credentials(["alice"])["alice"] == both
    admin.alter_user_scram_credentials([Deletion("alice", SHA_256)]).raise_any()
    until(lambda: admin.describe_user_scram_credentials(["alice"])["alice"] == both[1:])
    admin.alter_user_scram_credentials([Deletion("alice", SHA_512)]).raise_any()
    until(lambda: dict(admin.describe_user_scram_credentials()) == {})


def test_each_user_has_an_outcome_of_its_own(admin):
    changed = admin.alter_user_scram_credentials(
        [
            Upsertion("good", SHA_256, "secret"),
            Upsertion("short", SHA_256, "secret", iterations=10),
            Upsertion("none", SHA_256, "secret", iterations=0),
            Upsertion("silent", SHA_256, ""),
            Upsertion("strange", ScramMechanism.UNKNOWN, "secret"),
            Deletion("nobody", SHA_256),
        ]
    )
    assert kinds(changed) == {
        "short": errors.UnacceptableCredential,
        "none": errors.UnacceptableCredential,
        "silent": errors.UnacceptableCredential,
        "strange": errors.UnsupportedSaslMechanism,
        "nobody": errors.ResourceNotFound,
    }
    found = until(
        lambda: admin.describe_user_scram_credentials(["good", "silent"]), lambda told: "good" in told.values_ok
    )
    assert found["good"] == (ScramCredentialInfo(SHA_256, 4096),)
    assert kinds(found) == {"silent": errors.ResourceNotFound}


def test_of_a_user_all_changes_are_made_or_none(admin):
    changed = admin.alter_user_scram_credentials([Upsertion("half", SHA_256, "secret"), Upsertion("half", SHA_512, "")])
    assert kinds(changed) == {"half": errors.UnacceptableCredential}
    assert kinds(admin.describe_user_scram_credentials(["half"])) == {"half": errors.ResourceNotFound}


def test_what_is_refused_here_keeps_its_reason_if_the_broker_refuses_the_rest(admin, broker):
    with broker.faults.on("AlterUserScramCredentials").error("CLUSTER_AUTHORIZATION_FAILED"):
        changed = admin.alter_user_scram_credentials([Deletion("", SHA_256), Deletion("alice", SHA_256)])
    assert kinds(changed) == {"": errors.UnacceptableCredential, "alice": errors.ClusterAuthorizationFailed}


def test_nothing_is_sent_if_nothing_can_be(admin, broker):
    with broker.faults.on("AlterUserScramCredentials").error("UNKNOWN_SERVER_ERROR") as fault:
        changed = admin.alter_user_scram_credentials([Deletion("", SHA_256)])
        assert kinds(changed) == {"": errors.UnacceptableCredential}
        assert fault.hits == 0


def test_what_is_sent_is_made_of_the_password_as_scram_says():
    """RFC 5802: Hi() is PBKDF2 with HMAC of the mechanism's hash."""
    sent = _change(Upsertion("alice", SHA_512, "sécret", 5000, b"salt"), CHANCE)
    assert sent.salted_password == hashlib.pbkdf2_hmac("sha512", "sécret".encode(), b"salt", 5000)
    assert (sent.name, sent.mechanism, sent.iterations, sent.salt) == ("alice", SHA_512, 5000, b"salt")


def test_salts_are_drawn():
    first, second = (_change(Upsertion("alice", SHA_256, "secret"), CHANCE) for _ in range(2))
    assert len(first.salt) >= 16
    assert first.salt != second.salt and first.salted_password != second.salted_password


def test_no_password_is_shown():
    assert "hunter2" not in repr(Upsertion("alice", SHA_256, "hunter2"))
