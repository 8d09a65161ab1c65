"""Quotas that are set, found by filters, and removed."""

import pytest
from admin_kit import kinds, until

from odradek import errors
from odradek.client.admin.quotas import (
    CLIENT_ID,
    IP,
    USER,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClientQuotaFilterComponent,
)
from odradek.protocol.vocabulary import QuotaMatch

ALICE = ClientQuotaEntity({USER: "alice"})
ALL_USERS = ClientQuotaEntity({USER: None})
ALICE_AT_APP = ClientQuotaEntity({USER: "alice", CLIENT_ID: "app"})
HOST = ClientQuotaEntity({IP: "10.0.0.1"})

QUOTAS = {
    ALICE: {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0},
    ALL_USERS: {"producer_byte_rate": 10.0},
    ALICE_AT_APP: {"request_percentage": 12.5},
    HOST: {"connection_creation_rate": 5.0},
}


@pytest.fixture
def quotas(admin):
    admin.alter_client_quotas(QUOTAS).raise_any()
    until(lambda: admin.describe_client_quotas() == QUOTAS)
    yield
    admin.alter_client_quotas({who: dict.fromkeys(has) for who, has in QUOTAS.items()}).raise_any()
    until(lambda: admin.describe_client_quotas() == {})


def component(kind, match=QuotaMatch.SPECIFIED, name=None):
    return ClientQuotaFilterComponent(kind, match, name)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (ClientQuotaFilter(), set(QUOTAS)),
        (ClientQuotaFilter([component(USER)]), {ALICE, ALL_USERS, ALICE_AT_APP}),
        (ClientQuotaFilter([component(USER)], strict=True), {ALICE, ALL_USERS}),
        (ClientQuotaFilter([component(USER, QuotaMatch.DEFAULT)]), {ALL_USERS}),
        (ClientQuotaFilter([component(USER, QuotaMatch.EXACT, "alice")]), {ALICE, ALICE_AT_APP}),
        (ClientQuotaFilter([component(USER), component(CLIENT_ID, QuotaMatch.EXACT, "app")]), {ALICE_AT_APP}),
        (ClientQuotaFilter([component(IP)]), {HOST}),
    ],
)
def test_a_filter_finds_the_quotas_that_it_names(admin, quotas, wanted, found):
    assert admin.describe_client_quotas(wanted) == {who: QUOTAS[who] for who in found}


def test_a_quota_that_is_none_is_removed(admin, quotas):
    changes = {ALICE: {"consumer_byte_rate": None, "producer_byte_rate": 7.0}}
    assert admin.alter_client_quotas(changes)[ALICE] is None
    only_alice = ClientQuotaFilter([component(USER, QuotaMatch.EXACT, "alice")], strict=True)
    until(lambda: admin.describe_client_quotas(only_alice) == {ALICE: {"producer_byte_rate": 7.0}})


def test_each_entity_has_an_outcome_of_its_own(admin, quotas):
    bob, nobody = ClientQuotaEntity({USER: "bob"}), ClientQuotaEntity({"planet": "mars"})
    altered = admin.alter_client_quotas({ALICE: {}, bob: {"no_such_quota": 1.0}, nobody: {"producer_byte_rate": 1.0}})
    assert kinds(altered) == {bob: errors.InvalidRequest, nobody: errors.InvalidRequest}
    assert altered[ALICE] is None


def test_what_is_only_validated_does_not_change(admin, quotas):
    carol = ClientQuotaEntity({USER: "carol"})
    altered = admin.alter_client_quotas(
        {carol: {"producer_byte_rate": 1.0}, ALICE: {"no_such_quota": 1.0}}, validate_only=True
    )
    assert altered[carol] is None
    assert kinds(altered) == {ALICE: errors.InvalidRequest}
    assert carol not in admin.describe_client_quotas()


def test_a_filter_that_the_broker_refuses(admin):
    with pytest.raises(errors.UnsupportedVersion, match="Unsupported entity type planet"):
        admin.describe_client_quotas(ClientQuotaFilter([component("planet")]))


def test_an_entity_is_a_mapping_that_can_be_a_key():
    assert ClientQuotaEntity({USER: "alice", CLIENT_ID: None}) == ClientQuotaEntity({CLIENT_ID: None, USER: "alice"})
    assert {ALICE: 1}[ClientQuotaEntity({USER: "alice"})] == 1
    assert ALICE[USER] == "alice" and list(ALICE) == [USER] and len(ALICE_AT_APP) == 2
    assert repr(ALICE) == "ClientQuotaEntity({'user': 'alice'})"
