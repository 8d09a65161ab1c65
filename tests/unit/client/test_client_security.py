"""The names that programs of Python are used to, and how a client logs in by them."""

import http.server
import json
import logging
import ssl
import threading
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.client.oauth_tokens import tokens
from odradek.client.security import channel_security
from odradek.client.settings import client_config
from odradek.config import admin, consumer, producer
from odradek.config.errors import ConfigError
from odradek.protocol.errors import SaslAuthenticationFailed

DATA = Path(__file__).parents[2] / "data" / "tls"
TABLES = [admin.TABLE, consumer.TABLE, producer.TABLE]


def config(mapping=None, table=admin.TABLE, **keywords):
    return client_config(table, {"bootstrap.servers": "localhost:9092", **(mapping or {})}, keywords)


def logging_in(**keywords):
    """The client of a login, and the first thing that it says."""
    found = channel_security(config(security_protocol="SASL_PLAINTEXT", **keywords)).sasl()
    return found, found.token(b"")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_client_takes_them_with_underscores_and_with_dots(table):
    keywords = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}
    by_keyword = config(table=table, ssl_cafile=str(DATA / "ca.pem"), sasl_username="a", sasl_password="b", **keywords)
    by_name = config(
        {"ssl.cafile": str(DATA / "ca.pem"), "sasl.username": "a", "sasl.password": "b"}, table=table, **keywords
    )
    for each in (by_keyword, by_name):
        security = channel_security(each)
        assert security.sasl().token(b"") == b"\0a\0b"
        assert security.tls.ssl_context.get_ca_certs()


def test_they_are_no_unknown_names(caplog):
    with caplog.at_level(logging.WARNING):
        config({"ssl.cafile": "x"}, sasl_plain_username="a", sasl_plain_password="b", ssl_check_hostname=False)
    assert caplog.text == ""


def test_a_mistyped_one_is_named():
    with pytest.raises(TypeError, match="did you mean ssl_cafile"):
        config(ssl_ca_file="x")


@pytest.mark.parametrize("prefix", ["sasl_", "sasl_plain_"])
def test_a_name_and_a_password(prefix):
    keywords = {f"{prefix}username": "alice", f"{prefix}password": "secret"}
    _, said = logging_in(sasl_mechanism="PLAIN", **keywords)
    assert said == b"\0alice\0secret"
    client, said = logging_in(sasl_mechanism="SCRAM-SHA-512", **keywords)
    assert client.mechanism == "SCRAM-SHA-512" and said.startswith(b"n,,n=alice,r=")


def test_each_login_has_a_nonce_of_its_own():
    made = channel_security(
        config(security_protocol="SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-256", sasl_username="a", sasl_password="b")
    ).sasl
    assert made().token(b"") != made().token(b"")


def test_a_delegation_token_says_that_it_is_one():
    jaas = 'a.ScramLoginModule required username="id" password="hmac" tokenauth="true";'
    _, said = logging_in(sasl_mechanism="SCRAM-SHA-256", sasl_jaas_config=jaas)
    assert said.endswith(b",tokenauth=true")


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"sasl_username": "a"}, "belong together"),
        ({"sasl_username": "a", "sasl_password": "b", "sasl_jaas_config": "a.B required username=x;"}, "both given"),
    ],
)
def test_half_a_login_or_two_are_refused(keywords, told):
    with pytest.raises(ConfigError, match=told):
        logging_in(sasl_mechanism="PLAIN", **keywords)


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"ssl_cafile": "x"}, r"ssl\.cafile needs security\.protocol=SSL or SASL_SSL, and it is PLAINTEXT"),
        ({"sasl_username": "x", "security_protocol": "SSL"}, r"sasl\.username needs security\.protocol=SASL_SSL"),
    ],
)
def test_protection_that_would_not_be_used_is_refused(keywords, told):
    with pytest.raises(ConfigError, match=told):
        channel_security(config(**keywords))


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"ssl_cafile": "x", "ssl_truststore_location": "y"}, r"ssl\.cafile and ssl\.truststore\.location are both"),
        ({"sasl_username": "x", "sasl_plain_username": "y"}, r"sasl\.username is given twice"),
    ],
)
def test_the_same_in_two_ways_is_refused(keywords, told):
    with pytest.raises(ConfigError, match=told):
        config(**keywords)


