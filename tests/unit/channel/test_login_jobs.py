"""Logins whose tokens take their time: SCRAM, which hashes, and OAUTHBEARER, which may ask somebody."""

import hmac
import json
from base64 import b64decode, b64encode
from hashlib import pbkdf2_hmac, sha256

import pytest

from channel_kit import ScriptedBroker
from odradek.channel.client_connection import ChannelSecurity
from odradek.channel.connection_states import State
from odradek.channel.errors import Disconnected
from odradek.channel.oauth_client import BearerToken, OauthSaslClient, Tokens
from odradek.channel.scram_client import ScramCredentials, ScramSaslClient
from odradek.channel.unsent_requests import UnsentRequests
from odradek.protocol import errors
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


class ScramServer:
    """The broker's side, by the RFC and by other code than ours."""

    def __init__(self, password="secret"):
        self.salt = b"salt"
        self.salted = pbkdf2_hmac("sha256", password.encode(), self.salt, 4096)

    def answer(self, asked):
        text = bytes(asked.request.auth_bytes).decode()
        return self.first(text[3:]) if text.startswith("n,,") else self.final(text)

    def first(self, bare):
        self.bare = bare
        self.said = f"r={bare.partition('r=')[2]}server,s={b64encode(self.salt).decode()},i=4096"
        return SaslAuthenticateResponse(auth_bytes=self.said.encode())

    def final(self, text):
        without, _, proof = text.partition(",p=")
        signed = f"{self.bare},{self.said},{without}".encode()
        stored = sha256(hmac.digest(self.salted, b"Client Key", "sha256")).digest()
        signature = hmac.digest(stored, signed, "sha256")
        key = bytes(a ^ b for a, b in zip(b64decode(proof), signature, strict=True))
        if sha256(key).digest() != stored:
            return SaslAuthenticateResponse(error_code=58, error_message="Authentication failed: invalid credentials")
        proved = hmac.digest(hmac.digest(self.salted, b"Server Key", "sha256"), signed, "sha256")
        return SaslAuthenticateResponse(auth_bytes=b"v=" + b64encode(proved), session_lifetime_ms=10_000)


def broker(outside, authenticate):
    made = ScriptedBroker(outside)
    made.answers(SaslHandshakeRequest, SaslHandshakeResponse())
    made.answers(HeartbeatRequest, HeartbeatResponse(error_code=3))
    return made.answers(SaslAuthenticateRequest, authenticate)


def scram(password="secret"):
    credentials = ScramCredentials("SCRAM-SHA-256", "alice", password, lambda: "nonce")
    return ChannelSecurity(sasl=lambda: ScramSaslClient(credentials))


def asked(client, outside, broker):
    return outside.outcome(UnsentRequests(client).send(broker.node, HeartbeatRequest(group_id="g", member_id="m")))


def test_a_client_logs_in_with_scram(outside):
    made = broker(outside, ScramServer().answer)
    assert asked(outside.client(security=scram()), outside, made).error_code == 3


def test_a_wrong_password_is_told(outside):
    made = broker(outside, ScramServer().answer)
    client = outside.client(security=scram("wrong"))
    error = asked(client, outside, made)
    assert isinstance(error, errors.SaslAuthenticationFailed) and "invalid credentials" in str(error)
    assert client.states.state(1) is State.AUTHENTICATION_FAILED


def test_a_broker_that_does_not_know_the_password_is_refused(outside):
    server = ScramServer()
    server.final = lambda text: SaslAuthenticateResponse(auth_bytes=b"v=AAAA")
    made = broker(outside, server.answer)
    error = asked(outside.client(security=scram()), outside, made)
    assert isinstance(error, errors.SaslAuthenticationFailed) and "has not proved" in str(error)


@pytest.mark.contract("C44")
def test_a_session_goes_on_by_another_scram_login(sim):
    made = broker(sim, ScramServer().answer)
    client = sim.client(security=scram())
    assert asked(client, sim, made).error_code == 3
    made.asked.clear()
    sim.pass_ms(9_600)
    assert asked(client, sim, made).error_code == 3
    kinds = [type(each.request) for each in made.asked]
    assert kinds == [SaslHandshakeRequest, SaslAuthenticateRequest, SaslAuthenticateRequest, HeartbeatRequest]
    assert len(made.connections) == 1


# OAUTHBEARER


def oauth(fetch, wall_ms=lambda: 0, extensions=()):
    tokens = Tokens(fetch, wall_ms, dict(extensions))
    return ChannelSecurity(sasl=lambda: OauthSaslClient(tokens))


def oauth_answer(good):
    def answer(asked):
        said = bytes(asked.request.auth_bytes)
        if said == b"\x01":
            return SaslAuthenticateResponse(error_code=58, error_message="invalid_token")
        if said == good:
            return SaslAuthenticateResponse()
        return SaslAuthenticateResponse(auth_bytes=json.dumps({"status": "invalid_token"}).encode())

    return answer


def test_a_client_logs_in_with_a_token(outside):
    made = broker(outside, oauth_answer(b"n,,\x01auth=Bearer abc.def\x01team=blue\x01\x01"))
    security = oauth(lambda: BearerToken("abc.def"), extensions={"team": "blue"})
    assert asked(outside.client(security=security), outside, made).error_code == 3


def test_a_token_that_the_broker_refuses(outside):
    made = broker(outside, oauth_answer(b""))
    error = asked(outside.client(security=oauth(lambda: BearerToken("abc"))), outside, made)
    assert isinstance(error, errors.SaslAuthenticationFailed) and str(error) == "invalid_token"


def failing(error):
    def fetch():
        raise error

    return fetch


def test_a_provider_that_fails_is_told_with_its_error(outside):
    made = broker(outside, oauth_answer(b""))
    error = asked(outside.client(security=oauth(failing(KeyError("no token")))), outside, made)
    assert isinstance(error, errors.SaslAuthenticationFailed)
    assert "No token to log in with: KeyError: 'no token'" in str(error)
    assert isinstance(error.__cause__, KeyError)


def test_a_server_of_tokens_that_is_out_of_reach_is_asked_again(outside):
    made = broker(outside, oauth_answer(b""))
    client = outside.client(security=oauth(failing(OSError("tokens.example cannot be asked"))))
    error = asked(client, outside, made)
    assert isinstance(error, Disconnected) and "tokens.example cannot be asked" in str(error)
    assert client.states.state(1) is State.DISCONNECTED


@pytest.mark.parametrize(
    ("token", "extensions"), [("a b", {}), ("", {}), ("a\x01", {}), ("a", {"auth": "x"}), ("a", {"x": "\x01"})]
)
def test_what_no_message_can_carry_is_refused_here(token, extensions):
    tokens = Tokens(lambda: BearerToken(token), lambda: 0, extensions)
    with pytest.raises(errors.SaslAuthenticationFailed):
        tokens.first_message()


def test_a_token_is_used_for_most_of_its_life():
    now = [0]
    fetched = []

    def fetch():
        fetched.append(now[0])
        return BearerToken("a", now[0], now[0] + 1000)

    tokens = Tokens(fetch, lambda: now[0])
    for at in (0, 500, 799, 800, 1500, 1600):
        now[0] = at
        tokens.token()
    assert fetched == [0, 800, 1600]


def test_a_token_without_times_is_asked_for_each_time():
    fetched = []
    tokens = Tokens(lambda: fetched.append(1) or BearerToken("a"), lambda: 5)
    tokens.token()
    tokens.token()
    assert len(fetched) == 2
    assert "secret" not in repr(BearerToken("secret")) + repr(OauthSaslClient(tokens))
