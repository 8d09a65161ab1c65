"""What a broker answers from its image: ACLs, quotas, SCRAM users; and what it answers without any of them."""

import pytest

from handler_kit import Handlers, Peer, broker
from odradek.protocol import releases
from odradek.protocol.declare import Uuid
from odradek.protocol.errors import CoordinatorLoadInProgress, PeerProtocolError
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k29_describe_acls import DescribeAclsRequest
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from odradek.protocol.messages.k38_create_delegation_token import CreateDelegationTokenRequest
from odradek.protocol.messages.k39_renew_delegation_token import RenewDelegationTokenRequest
from odradek.protocol.messages.k40_expire_delegation_token import ExpireDelegationTokenRequest
from odradek.protocol.messages.k41_describe_delegation_token import DescribeDelegationTokenRequest
from odradek.protocol.messages.k48_describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from odradek.protocol.messages.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from odradek.protocol.messages.k71_get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from odradek.protocol.messages.k72_push_telemetry import PushTelemetryRequest
from odradek.protocol.messages.metadata_cluster import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    EntityData,
    UserScramCredentialRecord,
)
from odradek.security.principal import Principal

AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
TOPIC, LITERAL, PREFIXED, MATCH, ANY = 2, 3, 4, 2, 1
READ, ALLOW = 3, 3


def acl(number, name, pattern=LITERAL, principal="User:z", resource_type=TOPIC):
    return AccessControlEntryRecord(
        id=Uuid(bytes([number]) * 16),
        resource_type=resource_type,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )


ACLS = [acl(1, "t"), acl(2, "t", principal="User:y"), acl(3, "te", PREFIXED), acl(4, "*"), acl(5, "g", resource_type=3)]


def acls(handlers, version=2, **changes):
    filters = {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    }
    response = handlers.ask(DescribeAclsRequest(**{**filters, **changes}), version)
    assert response.error_code == 0
    return [(r.resource_type, r.resource_name, [entry.principal for entry in r.acls]) for r in response.resources]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["*", "t", "te", "g"]),
        ({"resource_type_filter": TOPIC}, ["*", "t", "te"]),
        ({"resource_name_filter": "t"}, ["t"]),
        ({"resource_name_filter": "test", "pattern_type_filter": MATCH}, ["*", "te"]),
        ({"resource_name_filter": "te", "pattern_type_filter": LITERAL}, []),
        ({"resource_name_filter": "te", "pattern_type_filter": PREFIXED}, ["te"]),
        ({"pattern_type_filter": PREFIXED}, ["te"]),
        ({"principal_filter": "User:y"}, ["t"]),
        ({"host_filter": "1.2.3.4"}, []),
        ({"operation": 4}, []),
        ({"permission_type": 2}, []),
    ],
)
def test_filters_of_acls(changes, names):
    handlers = Handlers(*ACLS, static=AUTHORIZER)
    assert [name for _, name, _ in acls(handlers, **changes)] == names


def test_entries_of_a_resource_stand_together():
    handlers = Handlers(*ACLS, static=AUTHORIZER)
    assert acls(handlers, resource_name_filter="t") == [(TOPIC, "t", ["User:y", "User:z"])]


def test_without_an_authorizer_there_are_no_acls():
    request = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
    assert Handlers(*ACLS).ask(request, 2).error_code == 54


@pytest.mark.parametrize("field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
@pytest.mark.parametrize("number", [0, 99])
def test_a_filter_with_unknown_numbers_closes_the_connection(field, number):
    with pytest.raises(PeerProtocolError):
        acls(Handlers(static=AUTHORIZER), **{field: number})


def test_version_0_cannot_tell_of_a_prefix():
    handlers = Handlers(*ACLS, static=AUTHORIZER, release=releases.RELEASE_3_3)
    names = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    request = DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1, **names)
    assert handlers.ask(request, 0).error_code == 0  # without a pattern type it asks for literal ones
    request.resource_name_filter = "t"
    assert [r.resource_name for r in handlers.ask(request, 0).resources] == ["t"]


# Quotas


def quota(value, **entity):
    parts = [EntityData(entity_type=kind.replace("_", "-"), entity_name=name) for kind, name in entity.items()]
    return ClientQuotaRecord(entity=parts, key="producer_byte_rate", value=value)


QUOTAS = [quota(1.0, user="u"), quota(2.0, user=None), quota(3.0, user="u", client_id="c"), quota(4.0, ip="1.2.3.4")]


def quotas(handlers, *components, strict=False):
    request = DescribeClientQuotasRequest(
        components=[ComponentData(entity_type=kind, match_type=way, match=name) for kind, way, name in components],
        strict=strict,
    )
    response = handlers.ask(request, 1)
    if response.error_code:
        assert response.entries is None
        return response.error_code, response.error_message
    return sorted(entry.values[0].value for entry in response.entries)


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, [1.0, 2.0, 3.0, 4.0]),
        ([], True, []),
        ([("user", 0, "u")], False, [1.0, 3.0]),
        ([("user", 0, "u")], True, [1.0]),
        ([("user", 1, None)], False, [2.0]),
        ([("user", 2, None)], False, [1.0, 2.0, 3.0]),
        ([("user", 2, None), ("client-id", 2, None)], True, [3.0]),
        ([("ip", 0, "1.2.3.4")], True, [4.0]),
    ],
)
def test_filters_of_quotas(components, strict, found):
    assert quotas(Handlers(*QUOTAS), *components, strict=strict) == found