# TLS


def over_tls(**keywords):
    return channel_security(config(security_protocol="SSL", **keywords)).tls.ssl_context


def split(tmp_path, source):
    """Key and certificate of a PEM file in files of their own."""
    text = (DATA / source).read_text()
    at = text.index("-----BEGIN CERTIFICATE")
    before, after = text[:at], text[at:]
    (tmp_path / "key.pem").write_text(before)
    (tmp_path / "cert.pem").write_text(after)
    return {"ssl_certfile": tmp_path / "cert.pem", "ssl_keyfile": tmp_path / "key.pem"}


def test_certificates_and_keys_in_files(tmp_path):
    over_tls(ssl_cafile=DATA / "ca.pem", **split(tmp_path, "client.pem"))
    over_tls(ssl_certfile=DATA / "client.pem")
    over_tls(ssl_password="test-password", **split(tmp_path, "server-encrypted.pem"))


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"ssl_cafile": "/no/such/file"}, "cannot read /no/such/file"),
        ({"ssl_certfile": "/no/such/file"}, "ssl_certfile: cannot read /no/such/file"),
        ({"ssl_keyfile": DATA / "client.pem"}, "ssl_keyfile is given without ssl_certfile"),
        ({"ssl_certfile": DATA / "ca.pem"}, "there is no private key in it"),
        ({"ssl_certfile": DATA / "server-encrypted.pem"}, "ssl.key.password is not set"),
    ],
)
def test_files_that_cannot_be_used_are_told_at_once(keywords, told):
    with pytest.raises(ConfigError, match=told):
        over_tls(**keywords)


def test_the_name_of_the_broker_is_checked_unless_it_is_not_to_be():
    assert over_tls().check_hostname
    assert not over_tls(ssl_check_hostname=False).check_hostname
    assert not over_tls(ssl_endpoint_identification_algorithm="").check_hostname


def test_a_context_of_the_programs_own():
    context = ssl.create_default_context()
    assert over_tls(ssl_context=context) is context


# OAUTHBEARER


def jwt(**claims):
    def part(given):
        return urlsafe_b64encode(json.dumps(given).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.x"


def tokens_of(options=None, provider=None, **keywords):
    return tokens(config(sasl_mechanism="OAUTHBEARER", **keywords), options or {}, provider)


@contextmanager
def endpoint(answer):
    """A server that gives what `answer` says, and the requests that it got."""
    got = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            got.append((self.path, dict(self.headers), body))
            status, content = answer
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/token", got
        finally:
            server.shutdown()
            thread.join(30)


def test_a_function_gives_the_token_each_time():
    counted = iter(range(10))
    found = tokens_of(provider=lambda: f"token-{next(counted)}")
    assert [found.token().text, found.token().text] == ["token-0", "token-1"]
    _, job = logging_in(sasl_mechanism="OAUTHBEARER", sasl_oauth_token_provider=lambda: "abc")
    assert not isinstance(job, bytes), "whoever is asked for a token may take its time"
    with pytest.raises(StopIteration) as end:
        next(job), next(job)
    assert end.value.value == b"n,,\x01auth=Bearer abc\x01\x01"


def test_an_object_may_have_extensions_too():
    class Provider:
        def token(self):
            return "abc"

        def extensions(self):
            return {"team": "blue"}

    assert tokens_of(provider=Provider()).first_message() == b"n,,\x01auth=Bearer abc\x01team=blue\x01\x01"


def test_a_provider_that_gives_no_text():
    with pytest.raises(TypeError, match="gave an object of class int, not text"):
        tokens_of(provider=lambda: 3).token()
    with pytest.raises(ConfigError, match="must be a function without arguments"):
        tokens_of(provider=3)


def test_a_token_of_an_endpoint_is_kept_for_its_time():
    with endpoint((200, json.dumps({"access_token": jwt(iat=1, exp=2**40)}).encode())) as (url, got):
        found = tokens_of(
            sasl_oauthbearer_token_endpoint_url=url,
            sasl_oauthbearer_client_credentials_client_id="me",
            sasl_oauthbearer_client_credentials_client_secret="secret",
            sasl_oauthbearer_scope="kafka",
        )
        assert found.token() is found.token()
    ((path, headers, body),) = got
    assert path == "/token" and body == "grant_type=client_credentials&scope=kafka"
    assert headers["Authorization"] == f"Basic {b64encode(b'me:secret').decode()}"


def test_id_and_secret_may_be_in_the_jaas_config_and_are_escaped_where_asked():
    with endpoint((200, b'{"access_token": "opaque"}')) as (url, got):
        found = tokens_of(
            {"clientId": "m e", "clientSecret": "a:b", "extension_team": "blue"},
            sasl_oauthbearer_token_endpoint_url=url,
            sasl_oauthbearer_header_urlencode=True,
        )
        assert found.first_message() == b"n,,\x01auth=Bearer opaque\x01team=blue\x01\x01"
        found.token()
    assert got[0][1]["Authorization"] == f"Basic {b64encode(b'm%20e:a%3Ab').decode()}"
    assert len(got) == 2, "a token without an end is asked for each time"


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        ((401, b'{"error": "invalid_client"}'), SaslAuthenticationFailed, "status 401, invalid_client"),
        ((302, b""), SaslAuthenticationFailed, "status 302"),
        ((200, b"{}"), SaslAuthenticationFailed, "without an access_token"),
        ((200, b"["), SaslAuthenticationFailed, "without an access_token"),
        ((503, b""), OSError, "answered with status 503"),
    ],
)
def test_an_endpoint_that_gives_no_token(answer, kind, told):
    with endpoint(answer) as (url, got):
        found = tokens_of({"clientId": "me", "clientSecret": "hush"}, sasl_oauthbearer_token_endpoint_url=url)
        with pytest.raises(kind, match=told) as caught:
            found.token()
    assert "hush" not in str(caught.value)
    assert len(got) == 1, "the secret goes nowhere else"


