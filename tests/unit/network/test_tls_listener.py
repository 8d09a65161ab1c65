"""TLS on the socket server, on real and on simulated sockets: the same SSLObject works on both."""

import ssl
import struct
from pathlib import Path

import pytest

from network_kit import Client, broker_config, correlation_id_of, echo, request
from odradek.config.errors import ConfigError
from odradek.network.listener_security import tls_settings
from odradek.reactor.adapters.tls import TlsSettingsError, tls_context
from odradek.reactor.file_range import File
from odradek.reactor.tls_settings import TlsSettings

DATA = Path(__file__).parents[2] / "data" / "tls"
MB = 1024 * 1024
SERVER = {
    "listeners": "SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "security.inter.broker.protocol": "SSL",
    "listener.security.protocol.map": "SSL:SSL,CONTROLLER:PLAINTEXT",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": str(DATA / "server.pem"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(DATA / "ca.pem"),
}


class TlsClient(Client):
    """The client's end of TLS, by the same means as the server's, but written apart from it."""

    def __init__(self, rig, socket, context):
        super().__init__(rig, socket)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.plain = bytearray()
        self.is_shaken = False
        self.error = None
        self.pump()

    def pump(self):
        super().pump()
        if not hasattr(self, "tls") or self.error:
            return
        self.incoming.write(self.received)
        self.received.clear()
        try:
            if not self.is_shaken:
                self.tls.do_handshake()
                self.is_shaken = True
            while data := self.tls.read(65536):
                self.plain += data
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self.error = error
        cipher = self.outgoing.read()
        if cipher:
            Client.send(self, cipher)

    def send_plain(self, data):
        self.tls.write(data)
        self.pump()

    def frames(self):
        raw, self.received = self.received, self.plain
        try:
            return super().frames()
        finally:
            self.received = raw


def client_context(certificate=None, **changes):
    context = ssl.create_default_context(cafile=DATA / "ca.pem")
    if certificate:
        context.load_cert_chain(DATA / certificate)
    for name, value in changes.items():
        setattr(context, name, value)
    return context


def connect(rig, context=None):
    socket = rig.client_network.connect(*rig.listener.address)
    waiting = Client(rig, socket)
    rig.until(lambda: rig.is_connected(waiting))
    rig.clients.remove(waiting)
    client = TlsClient(rig, socket, context or client_context())
    rig.until(lambda: client.is_shaken or client.error or client.is_closed)
    return client


def start(rig, serve=echo, **overrides):
    overrides = {name.replace("_", "."): value for name, value in overrides.items()}
    return rig.start(serve, {**SERVER, **overrides}, protocol="SSL", listener="SSL", tls=tls_context)


def ask(rig, client, data, count=1):
    before = len(client.frames())
    client.send_plain(data)
    rig.until(lambda: len(client.frames()) >= before + count or client.is_closed, seconds=30)
    return client.frames()[before:]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_requests_are_answered_over_tls(rig, version):
    start(rig)
    client = connect(rig, client_context(maximum_version=version, minimum_version=version))
    data = b"".join(request(number, b"secret") for number in range(50))
    frames = ask(rig, client, data, count=50)
    assert frames == [struct.pack(">i", number) + b"secret" for number in range(50)]
    assert str(rig.connection().principal) == "User:ANONYMOUS"