@pytest.mark.parametrize(
    ("components", "refusal"),
    [
        ([("dog", 0, "x")], (35, "Unsupported entity type dog")),
        ([("", 1, None)], (42, "Invalid empty entity type.")),
        (
            [("user", 1, None), ("user", 2, None)],
            (42, "Entity type user cannot appear more than once in the filter."),
        ),
        ([("user", 0, None)], (42, "Request specified MATCH_TYPE_EXACT, but set match string to null.")),
        ([("user", 1, "x")], (42, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")),
        ([("user", 2, "x")], (42, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")),
        ([("user", 7, "x")], (42, "Unknown match type 7")),
    ],
)
def test_filters_of_quotas_that_make_no_sense(components, refusal):
    assert quotas(Handlers(*QUOTAS), *components) == refusal


def test_an_address_goes_with_nothing_else():
    assert quotas(Handlers(), ("user", 2, None), ("ip", 2, None))[0] == 42


# SCRAM users


def users(handlers, names):
    request = DescribeUserScramCredentialsRequest(users=names and [UserName(name=name) for name in names])
    response = handlers.ask(request, 0)
    return [
        (r.user, r.error_code, [(info.mechanism, info.iterations) for info in r.credential_infos])
        for r in response.results
    ]


def test_users_with_credentials():
    credentials = [
        UserScramCredentialRecord(name="u", mechanism=mechanism, salt=b"s", iterations=4096 * mechanism)
        for mechanism in (1, 2)
    ]
    handlers = Handlers(*credentials)
    known = ("u", 0, [(1, 4096), (2, 8192)])
    assert users(handlers, None) == users(handlers, []) == [known]
    assert users(handlers, ["x", "u"]) == [known, ("x", 91, [])]
    assert users(handlers, ["u", "u", ""]) == [("", 91, []), ("u", 92, [])]


def test_a_3_3_closes_the_connection_on_scram_and_tokens():
    handlers = Handlers(release=releases.RELEASE_3_3)
    for request in (DescribeUserScramCredentialsRequest(users=None), DescribeDelegationTokenRequest(owners=None)):
        with pytest.raises(PeerProtocolError):
            handlers.ask(request, 0)


# Without a coordinator, a secret key, a receiver of metrics


class Ids:
    """Producer ids from 7 on; None: no block to be had."""

    def __init__(self, loop, first):
        self.loop = loop
        self.first = first

    def next(self):
        pending = self.loop.pending()
        if self.first is None:
            pending.fail(CoordinatorLoadInProgress())
        else:
            pending.resolve(self.first)
            self.first += 1
        return pending


def producer(handlers, version=4, **fields):
    fields = {"transactional_id": None, "transaction_timeout_ms": 60000, **fields}
    response = handlers.ask(InitProducerIdRequest(**fields), version)
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_an_idempotent_producer_gets_an_id_of_its_own(version):
    handlers = Handlers()
    handlers.services.producer_ids = Ids(handlers.loop, 7)
    assert [producer(handlers, version) for _ in range(2)] == [(0, 7, 0), (0, 8, 0)]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"producer_id": 5}, 42),
        ({"producer_epoch": 5}, 42),
    ],
)
def test_producers_that_get_none(fields, code):
    handlers = Handlers()
    handlers.services.producer_ids = Ids(handlers.loop, 7)
    assert producer(handlers, **fields) == (code, -1, -1)
    handlers.services.producer_ids = Ids(handlers.loop, None)
    assert producer(handlers) == (14, -1, -1)


def test_sasl_comes_too_late_on_a_connection_that_is_open():
    handlers = Handlers()
    response = handlers.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert (response.error_code, response.mechanisms) == (34, [])
    response = handlers.ask(SaslAuthenticateRequest(auth_bytes=b"\0a\0b"), 2)
    assert (response.error_code, response.auth_bytes, response.session_lifetime_ms) == (34, b"", 0)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tokens_are_not_for_the_unproven(version):
    handlers = Handlers(broker())
    created = handlers.ask(CreateDelegationTokenRequest(), version)
    assert (created.error_code, created.principal_type, created.principal_name) == (64, "User", "ANONYMOUS")
    assert (created.issue_timestamp_ms, created.max_timestamp_ms) == (-1, -1)
    assert handlers.ask(DescribeDelegationTokenRequest(owners=None), version).error_code == 64
    for request in (RenewDelegationTokenRequest(hmac=b"x"), ExpireDelegationTokenRequest(hmac=b"x")):
        response = handlers.ask(request, min(version, 2))
        assert (response.error_code, response.expiry_timestamp_ms) == (64, -1)


def test_tokens_are_off_without_a_secret_key():
    handlers = Handlers(static={"listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"})
    peer = Peer(principal=Principal("User", "alice"))
    assert handlers.ask(DescribeDelegationTokenRequest(owners=None), 3, peer).error_code == 61
    peer.principal = Principal("User", "alice", token_authenticated=True)
    assert handlers.ask(DescribeDelegationTokenRequest(owners=None), 3, peer).error_code == 64


def test_telemetry_that_nobody_wants():
    handlers = Handlers()
    told = handlers.ask(GetTelemetrySubscriptionsRequest(), 0)
    assert told.client_instance_id != bytes(16)
    assert (told.requested_metrics, told.accepted_compression_types) == ([], [4, 3, 1, 2])
    again = handlers.ask(GetTelemetrySubscriptionsRequest(client_instance_id=told.client_instance_id), 0)
    assert again == told

    def push(**changes):
        fields = {"client_instance_id": told.client_instance_id, "subscription_id": told.subscription_id}
        return handlers.ask(PushTelemetryRequest(**{**fields, **changes}), 0).error_code

    assert push() == push(metrics=b"x", terminating=True) == 0
    assert push(client_instance_id=Uuid(bytes(16))) == 42
    assert push(subscription_id=told.subscription_id ^ 1) == 117
    assert push(compression_type=9) == 76
    assert push(metrics=b"x" * 1_048_577) == 118