def test_an_endpoint_that_is_not_there():
    found = tokens_of({"clientId": "a", "clientSecret": "b"}, sasl_oauthbearer_token_endpoint_url="http://127.0.0.1:1/")
    with pytest.raises(OSError, match=r"http://127\.0\.0\.1:1/ cannot be asked"):
        found.token()


def test_a_token_in_a_file(tmp_path):
    path = tmp_path / "token"
    path.write_text("abc\n")
    found = tokens_of(sasl_oauthbearer_token_endpoint_url=f"file://{path}")
    assert found.token().text == "abc"
    path.write_text("")
    with pytest.raises(SaslAuthenticationFailed, match="there is no token in"):
        found.token()


def test_a_token_that_nobody_has_signed():
    found = tokens_of(
        {
            "unsecuredLoginStringClaim_sub": "alice",
            "unsecuredLoginListClaim_scope": ",a,b",
            "unsecuredLoginNumberClaim_age": "3",
            "unsecuredLoginLifeTimeSeconds": "60",
            "unsecuredLoginExtension_team": "blue",
        }
    )
    made = found.token()
    _, claims, signature = made.text.split(".")
    claims = json.loads(urlsafe_b64decode(claims + "=="))
    assert (claims["sub"], claims["scope"], claims["age"], signature) == ("alice", ["a", "b"], 3, "")
    assert made.end_ms - made.begin_ms == 60_000 and round(claims["exp"] - claims["iat"]) == 60
    assert found.extensions == {"team": "blue"}


@pytest.mark.parametrize(
    ("options", "keywords", "told"),
    [
        ({"unsecuredLoginNumberClaim_age": "3"}, {}, "needs the option unsecuredLoginStringClaim_sub"),
        ({"unsecuredLoginNumberClaim_age": "x"}, {}, "must be a number"),
        ({}, {"sasl_oauthbearer_token_endpoint_url": "ftp://x"}, "must begin with http"),
        ({}, {"sasl_oauthbearer_token_endpoint_url": "http://x"}, "client.credentials.client.id and .secret"),
    ],
)
def test_what_gives_no_token(options, keywords, told):
    with pytest.raises(ConfigError, match=told):
        tokens_of(options, **keywords)