@pytest.mark.contract("C25")
@pytest.mark.parametrize("size", [100, 16_384, 100_000, 2 * MB])
def test_long_messages_both_ways(rig, size):
    start(rig)
    client = connect(rig)
    body = (bytes(range(251)) * (size // 251 + 1))[:size]
    frames = ask(rig, client, request(1, body) + request(2, body[:10]), count=2)
    assert [frame[4:] for frame in frames] == [body, body[:10]]


def test_a_peer_that_reads_nothing_is_bounded_too(rig):
    def serve(connection, frame):
        return [struct.pack(">ii", 4 + 20 * MB, correlation_id_of(frame)), bytes(20 * MB)]

    start(rig, serve)
    client = connect(rig)
    client.reads = False
    client.send_plain(request(1) + request(2))
    rig.until(lambda: rig.connection().unsent_bytes)
    rig.pass_ms(30)
    assert rig.connection().unsent_bytes > 10 * MB  # it was not all encrypted at once
    rig.server.disconnect()


def test_a_file_is_sent_through_the_cipher(rig, tmp_path):
    content = (bytes(range(251)) * (MB // 251 + 1))[:MB]
    path = str(tmp_path / "file") if rig.name == "real" else "/file"
    disk_file = rig.ports.disk.open(path, create=True)
    disk_file.append([content])
    file = File(disk_file)

    def serve(connection, frame):
        return [struct.pack(">ii", 4 + len(content), correlation_id_of(frame)), file.range(0, len(content))]

    start(rig, serve)
    (frame,) = ask(rig, connect(rig), request(1))
    assert frame[4:] == content
    file.release()
    assert not file.is_open


def test_plain_bytes_on_a_tls_port_close_the_connection(rig):
    start(rig)
    client = rig.connect()
    client.send(request(1, b"in the clear"))
    rig.until(lambda: client.is_closed)
    assert client.frames() == []
    assert rig.errors == []
    assert rig.server.quotas.total == 0


def test_a_client_that_leaves_within_the_handshake(rig):
    start(rig)
    client = rig.connect()
    client.send(bytes.fromhex("1603010200"))
    rig.connection()
    client.close()
    rig.until(lambda: not rig.server.connections())
    assert rig.errors == []


def test_garbage_behind_the_handshake_closes_the_connection(rig):
    start(rig)
    client = connect(rig)
    Client.send(client, b"\x17\x03\x03\x00\x20" + b"x" * 32)
    rig.until(lambda: client.is_closed)
    assert rig.errors == []


def test_the_client_says_goodbye_and_so_do_we(rig):
    start(rig)
    client = connect(rig)
    ask(rig, client, request(1))
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    client.pump()
    rig.until(lambda: not rig.server.connections())


def test_our_close_is_no_broken_stream(rig):
    start(rig)
    client = connect(rig)
    ask(rig, client, request(1))
    rig.server.disconnect()
    rig.until(lambda: client.is_closed)
    assert client.tls.read(1) == b""  # that the stream ends was said; without it this would be an error


def test_a_certificate_makes_the_principal(rig):
    start(rig, ssl_client_auth="required")
    client = connect(rig, client_context("client.pem"))
    ask(rig, client, request(1))
    assert str(rig.connection().principal) == r"User:CN=josef,OU=claims,O=Insurance\, Ltd,C=CZ"


def test_rules_shorten_the_name(rig):
    start(rig, ssl_client_auth="requested", ssl_principal_mapping_rules="RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/U,DEFAULT")
    client = connect(rig, client_context("client.pem"))
    ask(rig, client, request(1))
    assert str(rig.connection().principal) == "User:JOSEF@CLAIMS"


def test_a_name_that_no_rule_knows_is_no_principal(rig):
    start(rig, ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^CN=somebody else$/x/")
    client = connect(rig, client_context("client.pem"))
    rig.until(lambda: client.is_closed)


def test_who_shows_no_certificate_though_one_is_required_gets_nowhere(rig):
    start(rig, ssl_client_auth="required")
    client = connect(rig, client_context(maximum_version=ssl.TLSVersion.TLSv1_2))
    rig.until(lambda: client.is_closed or client.error)
    assert client.frames() == []
    assert rig.errors == []


def test_the_same_from_texts_instead_of_files(rig):
    text = (DATA / "server.pem").read_text()
    key, chain = text[: text.index("-----BEGIN CERT")], text[text.index("-----BEGIN CERT") :]
    start(rig, ssl_keystore_location=None, ssl_keystore_key=key, ssl_keystore_certificate_chain=chain)
    assert ask(rig, connect(rig), request(1))


def test_a_changed_key_serves_the_connections_to_come(rig):
    start(rig)
    before = connect(rig)
    ask(rig, before, request(1))
    rig.server.update_config(broker_config({**SERVER, "ssl.keystore.location": str(DATA / "client.pem")}))
    after = connect(rig)
    subject = dict(part[0] for part in after.tls.getpeercert()["subject"])
    assert subject["commonName"] == "josef"
    assert ask(rig, before, request(2))


# Settings


def test_an_encrypted_key_needs_its_password():
    path = str(DATA / "server-encrypted.pem")
    tls_context(TlsSettings(keystore_path=path, key_password="test-password"))
    for wrong, told in (("", "is not set"), ("guess", "does not open it")):
        with pytest.raises(TlsSettingsError, match=f"is encrypted, and ssl.key.password {told}: set it to the key's"):
            tls_context(TlsSettings(keystore_path=path, key_password=wrong))


def test_an_encrypted_key_that_is_not_that_of_the_certificate_is_not_blamed_on_its_password():
    key = (DATA / "server-encrypted.pem").read_text().partition("-----BEGIN CERTIFICATE")[0]
    other = (DATA / "client.pem").read_text()
    chain = other[other.index("-----BEGIN CERTIFICATE") :]
    with pytest.raises(TlsSettingsError, match="the PEM key store cannot be used: KEY_VALUES_MISMATCH"):
        tls_context(TlsSettings(key=key, certificate_chain=chain, key_password="test-password"))


@pytest.mark.parametrize(
    ("part", "told"), [("key", "there is no certificate in it"), ("chain", "there is no private key")]
)
def test_half_a_key_store_says_which_half_is_missing(tmp_path, part, told):
    text = (DATA / "client.pem").read_text()
    at = text.index("-----BEGIN CERTIFICATE")
    store = tmp_path / "half.pem"
    store.write_text(text[:at] if part == "key" else text[at:])
    with pytest.raises(TlsSettingsError, match=f"half.pem: the PEM key store cannot be used: {told}"):
        tls_context(TlsSettings(keystore_path=str(store)))


def test_stores_of_java_are_refused_with_a_way_out():
    config = broker_config({**SERVER, "ssl.keystore.type": "JKS"})
    with pytest.raises(ConfigError, match="only PEM is read; convert the store: keytool"):
        tls_settings(config, "SSL")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (TlsSettings(), "needs a certificate"),
        (TlsSettings(keystore_path="/no/such/file"), "cannot read /no/such/file"),
        (
            TlsSettings(keystore_path=str(DATA / "ca.pem")),
            r"ssl\.keystore\.location=.*ca\.pem: the PEM key store cannot be",
        ),
        (TlsSettings(keystore_path=str(DATA / "server.pem"), protocols=("SSLv3",)), "ssl.enabled.protocols"),
        (TlsSettings(keystore_path=str(DATA / "server.pem"), trusted_certificates="nonsense"), "trust store"),
        (TlsSettings(keystore_path=str(DATA / "server.pem"), cipher_suites=("TLS_X_WITH_Y",)), "ssl.cipher.suites"),
        (TlsSettings(keystore_path=str(DATA / "server.pem"), cipher_suites=("FOO",)), "ssl.cipher.suites: FOO is none"),
    ],
)
def test_settings_that_give_no_context_say_why(settings, words):
    with pytest.raises(TlsSettingsError, match=words):
        tls_context(settings)


def test_ciphers_have_the_names_that_java_gives_them(rig):
    start(rig, ssl_cipher_suites="TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", ssl_enabled_protocols="TLSv1.2")
    client = connect(rig)
    assert client.tls.cipher()[0] == "ECDHE-RSA-AES256-GCM-SHA384"


def test_settings_never_show_the_key():
    assert "BEGIN" not in repr(TlsSettings(key="-----BEGIN PRIVATE KEY-----"))
