"""Delegation tokens: our brokers make none, and say why in Kafka's words."""

import pytest

from odradek import errors
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.delegation_tokens import DelegationToken, _created, _described
from odradek.protocol.messages.k38_create_delegation_token import CreateDelegationTokenResponse
from odradek.protocol.messages.k41_describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
)
from sasl_listener import sasl_properties
from started import broker as started_broker

CALLS = {
    "create": lambda admin: admin.create_delegation_token(renewers=["User:bob"], owner="User:alice"),
    "renew": lambda admin: admin.renew_delegation_token(b"secret"),
    "expire": lambda admin: admin.expire_delegation_token(b"secret"),
    "describe": lambda admin: admin.describe_delegation_token(["User:alice"]),
}


@pytest.mark.parametrize("call", CALLS)
def test_who_has_not_logged_in_may_not_ask(admin, call):
    with pytest.raises(errors.DelegationTokenRequestNotAllowed):
        CALLS[call](admin)


@pytest.fixture(scope="module")
def alice(tmp_path_factory):
    """A client that has logged in."""
    properties = sasl_properties("4.3", tmp_path_factory.mktemp("sasl"))
    login = 'PlainLoginModule required username="alice" password="alice-secret";'
    with (
        started_broker(config=properties) as (host, port),
        AdminClient(
            bootstrap_servers=f"{host}:{port}",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_jaas_config=login,
        ) as client,
    ):
        yield client


@pytest.mark.parametrize("call", CALLS)
def test_who_has_logged_in_is_told_that_there_are_none(alice, call):
    with pytest.raises(errors.DelegationTokenAuthDisabled):
        CALLS[call](alice)


@pytest.mark.parametrize("text", ["alice", "User:", ":alice"])
def test_a_principal_has_a_type_and_a_name(admin, text):
    for call in (
        lambda: admin.create_delegation_token(owner=text),
        lambda: admin.create_delegation_token(renewers=[text]),
        lambda: admin.describe_delegation_token([text]),
    ):
        with pytest.raises(errors.InvalidPrincipalType, match="is written as User:name"):
            call()


TOKEN = DelegationToken("id", b"hmac", "User:alice", "User:bob", ("User:carol",), 1, 2, 3)


def test_a_token_as_it_is_answered_when_made():
    answer = CreateDelegationTokenResponse(
        principal_type="User",
        principal_name="alice",
        token_requester_principal_type="User",
        token_requester_principal_name="bob",
        issue_timestamp_ms=1,
        expiry_timestamp_ms=2,
        max_timestamp_ms=3,
        token_id="id",
        hmac=b"hmac",
    )
    assert _created(answer, ("User:carol",)) == TOKEN


def test_a_token_as_it_is_described():
    carol = DescribedDelegationTokenRenewer(principal_type="User", principal_name="carol")
    answer = DescribedDelegationToken(
        principal_type="User",
        principal_name="alice",
        token_requester_principal_type="User",
        token_requester_principal_name="bob",
        issue_timestamp=1,
        expiry_timestamp=2,
        max_timestamp=3,
        token_id="id",
        hmac=b"hmac",
        renewers=[carol],
    )
    assert _described(answer) == TOKEN
    answer.token_requester_principal_type = answer.token_requester_principal_name = ""  # an older broker
    assert _described(answer) == TOKEN._replace(requester="")


def test_no_secret_is_shown():
    token = DelegationToken("id", b"hunter2", "User:alice", "User:alice", (), 0, 0, 0)
    assert repr(token) == "DelegationToken('id', owner='User:alice')"
