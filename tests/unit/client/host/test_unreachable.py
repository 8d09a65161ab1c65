"""Brokers that cannot be reached: what is told of it, and that a client in such a place can still be closed."""

import asyncio
import socket
import threading
import time
from pathlib import Path

import pytest
from host_kit import Elsewhere, threads, until

from odradek.channel.errors import ClientClosed, SslAuthenticationFailed
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.asyncio_admin_client import AdminClient as AsyncioAdminClient
from odradek.protocol.errors import RequestTimedOut
from odradek.testing import Broker

SOON_SECONDS = 2
TLS = Path(__file__).parents[3] / "data" / "tls"


def asked(*servers, timeout=1.5, **configs):
    """What a program is told that asks for topics there."""
    with AdminClient(bootstrap_servers=list(servers), **configs) as admin:
        began = time.monotonic()
        with pytest.raises(RequestTimedOut) as late:
            admin.list_topics(timeout=timeout)
        assert time.monotonic() - began < timeout + 5
        return late.value.message


def asked_in_asyncio(*servers, timeout=1.5, **configs):
    async def story():
        async with AsyncioAdminClient(bootstrap_servers=list(servers), **configs) as admin:
            with pytest.raises(RequestTimedOut) as late:
                await admin.list_topics(timeout=timeout)
            return late.value.message

    return asyncio.run(story())


@pytest.fixture(params=[asked, asked_in_asyncio])
def told(request):
    return request.param


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def plain_port():
    """Takes a TLS hello for a request that is far too large, and hangs up, as a plain listener of a broker does."""

    def serve():
        while True:
            try:
                accepted, _ = server.accept()
            except OSError:
                return
            accepted.recv(4)
            accepted.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        serving.join(5)


def test_a_name_that_stands_for_nothing(told):
    message = told("no-such-host.invalid:9092")
    assert "no-such-host.invalid:9092" in message
    assert "cannot be resolved" in message


def test_a_port_that_refuses(told, closed_port):
    message = told(f"127.0.0.1:{closed_port}")
    assert f"127.0.0.1:{closed_port}" in message
    assert "Connection refused" in message


def test_of_several_brokers_each_is_named_with_its_cause(told, closed_port):
    message = told(f"127.0.0.1:{closed_port}", "no-such-host.invalid:9092", timeout=2.5)
    assert "Connection refused" in message or "cannot be resolved" in message
    assert f"127.0.0.1:{closed_port}" in message or "no-such-host.invalid:9092" in message


def test_tls_to_a_port_that_speaks_none(plain_port):
    """It is told after some attempts, not when all time is up: that would be a minute."""
    where = f"127.0.0.1:{plain_port}"
    with (
        AdminClient(bootstrap_servers=where, security_protocol="SSL") as admin,
        pytest.raises(SslAuthenticationFailed, match="closes the connection within the TLS handshake") as told,
    ):
        admin.list_topics()
    assert where in str(told.value)


def test_a_broker_that_hangs_up_once_within_the_handshake_is_tried_again(told, plain_port):
    message = told(f"127.0.0.1:{plain_port}", security_protocol="SSL", timeout=0.3, reconnect_backoff_ms=200)
    assert "within the TLS handshake" in message


@pytest.fixture
def tls_broker():
    """One that asks for the certificates of clients."""
    properties = {
        "listeners": "CLIENT://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENT:SSL,CONTROLLER:PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(TLS / "server.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(TLS / "ca.pem"),
        "ssl.client.auth": "required",
    }
    with Broker(config=properties) as running:
        yield running.bootstrap


def test_wrong_settings_for_tls_are_told_at_once(tls_broker):
    cases = [
        ({"security_protocol": "PLAINTEXT"}, "it answers with TLS: set security.protocol to SSL or SASL_SSL"),
        ({"ssl_cafile": TLS / "ca.pem"}, "the broker refused the connection: TLS: .*CERTIFICATE_REQUIRED"),
        ({"ssl_cafile": TLS / "client.pem"}, "the TLS handshake failed: TLS: CERTIFICATE_VERIFY_FAILED"),
    ]
    for configs, message in cases:
        configs = {"security_protocol": "SSL", **configs}
        with (
            AdminClient(bootstrap_servers=tls_broker, **configs) as admin,
            pytest.raises(SslAuthenticationFailed, match=message) as told,
        ):
            admin.list_topics()
        assert tls_broker in str(told.value)
    keywords = {"ssl_cafile": TLS / "ca.pem", "ssl_certfile": TLS / "client.pem"}
    with AdminClient(bootstrap_servers=tls_broker, security_protocol="SSL", **keywords) as admin:
        admin.list_topics()


def test_a_port_that_never_says_a_word(told):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert f"127.0.0.1:{port}: the request was not sent in time: it is connected" in told(f"127.0.0.1:{port}")
        message = told(f"127.0.0.1:{port}", security_protocol="SSL")
        assert f"127.0.0.1:{port}: the request was not sent in time: the connection is still being set up" in message


@pytest.fixture
def hanging_resolver(monkeypatch):
    """A resolver that does not answer before the end of the test."""
    released = threading.Event()
    resolve = socket.getaddrinfo

    def hang(host, *args, **options):
        if host == "hangs.invalid":
            released.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "too late")
        return resolve(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    yield
    released.set()
    until(lambda: not threads("job-"))


def test_a_resolver_that_hangs_is_told_of_when_the_time_is_up(told, hanging_resolver):
    assert "hangs.invalid:9092: the request was not sent in time: its name is still being resolved" in told(
        "hangs.invalid:9092"
    )


def test_a_resolver_that_hangs_holds_up_no_close(hanging_resolver):
    admin = AdminClient(bootstrap_servers="hangs.invalid:9092")
    calling = Elsewhere(lambda: admin.list_topics(timeout=60))
    until(lambda: threads("job-"))
    began = time.monotonic()
    admin.close()
    assert time.monotonic() - began < SOON_SECONDS
    assert threads("odradek-") == []
    with pytest.raises(ClientClosed):
        calling.outcome()


def test_a_resolver_that_hangs_holds_up_no_close_in_asyncio(hanging_resolver):
    async def story():
        admin = AsyncioAdminClient(bootstrap_servers="hangs.invalid:9092")
        calling = asyncio.ensure_future(admin.list_topics(timeout=60))
        while not threads("job-"):
            await asyncio.sleep(0.01)
        began = time.monotonic()
        await admin.close()
        assert time.monotonic() - began < SOON_SECONDS
        with pytest.raises(ClientClosed):
            await asyncio.wait_for(calling, 10)

    asyncio.run(story())
